package simulator

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"time"
)

const (
	// callbacksQueuedMax bounds the callbacks that wait; more are lost, as they may be on any day.
	callbacksQueuedMax = 4096
	// callbacksAtOnceMax is how many are on their way at once.
	callbacksAtOnceMax = 4
	// callbackWaitMax bounds one callback. The simulator does not retry.
	callbackWaitMax = 3 * time.Second
	// queuedShare is the part of a render, one in so many, that passes before it is begun.
	queuedShare = 10
)

// callback is one to send.
type callback struct {
	address string
	body    []byte
}

// caller sends callbacks in order of their coming. Its workers exist only while there is something to send, so that a
// simulator need not be closed.
type caller struct {
	client *http.Client

	mu      sync.Mutex
	queue   []callback
	workers int
}

// newCaller makes a caller that follows no redirect and keeps no connection.
func newCaller() *caller {
	return &caller{client: &http.Client{
		Timeout:       callbackWaitMax,
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// send queues a callback.
func (c *caller) send(one callback) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.queue) >= callbacksQueuedMax {
		return
	}
	c.queue = append(c.queue, one)
	if c.workers < callbacksAtOnceMax {
		c.workers++
		// goroutine: the caller of callbacks owns it; it ends when no callback is left to send.
		go func() {
			for next, ok := c.next(); ok; next, ok = c.next() {
				c.post(next)
			}
		}()
	}
}

// next takes a callback off the queue; without one the worker that asks is done.
func (c *caller) next() (callback, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.queue) == 0 {
		c.workers--
		return callback{}, false
	}
	one := c.queue[0]
	c.queue = c.queue[1:]
	return one, true
}

// post sends one callback. The simulator does not check whether it arrived.
func (c *caller) post(one callback) {
	ctx, cancel := context.WithTimeout(context.Background(), callbackWaitMax)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, one.address, bytes.NewReader(one.body))
	if err != nil {
		return
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := c.client.Do(req)
	if err != nil {
		return
	}
	_ = res.Body.Close()
}

// scheduleCallbacks sends a callback for each change of a new render, as time passes.
func (s *Simulator) scheduleCallbacks(r *render) {
	if r.callback == "" || r.fault.callback == "none" {
		return
	}
	s.renders.tell(r, taskWord(view{stage: waiting})) // The answer has already reported this status.
	tell := func() { s.tell(r, s.renders.peek(r, s.options.Now())) }
	if r.takes == 0 {
		tell()
		return
	}
	time.AfterFunc(r.takes/queuedShare+time.Millisecond, tell)
	time.AfterFunc(r.takes+time.Millisecond, tell)
}

// tell sends a callback when a render is not what the last one said it is.
func (s *Simulator) tell(r *render, v view) {
	if r.callback == "" || r.fault.callback == "none" || !s.renders.tell(r, taskWord(v)) {
		return
	}
	o := r.task(v, s.options.Now())
	times := 1
	switch {
	case r.fault.callback == "twice":
		times = 2
	case r.fault.callback == "lie" && v.stage == succeeded:
		o.Status, o.Message, o.Result = taskWord(view{stage: failed}), "This callback is wrong.", nil
	case r.fault.callback == "lie":
		o.Status = taskWord(view{stage: succeeded})
	}
	body, err := json.Marshal(o)
	if err != nil {
		return
	}
	for range times {
		s.caller.send(callback{r.callback, body})
	}
}
