// Package listen forwards the events of an account to an address on the developer's own machine, which no server can reach. A Relay
// polls a gateway for events, signs them as deliveries are signed, and prints how the address answered.
package listen

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"umg/app"
	"umg/app/webhook"
)

const (
	pollStandard = 2 * time.Second
	answerMax    = 15 * time.Second // The address must answer within this time.
	answerBytes  = 4 << 10          // The relay reads at most this many bytes of an answer.
	lookBack     = 30 * time.Second // An event may become visible this much later than younger ones.
	sinceMax     = 24 * time.Hour
	pageEvents   = 100
	pagesMax     = 20 // One poll reads at most this many pages.
)

// Options say where events come from and where they go. All but Types, Since and the waits are required.
type Options struct {
	Gateway string // Gateway is the scheme and host of the gateway.
	Key     string // Key is an API key with the scope webhooks.
	Forward string // Forward is the address that gets the events.
	Types   []string
	Since   time.Duration // Events are forwarded if they are at most this old.
	Secret  webhook.Secret
	Now     app.Clock
	Out     io.Writer
	Waits   Waits
}

// Waits are the pauses, so that tests need not wait; zero values take the standard ones.
type Waits struct {
	Poll  time.Duration   // Poll is the pause between two polls.
	Retry []time.Duration // Retry has the pause before each retry of an event.
	Lost  []time.Duration // Lost has the pause after each failed poll in a row. After the last one the relay gives up.
}

// Relay forwards events. It is for one Run.
type Relay struct {
	o       Options
	gateway *http.Client
	local   *http.Client
	known   map[string]time.Time // Known has the times of events that were forwarded, by their ids.
	from    time.Time            // From is a time on the gateway's clock.
	taken   int
	refused int
}

// New checks the options.
func New(o Options) (*Relay, error) {
	if err := errors.Join(address("--gateway", o.Gateway), address("--forward", o.Forward)); err != nil {
		return nil, err
	}
	for _, t := range o.Types {
		if !slices.Contains(webhook.Types(), t) {
			return nil, fmt.Errorf("--events: %q is none of %s", t, strings.Join(webhook.Types(), ", "))
		}
	}
	switch {
	case o.Key == "":
		return nil, errors.New("--key: an API key with the scope webhooks is required")
	case o.Since < 0 || o.Since > sinceMax:
		return nil, fmt.Errorf("--since must be from 0s to %s", sinceMax)
	}
	if len(o.Types) == 0 {
		o.Types = webhook.Types()
	}
	o.Waits.Poll = cmp.Or(o.Waits.Poll, pollStandard)
	if o.Waits.Retry == nil {
		o.Waits.Retry = []time.Duration{time.Second, 5 * time.Second}
	}
	if o.Waits.Lost == nil {
		o.Waits.Lost = []time.Duration{
			time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 30 * time.Second, time.Minute, time.Minute, time.Minute,
		}
	}
	o.Gateway = strings.TrimSuffix(strings.TrimSuffix(o.Gateway, "/"), "/v1") // The base URL of SDKs is accepted as well.
	asked := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Relay{
		o: o, known: map[string]time.Time{},
		gateway: &http.Client{Timeout: gatewayMax, CheckRedirect: asked},
		local:   &http.Client{Timeout: answerMax, CheckRedirect: asked, Transport: &http.Transport{}}, // The empty transport uses no proxy.
	}, nil
}

func address(flag, text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return fmt.Errorf("%s: %q is no address that begins with http:// or https://", flag, text)
	}
	return nil
}

// Run forwards until ctx ends, which is no error, or the gateway refuses or stays away.
func (r *Relay) Run(ctx context.Context) error {
	defer r.gateway.CloseIdleConnections()
	defer r.local.CloseIdleConnections()
	// The first page says what time it is for the gateway, and whether it takes the key.
	first, err := r.ask(ctx, url.Values{"limit": {"1"}, "since": {strconv.FormatInt(r.o.Now().Unix(), 10)}})
	if err != nil {
		return r.ended(ctx, err)
	}
	r.from = first.at.Add(-r.o.Since)
	r.printf("Listening to %s for %s\nForwarding to %s\nSigning secret %s\nCtrl-C ends it.\n",
		r.o.Gateway, strings.Join(r.o.Types, ", "), r.o.Forward, r.o.Secret)
	for lost := 0; ; {
		wait := r.o.Waits.Poll
		if err := r.look(ctx); err != nil {
			if ctx.Err() != nil || final(err) || lost == len(r.o.Waits.Lost) {
				return r.ended(ctx, err)
			}
			wait = max(r.o.Waits.Lost[lost], retryAfter(err))
			lost++
			r.printf("%s  the gateway cannot be asked: %s; again in %s", r.clock(), err, wait)
		} else {
			lost = 0
		}
		if app.Sleep(ctx, wait) != nil {
			return r.ended(ctx, nil)
		}
	}
}

// ended says what was done. A relay that was stopped has not failed.
func (r *Relay) ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		err = nil
	}
	if r.taken+r.refused > 0 || err == nil {
		r.printf("\n%d events were taken, %d were not.", r.taken, r.refused)
	}
	return err
}

func (r *Relay) printf(format string, args ...any) { _, _ = fmt.Fprintf(r.o.Out, format+"\n", args...) }

func (r *Relay) clock() string { return r.o.Now().Local().Format(time.TimeOnly) }

// forward sends one event to the address, and prints how it was answered. It tries an address that does not accept the
// event a few times; later events wait, so that their order is kept.
func (r *Relay) forward(ctx context.Context, e event) error {
	for attempt := 0; ; attempt++ {
		began := r.o.Now()
		said, taken := r.post(ctx, e, began)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		line := fmt.Sprintf("%s  %-15s  %s  %s  → %s", r.clock(), e.Type, e.ObjectID, e.ID, said)
		switch {
		case taken:
			r.taken++
			r.printf("%s, %d ms", line, r.o.Now().Sub(began).Milliseconds())
			return nil
		case attempt == len(r.o.Waits.Retry):
			r.refused++
			r.printf("%s; given up after %d attempts", line, attempt+1)
			return nil
		}
		wait := r.o.Waits.Retry[attempt]
		r.printf("%s; again in %s", line, wait)
		if err := app.Sleep(ctx, wait); err != nil {
			return err
		}
	}
}

// post sends an event once, and gives the answer in words.
func (r *Relay) post(ctx context.Context, e event, at time.Time) (said string, taken bool) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.o.Forward, bytes.NewReader([]byte(e.Body)))
	if err != nil {
		return err.Error(), false
	}
	for _, h := range r.o.Secret.Headers(e.ID, at, []byte(e.Body)) {
		req.Header.Set(h.Name, h.Value)
	}
	resp, err := r.local.Do(req)
	if err != nil {
		return cause(err), false
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, answerBytes))
	_ = resp.Body.Close()
	return resp.Status, resp.StatusCode >= 200 && resp.StatusCode <= 299
}

// cause leaves out of a fault what the line says already.
func cause(err error) string {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		return wrapped.Err.Error()
	}
	return err.Error()
}
