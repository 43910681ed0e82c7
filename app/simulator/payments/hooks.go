package payments

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"math/big"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	cryptorand "crypto/rand"
)

const (
	hooksQueuedMax   = 20_000
	hooksAtOnceMax   = 8
	hookWaitMax      = 10 * time.Second
	deliveriesMax    = 20_000
	hookAnswerMax    = 64 << 10 // The simulator reads at most this many bytes of an answer.
	shuffleTicksOnce = int64(time.Microsecond)
)

// delivery is one event on its way, or one attempt that was made.
type delivery struct {
	EventID  string `json:"event_id"`
	Type     string `json:"type"`
	ObjectID string `json:"object_id"`
	Attempt  int    `json:"attempt"`
	Status   int    `json:"status"` // Status is the status of the answer; zero means no answer.
	Error    string `json:"error,omitempty"`
	Dropped  bool   `json:"dropped,omitempty"` // The event was never sent.

	event event
	due   time.Time
}

// habits are how events are sent, on demand.
type habits struct {
	URL        string `json:"url"`
	DelayMS    int64  `json:"delay_ms"`   // Each event is sent this much later.
	ShuffleMS  int64  `json:"shuffle_ms"` // A random delay up to this is added to each event.
	Duplicates int    `json:"duplicates"` // Each event is sent this many additional times.
	Drop       int    `json:"drop"`       // This many of the next events are never sent.
	Hold       bool   `json:"hold"`       // Events wait until they are released.
}

// hooks send events. Their workers exist only while there is something to send.
type hooks struct {
	client *http.Client
	random io.Reader
	now    func() time.Time // Signatures contain the time of this clock.
	secret string
	retry  []time.Duration
	ctx    context.Context // Close cancels ctx.
	cancel context.CancelFunc
	all    sync.WaitGroup

	mu       sync.Mutex
	habits   habits
	waiting  []delivery
	held     []delivery
	log      []delivery
	good     map[string]bool // The keys are ids of events that the receiver accepted.
	changed  chan struct{}   // The channel is closed and replaced when log grows.
	wake     chan struct{}
	workers  int
	sleeping bool
}

func newHooks(o Options) *hooks {
	ctx, cancel := context.WithCancel(context.Background())
	return &hooks{
		client: &http.Client{Timeout: hookWaitMax, Transport: &http.Transport{DisableKeepAlives: true},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
		random: cryptorand.Reader, now: o.Now, secret: o.Secret, retry: o.RetryWaits, ctx: ctx, cancel: cancel,
		habits: habits{URL: o.WebhookURL}, good: map[string]bool{}, changed: make(chan struct{}), wake: make(chan struct{}, 1),
	}
}

func (h *hooks) close() {
	h.mu.Lock()
	h.cancel()
	h.mu.Unlock()
	h.all.Wait()
}

// add queues an event as the habits say.
func (h *hooks) add(e *event, objectID string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.habits.URL == "" {
		return
	}
	one := delivery{EventID: e.ID, Type: e.Type, ObjectID: objectID, Attempt: 1, event: *e}
	if h.habits.Drop > 0 {
		h.habits.Drop--
		one.Dropped = true
		h.note(one)
		return
	}
	for range 1 + h.habits.Duplicates {
		one.due = time.Now().Add(time.Duration(h.habits.DelayMS)*time.Millisecond + h.chance(h.habits.ShuffleMS))
		if h.habits.Hold {
			h.held = append(h.held, one)
			h.held = h.held[max(0, len(h.held)-hooksQueuedMax):]
		} else {
			h.queue(one)
		}
	}
}

// chance is a pause of at most so many milliseconds.
func (h *hooks) chance(ms int64) time.Duration {
	if ms <= 0 {
		return 0
	}
	n, err := cryptorand.Int(h.random, big.NewInt(ms*int64(time.Millisecond)/shuffleTicksOnce))
	if err != nil {
		return 0
	}
	return time.Duration(n.Int64() * shuffleTicksOnce)
}

// queue lets one be sent when it is due. The caller holds the lock.
func (h *hooks) queue(one delivery) {
	if len(h.waiting) >= hooksQueuedMax || h.ctx.Err() != nil {
		return
	}
	h.waiting = append(h.waiting, one)
	if h.sleeping {
		select {
		case h.wake <- struct{}{}:
		default:
		}
	}
	h.startWorker()
}

// startWorker starts one more worker, which sends events until none is left, unless there are enough. The caller holds the lock.
func (h *hooks) startWorker() {
	if h.workers >= min(hooksAtOnceMax, len(h.waiting)) || h.ctx.Err() != nil {
		return
	}
	h.workers++
	// goroutine: the hooks own it, and Close waits for it; it ends when no event is left to send.
	h.all.Go(func() {
		for {
			one, wait, more := h.next()
			switch {
			case !more:
				return
			case wait > 0:
				h.sleep(wait)
			default:
				h.send(one)
			}
		}
	})
}

// next takes what is due, or says how long to wait for it. A worker without either is done: one is enough to wait.
func (h *hooks) next() (one delivery, wait time.Duration, more bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	first := -1
	for i := range h.waiting {
		if first < 0 || h.waiting[i].due.Before(h.waiting[first].due) {
			first = i
		}
	}
	if first < 0 || h.ctx.Err() != nil {
		h.workers--
		return one, 0, false
	}
	wait = time.Until(h.waiting[first].due)
	if wait > 0 {
		if h.sleeping {
			h.workers--
			return one, 0, false
		}
		h.sleeping = true
		return one, wait, true
	}
	one = h.waiting[first]
	h.waiting = slices.Delete(h.waiting, first, first+1)
	h.startWorker()
	return one, 0, true
}

// sleep waits until something may be due.
func (h *hooks) sleep(wait time.Duration) {
	select {
	case <-time.After(wait):
	case <-h.wake:
	case <-h.ctx.Done():
	}
	h.mu.Lock()
	h.sleeping = false
	h.mu.Unlock()
}

// send makes one attempt, and queues the next one when the receiver does not take it.
func (h *hooks) send(one delivery) {
	body, err := json.Marshal(one.event)
	if err != nil {
		return
	}
	h.mu.Lock()
	address := h.habits.URL
	h.mu.Unlock()
	one.Status, one.Error = h.post(h.ctx, address, body, signatureHeader(h.now(), body, h.secret))
	h.mu.Lock()
	defer h.mu.Unlock()
	h.note(one)
	if (one.Status < 200 || one.Status > 299) && one.Attempt <= len(h.retry) {
		one.due = time.Now().Add(h.retry[one.Attempt-1])
		one.Attempt++
		h.queue(one)
	}
}

// post sends a body, and says what it was answered.
func (h *hooks) post(ctx context.Context, address string, body []byte, signature string) (status int, failed string) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return 0, err.Error()
	}
	req.Header.Set("Content-Type", "application/json; charset=utf-8")
	if signature != "" {
		req.Header.Set("Stripe-Signature", signature)
	}
	res, err := h.client.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer func() { _ = res.Body.Close() }()
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, hookAnswerMax))
	return res.StatusCode, ""
}

// note keeps an attempt for those who ask. The caller holds the lock.
func (h *hooks) note(one delivery) {
	if len(h.log) >= deliveriesMax {
		delete(h.good, h.log[0].EventID)
		h.log = h.log[1:]
	}
	one.event = event{}
	h.log = append(h.log, one)
	if one.Status >= 200 && one.Status <= 299 {
		h.good[one.EventID] = true
	}
	close(h.changed)
	h.changed = make(chan struct{})
}

// done reports whether an event was taken.
func (h *hooks) done(eventID string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.good[eventID]
}

// signatureHeader signs a body with the time at which it is sent.
func signatureHeader(at time.Time, body []byte, secret string) string {
	stamp := strconv.FormatInt(at.Unix(), 10)
	mac := hmac.New(sha256.New, []byte(secret))
	_, _ = mac.Write([]byte(stamp + "."))
	_, _ = mac.Write(body)
	return "t=" + stamp + ",v1=" + hex.EncodeToString(mac.Sum(nil))
}
