package assetapi

import (
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

// These are the time limits of calls, and the largest answer.
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

// Create registers a source with a provider. A second call with the same reference returns the same item. Ambiguous tells whether the
// upstream may have registered it in spite of a fault. The Param of a refusal is the member at fault: type, url or name.
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

// Get returns an item. Gone recognises the fault of an item that does not exist.
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

// Find returns the item with a reference of the gateway. It reports false when there is none.
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
		if item.Reference == reference { // An upstream without this filter lists everything.
			return item, true, nil
		}
	}
	return Item{}, false, nil
}

// Delete deletes an item. It succeeds when the item does not exist.
func (c *Client) Delete(ctx context.Context, p *catalog.Provider, id string) *provider.Fault {
	_, f := c.ask(ctx, p, deleteTimeout, provider.Call{Method: http.MethodDelete, Path: pathOf(id)})
	if Gone(f) {
		return nil
	}
	return f
}

func pathOf(id string) string { return "/assets/" + url.PathEscape(id) }

// answer is a JSON answer other than an error.
type answer struct {
	raw   []byte
	reply *provider.Reply // The body of the reply is closed.
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
	param, isError := parseError(raw)
	switch {
	case reply.Status/100 != 2:
		f = reply.StatusFault(reply.Status, raw) // The part of the body that was read is enough.
		if f.Class == provider.ClassRefused {
			f.Err.Param = param
		}
		return nil, f
	case f != nil:
		return nil, f
	case isError:
		return nil, reply.BodyFault(raw)
	}
	return &answer{raw: raw, reply: reply}, nil
}

// parseError returns the member that an error body names. It reports false for a body that is not an error, which has an item or no error.
func parseError(raw []byte) (param string, isError bool) {
	var body struct {
		ID    string          `json:"id"`
		Data  json.RawMessage `json:"data"`
		Error json.RawMessage `json:"error"`
	}
	if json.Unmarshal(raw, &body) != nil || len(body.Error) == 0 || string(body.Error) == "null" {
		return "", false
	}
	var member struct {
		Param string `json:"param"`
	}
	_ = json.Unmarshal(body.Error, &member) // An error that is not an object names no member.
	return member.Param, body.ID == "" && body.Data == nil
}

// Ambiguous reports whether the upstream may have registered the asset although Create failed.
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

// Gone reports whether a fault means that the item does not exist.
func Gone(f *provider.Fault) bool {
	return f != nil && f.Class == provider.ClassRefused && (f.Status == http.StatusNotFound || f.Status == http.StatusGone)
}

var (
	errOther = errors.New("assetapi: the upstream answered with another item than was asked for")
	errShape = fmt.Errorf("assetapi: the answer is not of the form of an item")
)
