package listen

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"
)

const (
	gatewayMax    = 20 * time.Second // The gateway must answer within this time.
	pageBytesMax  = 1 << 20
	retryAfterMax = time.Minute
)

// event is one of the gateway's list.
type event struct {
	ID        string `json:"id"`
	Type      string `json:"type"`
	ObjectID  string `json:"object_id"`
	CreatedAt int64  `json:"created_at"`
	Body      string `json:"body"`
}

type eventPage struct {
	Data []event   `json:"data"`
	More bool      `json:"has_more"`
	at   time.Time // At is the time of the answer on the gateway's clock.
}

// refusal is an answer of the gateway that is none of events.
type refusal struct {
	status  int
	message string
	wait    time.Duration
}

func (f *refusal) Error() string { return f.message }

// final reports whether asking again is of no use: the key, the scope or the gateway itself are not right.
func final(err error) bool {
	f, ok := errors.AsType[*refusal](err)
	return ok && f.status >= 400 && f.status <= 499 && f.status != http.StatusTooManyRequests && f.status != http.StatusRequestTimeout
}

func retryAfter(err error) time.Duration {
	if f, ok := errors.AsType[*refusal](err); ok {
		return min(f.wait, retryAfterMax)
	}
	return 0
}

// look forwards what happened since the last look. It looks back a little further, as an event may become visible later than
// others that are younger, and knows those it has forwarded.
func (r *Relay) look(ctx context.Context) error {
	began := time.Time{}
	q := url.Values{"limit": {strconv.Itoa(pageEvents)}, "since": {strconv.FormatInt(r.from.Unix(), 10)}}
	for range pagesMax {
		page, err := r.ask(ctx, q)
		if err != nil {
			return err
		}
		if began.IsZero() {
			began = page.at
		}
		for _, e := range page.Data {
			if err := r.forwardNew(ctx, e); err != nil {
				return err
			}
			q.Set("after", e.ID)
		}
		if page.More && len(page.Data) > 0 {
			continue
		}
		if from := began.Add(-lookBack); from.After(r.from) {
			r.from = from
		}
		maps.DeleteFunc(r.known, func(_ string, at time.Time) bool {
			return at.Before(r.from.Add(-time.Second)) // The gateway answers in whole seconds.
		})
		return nil
	}
	return nil // The next poll continues, and skips known events quickly.
}

// forwardNew forwards an event that is new and wanted.
func (r *Relay) forwardNew(ctx context.Context, e event) error {
	if _, met := r.known[e.ID]; met {
		return nil
	}
	if slices.Contains(r.o.Types, e.Type) {
		if err := r.forward(ctx, e); err != nil {
			return err
		}
	}
	r.known[e.ID] = time.Unix(e.CreatedAt, 0)
	return nil
}

// ask gets a page of events.
func (r *Relay) ask(ctx context.Context, q url.Values) (page eventPage, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.o.Gateway+"/v1/webhook_events?"+q.Encode(), nil)
	if err != nil {
		return page, err
	}
	req.Header.Set("Authorization", "Bearer "+r.o.Key)
	req.Header.Set("X-Error-Status", "standard")
	resp, err := r.gateway.Do(req)
	if err != nil {
		return page, errors.New(cause(err))
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, pageBytesMax))
	if err != nil {
		return page, err
	}
	if resp.StatusCode != http.StatusOK {
		return page, refusalOf(resp, body)
	}
	if err := json.Unmarshal(body, &page); err != nil {
		return page, &refusal{status: http.StatusNotFound, message: r.o.Gateway + " does not answer as a gateway does"}
	}
	if page.at, err = http.ParseTime(resp.Header.Get("Date")); err != nil {
		page.at = r.o.Now()
	}
	return page, nil
}

func refusalOf(resp *http.Response, body []byte) error {
	f := &refusal{status: resp.StatusCode, message: fmt.Sprintf("the gateway answers %s", resp.Status)}
	var said struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	if json.Unmarshal(body, &said) == nil && said.Error.Message != "" {
		f.message = said.Error.Message
	}
	if n, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && n > 0 {
		f.wait = time.Duration(n) * time.Second
	}
	return f
}
