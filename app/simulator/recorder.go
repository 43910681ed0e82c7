package simulator

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"net/http"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

const (
	// recordsMax is how many requests are remembered, the latest ones.
	recordsMax = 1024
	// recordBytesMax is how much of each body is remembered.
	recordBytesMax = 64 << 10
)

// Request is what the simulator remembers of one request.
type Request struct {
	Number       int64       `json:"number"` // Number counts from 1 since the simulator started.
	Method       string      `json:"method"`
	Path         string      `json:"path"`
	Query        string      `json:"query,omitempty"`
	Provider     string      `json:"provider,omitempty"`
	Model        string      `json:"model,omitempty"`
	Fault        string      `json:"fault,omitempty"`
	Header       http.Header `json:"header"` // Credentials are hashed.
	Body         string      `json:"body"`   // A long body is cut.
	BodyBytes    int         `json:"body_bytes"`
	Started      time.Time   `json:"started"`
	Finished     *time.Time  `json:"finished"` // Finished is null while the request runs.
	Status       int         `json:"status"`   // Status is zero if the fault left no answer.
	BytesSent    int         `json:"bytes_sent"`
	OutputTokens int64       `json:"output_tokens"`
	ClientLeft   bool        `json:"client_left"` // The client left before the answer was complete.
	BrokenOff    bool        `json:"broken_off"`  // A fault broke off the answer.
}

// recorder remembers the latest requests and counts all of them.
type recorder struct {
	now func() time.Time

	mu       sync.Mutex
	ring     []*entry
	next     int
	stats    Stats
	finished signal
}

// Stats counts requests since the simulator started.
type Stats struct {
	Requests    int64            `json:"requests"`
	InFlight    int64            `json:"in_flight"`
	InFlightMax int64            `json:"in_flight_max"`
	Finished    int64            `json:"finished"`
	ClientLeft  int64            `json:"client_left"`
	BrokenOff   int64            `json:"broken_off"`
	ByStatus    map[int]int64    `json:"by_status"`
	ByProvider  map[string]int64 `json:"by_provider"`
}

// providersCountedMax bounds the providers that are counted apart.
const providersCountedMax = 256

// entry is a request that is being recorded. A nil entry records nothing, so that a simulator without a control interface pays nothing.
type entry struct {
	recorder *recorder
	request  Request
}

// begin remembers a request that has just come.
func (c *recorder) begin(r *http.Request, provider string) *entry {
	e := &entry{recorder: c, request: Request{Method: r.Method, Path: r.URL.Path, Query: r.URL.RawQuery, Provider: provider,
		Header: hashed(r.Header), Started: c.now()}}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stats.Requests++
	c.stats.InFlight++
	c.stats.InFlightMax = max(c.stats.InFlightMax, c.stats.InFlight)
	if c.stats.ByProvider == nil {
		c.stats.ByProvider = make(map[string]int64)
		c.stats.ByStatus = make(map[int]int64)
	}
	if _, known := c.stats.ByProvider[provider]; known || len(c.stats.ByProvider) < providersCountedMax {
		c.stats.ByProvider[provider]++
	}
	e.request.Number = c.stats.Requests
	if len(c.ring) < recordsMax {
		c.ring = append(c.ring, e)
		return e
	}
	c.ring[c.next] = e
	c.next = (c.next + 1) % recordsMax
	return e
}

// hashed copies headers with every credential replaced by its SHA-256, so that a test can compare credentials which cannot be read.
func hashed(h http.Header) http.Header {
	h = maps.Clone(h)
	for _, name := range []string{"Authorization", "X-Api-Key", "X-Goog-Api-Key", "Cookie"} {
		values := make([]string, 0, len(h[name]))
		for _, v := range h[name] {
			scheme, secret := "", v
			if rest, ok := strings.CutPrefix(v, "Bearer "); ok {
				scheme, secret = "Bearer ", rest
			}
			sum := sha256.Sum256([]byte(secret))
			values = append(values, scheme+"sha256:"+hex.EncodeToString(sum[:]))
		}
		if len(values) > 0 {
			h[name] = values
		}
	}
	return h
}

// edit changes a recorded request under the lock that its readers take.
func (e *entry) edit(change func(r *Request)) {
	if e == nil {
		return
	}
	e.recorder.mu.Lock()
	defer e.recorder.mu.Unlock()
	change(&e.request)
}

func (e *entry) received(body []byte) {
	if e == nil {
		return
	}
	kept := body[:min(len(body), recordBytesMax)]
	for len(kept) < len(body) && len(kept) > 0 && !utf8.RuneStart(body[len(kept)]) {
		kept = kept[:len(kept)-1]
	}
	text := strings.ToValidUTF8(string(kept), "\ufffd")
	e.edit(func(r *Request) { r.Body, r.BodyBytes = text, len(body) })
}

func (e *entry) understood(model, fault string) {
	e.edit(func(r *Request) { r.Model, r.Fault = model, fault })
}

func (e *entry) answered(u usage) { e.edit(func(r *Request) { r.OutputTokens = u.output }) }
func (e *entry) status(code int)  { e.edit(func(r *Request) { r.Status = code }) }
func (e *entry) broke()           { e.edit(func(r *Request) { r.BrokenOff = true }) }

func (e *entry) wrote(n int, err error) {
	e.edit(func(r *Request) {
		r.BytesSent += n
		r.ClientLeft = r.ClientLeft || err != nil
	})
}

// end closes the record and wakes those who wait for finished requests.
func (e *entry) end(left bool) {
	if e == nil {
		return
	}
	c := e.recorder
	now := c.now()
	c.mu.Lock()
	defer c.mu.Unlock()
	r := &e.request
	r.Finished = &now
	r.ClientLeft = r.ClientLeft || left
	c.stats.InFlight--
	c.stats.Finished++
	c.stats.ByStatus[r.Status]++
	if r.ClientLeft {
		c.stats.ClientLeft++
	}
	if r.BrokenOff {
		c.stats.BrokenOff++
	}
	c.finished.fire()
}

// all are the remembered requests, oldest first.
func (c *recorder) all() []Request {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := make([]Request, 0, len(c.ring))
	for i := range c.ring {
		list = append(list, c.ring[(c.next+i)%len(c.ring)].request)
	}
	return list
}

// forget drops the remembered requests; the counts stay.
func (c *recorder) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ring, c.next = nil, 0
}

// counts is a copy of the statistics.
func (c *recorder) counts() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.stats
	s.ByStatus = maps.Clone(s.ByStatus)
	s.ByProvider = maps.Clone(s.ByProvider)
	return s
}

// await waits until so many of the remembered requests are finished, or ctx ends.
func (c *recorder) await(ctx context.Context, finished int) bool {
	return c.finished.await(ctx, &c.mu, func() bool {
		n := 0
		for _, e := range c.ring {
			if e.request.Finished != nil {
				n++
			}
		}
		return n >= finished
	})
}

// described records a text in place of a body that could not be read.
func (e *entry) described(text string) {
	e.edit(func(r *Request) { r.Body = text[:min(len(text), recordBytesMax)] })
}
