package emulator

import (
	"crypto/rsa"
	"encoding/hex"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Options configure an Emulator. All are required.
type Options struct {
	Now func() time.Time
	// Random gives the bytes of tokens and of the key of the service account. It is read by one goroutine at a time.
	Random io.Reader
}

// Emulator emulates all providers. It can be used by many goroutines at once.
type Emulator struct {
	now func() time.Time

	mu       sync.Mutex
	random   io.Reader
	rules    []*Rule
	records  []*Record
	tokens   map[string]issued
	sessions map[string]time.Time
	more     map[string]int // More has how many made-up models the lists of a provider have.
	lifetime time.Duration
	requests int64 // Requests counts the requests for tokens.
	running  int64 // Running counts those that are being answered.
	most     int64 // Most is the highest count of those at once.
	account  *rsa.PrivateKey
}

// tokenLifetime is how long a new token is valid, as the token endpoint of Google says it.
const tokenLifetime = 3599 * time.Second

// New makes an Emulator.
func New(o Options) *Emulator {
	switch {
	case o.Now == nil:
		panic("emulator.New: Options.Now is required")
	case o.Random == nil:
		panic("emulator.New: Options.Random is required")
	}
	return &Emulator{
		now: o.Now, random: o.Random, tokens: map[string]issued{}, lifetime: tokenLifetime,
		sessions: map[string]time.Time{SessionToken: {}}, more: map[string]int{},
	}
}

// Rule makes the emulator fail.
type Rule struct {
	// Provider is the name of a provider or of a token endpoint, google or entra. Empty means every one.
	Provider string
	// Text is a part of the body of the request. Empty means every request.
	Text string
	// Path is a part of the path of the request below the name of the provider. Empty means every path.
	Path string
	// Fault is the name of an error in the table of the provider, or one of Stall, Cut, Late, Broken and Empty.
	Fault string
	// Times is how many requests fail. Zero means all.
	Times int
	// Spared lets the first request and then each request with this distance pass. Zero spares none.
	Spared int

	seen int // Seen counts the requests that fit.
}

// These faults are no errors. An answer that stalls or is cut has content before.
const (
	// Stall stops after the first content of a stream, or before an answer in one piece, until the client leaves.
	Stall = "stall"
	// Cut ends the connection after the first content of a stream, or in place of an answer in one piece.
	Cut = "cut"
	// Late is an error inside a stream that has begun with status 200, before any content. An answer in one piece is an error as usual.
	Late = "late"
	// Broken is an answer in one piece of which half is sent, as if it were whole. A stream is not changed.
	Broken = "broken"
	// Empty is a list without models. Other answers are not changed.
	Empty = "empty"
)

// Add adds a rule. The oldest rule that fits a request decides.
func (e *Emulator) Add(r Rule) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.rules = append(e.rules, &r)
}

// Clear removes all rules.
func (e *Emulator) Clear() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.rules = nil
}

// faultOf is the fault that the rules have for a request; empty means none.
func (e *Emulator) faultOf(provider, path string, body []byte) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, r := range e.rules {
		if r.Times < 0 || r.Provider != "" && r.Provider != provider || !strings.Contains(string(body), r.Text) ||
			!strings.Contains(path, r.Path) {
			continue
		}
		if r.seen++; r.Spared > 0 && (r.seen-1)%r.Spared == 0 {
			return ""
		}
		if r.Times > 0 {
			if r.Times--; r.Times == 0 {
				r.Times = -1 // The rule is used up.
			}
		}
		return r.Fault
	}
	return ""
}

// Usage is what a provider has billed: disjoint counts of tokens, except that Output includes Reasoning.
type Usage struct{ Input, CacheRead, Output, Reasoning int64 }

// Record is a request that the emulator has got.
type Record struct {
	Provider, Wire, Path string
	// Body is the body of the request. A request for a token has none here, because it has secrets.
	Body   string
	Status int
	// Refused is the name of the error in the table. It is empty for an answer.
	Refused string
	// Images counts the images that the provider has taken.
	Images int
	// Billed is the usage of the answer.
	Billed Usage
	// Left means that the client has left before the end of the answer.
	Left bool
}

// Records returns the records of the requests that have ended and whose bodies have a text, oldest first.
func (e *Emulator) Records(text string) []Record {
	e.mu.Lock()
	defer e.mu.Unlock()
	var found []Record
	for _, r := range e.records {
		if strings.Contains(r.Body, text) {
			found = append(found, *r)
		}
	}
	return found
}

// keep stores a record, and forgets the oldest when there are too many.
func (e *Emulator) keep(r *Record) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.records) >= recordsMax {
		e.records = e.records[len(e.records)/2:]
	}
	e.records = append(e.records, r)
}

const (
	// recordsMax bounds the records that are kept.
	recordsMax = 20_000
	// bodyBytesMax bounds the body of a request.
	bodyBytesMax = 32 << 20
)

// text makes a random text of lower-case hexadecimal digits.
func (e *Emulator) text(digits int) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	raw := make([]byte, (digits+1)/2)
	if _, err := io.ReadFull(e.random, raw); err != nil {
		panic("emulator: the source of randomness failed: " + err.Error())
	}
	return hex.EncodeToString(raw)[:digits]
}

// ServeHTTP answers one request.
func (e *Emulator) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := r.URL.EscapedPath()
	switch {
	case path == "/google/token":
		e.serveTokens(w, r, "google")
		return
	case strings.HasSuffix(path, entraPath):
		e.serveTokens(w, r, "entra")
		return
	}
	name, rest, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	p := providers.Providers[name]
	if p == nil {
		http.NotFound(w, r)
		return
	}
	x := &exchange{e: e, w: w, r: r, provider: p, id: "req_" + e.text(24), vars: map[string]string{},
		record: &Record{Provider: name, Path: "/" + rest}}
	if !x.serveList("/" + rest) {
		x.serve("/" + rest)
	}
	x.record.Left = r.Context().Err() != nil
	e.keep(x.record)
}
