package assetapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"umg/app/catalog"
	"umg/app/provider"
)

// The waits for an answer, and how large one may be.
const (
	createTimeout  = 20 * time.Second
	statusTimeout  = 15 * time.Second
	findTimeout    = 15 * time.Second
	deleteTimeout  = 15 * time.Second
	answerBytesMax = 1 << 20
)

// Client speaks to upstreams that keep assets. It is safe for concurrent use.
type Client struct {
	providers *provider.Client
}

// New makes a Client that sends through providers.
func New(providers *provider.Client) *Client { return &Client{providers: providers} }

// Create asks a provider to keep a source. The same reference again is the same item. The fault says by its class
// whether the upstream can have taken it; see Ambiguous. A refusal that names the member at fault has it as the
// error's Param, in the words of Order's members on the wire: type, url, name.
func (c *Client) Create(ctx context.Context, p *catalog.Provider, o CreateRequest) (Item, *provider.Fault) {
	body, err := json.Marshal(struct {
		Group     string `json:"group_id"`
		Kind      string `json:"type"`
		URL       string `json:"url"`
		Name      string `json:"name"`
		Reference string `json:"reference"`
	}{o.Group, o.Kind, o.URL, o.Name, o.Reference})
	if err != nil {
		f := provider.NewFault(provider.ClassSetup, err)
		f.Unsent = true
		return Item{}, f
	}
	payload := provider.NewPayload(len(body))
	defer payload.Release()
	payload.Data = append(payload.Data, body...)
	a, f := c.ask(ctx, p, createTimeout, provider.Call{Method: http.MethodPost, Path: "/assets", Payload: payload})
	if f != nil {
		return Item{}, f
	}
	item, f := a.item(a.raw)
	if f == nil && item.Reference != "" && item.Reference != o.Reference {
		return Item{}, provider.NewFault(provider.ClassContent, errOther)
	}
	return item, f
}

// Get asks how an item is. Gone tells the fault of an item that the upstream does not have.
func (c *Client) Get(ctx context.Context, p *catalog.Provider, id string) (Item, *provider.Fault) {
	a, f := c.ask(ctx, p, statusTimeout, provider.Call{Method: http.MethodGet, Path: pathOf(id)})
	if f != nil {
		return Item{}, f
	}
	item, f := a.item(a.raw)
	if f == nil && item.ID != id {
		return Item{}, provider.NewFault(provider.ClassContent, errOther)
	}
	return item, f
}

// Find looks for the item with one of the gateway's references. It reports false when the upstream says that there is
// none.
func (c *Client) Find(ctx context.Context, p *catalog.Provider, group, reference string) (Item, bool, *provider.Fault) {
	query := url.Values{"group_id": {group}, "reference": {reference}}.Encode()
	a, f := c.ask(ctx, p, findTimeout, provider.Call{Method: http.MethodGet, Path: "/assets?" + query})
	if f != nil {
		return Item{}, false, f
	}
	var list struct {
		Data []json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(a.raw, &list); err != nil || list.Data == nil {
		return Item{}, false, provider.NewFault(provider.ClassContent, errors.Join(errShape, err))
	}
	for _, raw := range list.Data {
		item, f := a.item(raw)
		if f != nil {
			return Item{}, false, f
		}
		if item.Reference == reference { // an upstream that does not know the filter lists everything
			return item, true, nil
		}
	}
	return Item{}, false, nil
}

// Delete has an item removed. One that the upstream does not have is removed already.
func (c *Client) Delete(ctx context.Context, p *catalog.Provider, id string) *provider.Fault {
	_, f := c.ask(ctx, p, deleteTimeout, provider.Call{Method: http.MethodDelete, Path: pathOf(id)})
	if Gone(f) {
		return nil
	}
	return f
}

func pathOf(id string) string { return "/assets/" + url.PathEscape(id) }

// answer is a JSON answer that is no error.
type answer struct {
	raw   []byte
	reply *provider.Reply // its body is closed
}

func (c *Client) ask(
	ctx context.Context, p *catalog.Provider, timeout time.Duration, call provider.Call,
) (*answer, *provider.Fault) {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, provider.ErrTotal)
	defer cancel()
	reply, f := c.providers.Do(ctx, &catalog.Route{ID: p.ID, Provider: p, Timeouts: p.Timeouts}, call)
	if f != nil {
		return nil, f
	}
	defer func() { _ = reply.Close() }()
	raw, f := reply.ReadAll(answerBytesMax)
	switch {
	case reply.Status/100 != 2:
		f = reply.StatusFault(reply.Status, raw) // what is cut of its body does not change what it means
		if f.Class == provider.ClassRefused {
			f.Err.Param = paramOf(raw)
		}
		return nil, f
	case f != nil:
		return nil, f
	case isErrorBody(raw):
		return nil, reply.BodyFault(raw)
	}
	return &answer{raw: raw, reply: reply}, nil
}

// paramOf is the member that an error body names.
func paramOf(raw []byte) string {
	var body struct {
		Error struct {
			Param string `json:"param"`
		} `json:"error"`
	}
	if json.Unmarshal(raw, &body) != nil {
		return ""
	}
	return body.Error.Param
}

// isErrorBody reports whether an answer with a status of success is an error all the same: it has an error and no item.
func isErrorBody(raw []byte) bool {
	var body struct {
		ID    string          `json:"id"`
		Data  json.RawMessage `json:"data"`
		Error json.RawMessage `json:"error"`
	}
	return json.Unmarshal(raw, &body) == nil && body.ID == "" && body.Data == nil &&
		len(body.Error) > 0 && !bytes.Equal(body.Error, []byte("null"))
}

// Ambiguous reports whether the upstream may have taken an order although Create failed.
func Ambiguous(f *provider.Fault) bool {
	if f == nil || f.Unsent {
		return false
	}
	switch f.Class {
	case provider.ClassConnect, provider.ClassDNS, provider.ClassTLS, provider.ClassSetup, provider.ClassCredential,
		provider.ClassRefused, provider.ClassRateLimited, provider.ClassRedirect:
		return false
	}
	return true
}

// Gone reports whether the upstream says that it does not have an item.
func Gone(f *provider.Fault) bool {
	return f != nil && f.Class == provider.ClassRefused && (f.Status == http.StatusNotFound || f.Status == http.StatusGone)
}

var (
	errOther = errors.New("material: the upstream answered with another item than was asked for")
	errShape = fmt.Errorf("material: the answer is not of the form of an item")
)
