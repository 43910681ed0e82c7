package faults

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"umg/e2e/harness"
)

// clientRows are the faults of clients, numbered as in the list. What their upstreams do only makes them longer.
var clientRows = []faultRow{
	{"47", []fault{ // The client leaves.
		{does: "stall", drive: (*faultGateway).leavesUnanswered},
		{does: "pace=10ms", prompt: "count to 900", form: streamOnly, every: true, drive: (*faultGateway).leavesMidway},
		{does: "no-end;keep-open", form: streamOnly, every: true, drive: (*faultGateway).leavesAtEnd},
		{does: "stall-after=1", form: jsonOnly, drive: (*faultGateway).leavesUnanswered},
	}},
	{"48", []fault{ // The client closes its half of the connection, and still reads.
		{does: "slow-first=9s", drive: (*faultGateway).closesHalf},
	}},
	{"49", []fault{ // The client reads slowly, or stops reading.
		{prompt: "say 2000 words", drive: (*faultGateway).readsSlowly},
		{does: "endless", max: 15000, form: streamOnly, drive: (*faultGateway).stopsReading},
	}},
	{"50", []fault{ // The client sends slowly.
		{drive: (*faultGateway).sendsSlowly},
	}},
	{"62", []fault{ // More calls arrive than the gateway admits.
		// So many calls at once are slow, and a hedge would ask the upstream twice.
		{more: "    hedge: false\n", drive: (*faultGateway).overruns},
	}},
	{"63", []fault{ // One tenant makes as many calls as it can.
		{does: "slow-first=400ms", drive: (*faultGateway).floods},
	}},
}

// leavesUnanswered leaves before the answer begins. The gateway cancels the upstream's call at once and asks no other upstream. The input is
// charged, since the upstream had it.
func (h *faultGateway) leavesUnanswered(t *testing.T, s mishap) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = h.TryCall(ctx, http.MethodPost, s.client.Path, s.body(faultPrompt))
	}()
	harness.WaitUntil(t, "the upstream has the call", func() bool { return len(h.asked(t, s.firstID())) == 1 })
	left := time.Now()
	cancel()
	<-done
	h.isToldOfLeaving(t, s, left)
	h.recorded(t, s, fate{as: "gone", first: 1, reason: "client_left_waiting"}, "", showing{})
}

// isToldOfLeaving waits until the upstream knows that its caller has gone, and insists that no other upstream was asked.
func (h *faultGateway) isToldOfLeaving(t *testing.T, s mishap, left time.Time) {
	t.Helper()
	h.asks(t, s, well.leaving())
	if told := h.asked(t, s.firstID())[0].Finished.Sub(left); told > faultTimeMax {
		t.Errorf("%s: the upstream was told after %s", s.id, told)
	}
}

// leavesMidway goes when a part of the answer has come: that is what is charged.
func (h *faultGateway) leavesMidway(t *testing.T, s mishap) {
	left := h.reads(t, s, s.prompt, " 9")
	h.isToldOfLeaving(t, s, left)
	r := h.recorded(t, s, well.with("client_left"), "", showing{})
	if r.Output < 5 || r.Output > 400 {
		t.Errorf("%s: %+v", s.id, r)
	}
}

// leavesAtEnd goes when the whole text has come and the end of the stream has not: all of it is charged.
func (h *faultGateway) leavesAtEnd(t *testing.T, s mishap) {
	h.reads(t, s, faultPrompt, " 9")
	h.asks(t, s, well)
	r := h.latest(t, s, "")
	whole := r.Input*inputNanos + r.Output*outputNanos
	if r.Cost != whole || r.Output != 9 || r.Input != s.inputTokens() && !r.Estimated || !strings.HasPrefix(r.Reason, "client_left") && r.Reason != "completed" {
		t.Errorf("%s: the record is %+v", s.id, r)
	}
}

// reads reads a stream up to a mark, leaves, and says when.
func (h *faultGateway) reads(t *testing.T, s mishap, prompt, mark string) time.Time {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	req, err := h.NewRequest(ctx, http.MethodPost, s.client.Path, s.body(prompt))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := harness.HTTPClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() && !strings.Contains(lines.Text(), mark+`"`) {
		continue
	}
	return time.Now()
}

// raw opens a connection of its own and writes the request of a mishap.
func (h *faultGateway) raw(t *testing.T, s mishap, prompt string) *net.TCPConn {
	t.Helper()
	host := strings.TrimSuffix(strings.TrimPrefix(h.BaseURL, "http://"), "/v1")
	conn, err := (&net.Dialer{Timeout: harness.CallTimeMax}).Dial("tcp", host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(harness.CallTimeMax))
	tcp, _ := conn.(*net.TCPConn)
	body := s.body(prompt)
	if _, err := fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\n"+
		"X-Error-Status: standard\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", s.client.Path, host, h.APIKey, len(body), body); err != nil {
		t.Fatal(err)
	}
	return tcp
}

// rest reads an answer from a connection to its end.
func (h *faultGateway) rest(t *testing.T, conn net.Conn) harness.Response {
	t.Helper()
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Errorf("after %d bytes: %v", len(text), err)
	}
	return harness.Response{Status: resp.StatusCode, Header: resp.Header, Body: string(text)}
}

// closesHalf says that the client sends nothing more, before the answer begins. A client that leaves looks the same: the call ends, the
// gateway cancels the upstream's call at once, and the input is charged. A client that still reads gets an error.
func (h *faultGateway) closesHalf(t *testing.T, s mishap) {
	conn := h.raw(t, s, faultPrompt)
	harness.WaitUntil(t, "the upstream has the call", func() bool { return len(h.asked(t, s.firstID())) == 1 })
	left := time.Now()
	if err := conn.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	a := h.rest(t, conn)
	if r := s.client.ReadError(t, a); a.Status != 499 || r.Code != "client_closed_request" {
		t.Errorf("%s: %d %s", s.id, a.Status, a.Body)
	}
	h.isToldOfLeaving(t, s, left)
	h.recorded(t, s, fate{as: "gone", first: 1, reason: "client_left_waiting"}, a.Header.Get("X-Request-Id"), showing{})
}

// readsSlowly reads nothing for a while, and then little by little: the answer is whole, and costs what it shows.
func (h *faultGateway) readsSlowly(t *testing.T, s mishap) {
	conn := h.raw(t, s, s.prompt)
	// The slow client is the fault, so this is no wait for a state.
	time.Sleep(300 * time.Millisecond)
	a := h.rest(t, slowly{conn})
	want := well.saying(words(2000))
	shown := h.sees(t, s, want, a)
	h.recorded(t, s, want, a.Header.Get("X-Request-Id"), shown)
	h.asks(t, s, want)
}

// slowly reads in small pieces.
type slowly struct{ net.Conn }

func (s slowly) Read(p []byte) (int, error) {
	return s.Conn.Read(p[:min(len(p), 700)])
}

// stopsReading reads the beginning and nothing more, and is gone after a while: the upstream was not read to its end, and
// no more is charged than was sent.
func (h *faultGateway) stopsReading(t *testing.T, s mishap) {
	conn := h.raw(t, s, faultPrompt)
	if _, err := io.ReadFull(conn, make([]byte, 2000)); err != nil {
		t.Fatal(err)
	}
	// The slow client is the fault, so this is no wait for a state.
	time.Sleep(300 * time.Millisecond)
	_ = conn.SetLinger(0)
	_ = conn.Close()
	h.asks(t, s, well.leaving())
	r := h.latest(t, s, "")
	if r.Outcome != "client_left" || r.Cost == 0 || r.Cost != r.Input*inputNanos+r.Output*outputNanos || r.Cost > r.Reserved {
		t.Errorf("%s: the record is %+v", s.id, r)
	}
}

// sendsSlowly opens connections that send a part of a head or of a body and then nothing. Other calls are still answered.
func (h *faultGateway) sendsSlowly(t *testing.T, s mishap) {
	const slow = 60
	host := strings.TrimSuffix(strings.TrimPrefix(h.BaseURL, "http://"), "/v1")
	for i := range slow {
		conn, err := (&net.Dialer{Timeout: harness.CallTimeMax}).Dial("tcp", host)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		part := "POST " + s.client.Path + " HTTP/1.1\r\nHost: " + host + "\r\nAuthorization: Bea"
		if i%2 == 0 {
			part += "rer " + h.APIKey + "\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n" + `{"model":"` + s.model() + `","messages":[`
		}
		if _, err := io.WriteString(conn, part); err != nil {
			t.Fatal(err)
		}
	}
	h.calls(t, s, well)
}

// overruns makes many calls at once: each is answered, or refused in time with a word on when to come back, and afterwards
// all is well.
func (h *faultGateway) overruns(t *testing.T, s mishap) {
	const calls = 150
	var all sync.WaitGroup
	var mu sync.Mutex
	answered := 0
	for range calls {
		all.Go(func() {
			a := s.client.Send(t, h.Customer, s.body(faultPrompt))
			switch {
			case a.Status == http.StatusOK:
				h.sees(t, s, well, a)
				mu.Lock()
				answered++
				mu.Unlock()
			case a.Status != http.StatusTooManyRequests && a.Status != http.StatusServiceUnavailable || a.Header.Get("Retry-After") == "":
				t.Errorf("%s: %d %v %s", s.id, a.Status, a.Header, a.Body)
			}
		})
	}
	all.Wait()
	if answered == 0 {
		t.Errorf("%s: none of %d calls was answered", s.id, calls)
	}
	began := time.Now()
	h.sees(t, s, well, s.client.Send(t, h.Customer, s.body(faultPrompt)))
	if took := time.Since(began); took > faultTimeMax+faultSlack {
		t.Errorf("%s: a call took %s afterwards", s.id, took)
	}
	h.asks(t, s, answers(answered+1, 0))
}

// floods lets one tenant make more calls at once than it may: what is too much is refused at once, and costs nothing, and
// another tenant's calls are still served.
func (h *faultGateway) floods(t *testing.T, s mishap) {
	const calls = 40
	flooder := h.NewCustomer(t, "flooder")
	before := flooder.SettledBalance(t, flooder.AccountID)
	var all sync.WaitGroup
	var mu sync.Mutex
	var served, refused int
	var shown int64
	for range calls {
		all.Go(func() {
			a := s.client.Send(t, flooder, s.body(faultPrompt))
			mu.Lock()
			defer mu.Unlock()
			if a.Status == http.StatusOK {
				served++
				shown += harness.ShownCost(t, a.Body)
				return
			}
			// Other tests may flood the same gateway, which then refuses with 503.
			if refused++; a.Status == http.StatusServiceUnavailable {
				s.client.CheckError(t, a, "unavailable", "overloaded", "")
				return
			}
			s.client.CheckError(t, a, "busy", "max_concurrency_exceeded", "")
		})
	}
	began := time.Now()
	h.sees(t, s, well, s.client.Send(t, h.Customer, s.body(faultPrompt)))
	if took := time.Since(began); took > faultTimeMax+faultSlack {
		t.Errorf("%s: the other tenant waited %s", s.id, took)
	}
	all.Wait()
	if served == 0 || refused == 0 {
		t.Errorf("%s: %d were served, %d refused", s.id, served, refused)
	}
	if after := flooder.SettledBalance(t, flooder.AccountID); before.Posted-after.Posted != shown || after.Held != 0 {
		t.Errorf("%s: %d is shown, and the balance went from %+v to %+v", s.id, shown, before, after)
	}
	h.asks(t, s, answers(served+1, 0))
}
