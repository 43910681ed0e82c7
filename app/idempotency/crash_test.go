package idempotency_test

import (
	"testing"
	"time"

	"umg/app"
	"umg/app/idempotency"
)

func fresh(id string) idempotency.Request {
	r := request("acc_a", "k", "body", id)
	r.Fresh = true
	return r
}

func TestARequestThatMadeNothingRunsAgainAfterACrash(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first := b.begin(fresh("req_1"))
	b.now = b.now.Add(2 * time.Minute)
	second := b.begin(fresh("req_2"))
	if second.ResultID != "req_2" || second.Answer != nil {
		t.Fatalf("the repetition is %+v", second)
	}
	err := b.s.Prepare(t.Context(), first, idempotency.Answer{Status: 200, Body: []byte("late")})
	if app.KindOf(err) != app.Unavailable {
		t.Errorf("one that was taken for dead may still be answered: %v", err)
	}
	if err := b.s.Prepare(t.Context(), second, idempotency.Answer{Status: 200, Body: []byte("in time")}); err != nil {
		t.Error(err)
	}
}

func TestWhatWasPreparedIsTheAnswerAfterACrash(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first := b.begin(fresh("req_1"))
	if err := b.s.Prepare(t.Context(), first, idempotency.Answer{Status: 200, Body: []byte("prepared")}); err != nil {
		t.Fatal(err)
	}
	b.refuse(fresh("req_2"), "idempotency_in_progress")
	b.now = b.now.Add(2 * time.Minute)
	for _, id := range []string{"req_3", "req_4"} {
		if c := b.begin(fresh(id)); c.ResultID != "req_1" || c.Answer == nil || string(c.Answer.Body) != "prepared" {
			t.Fatalf("the repetition got %+v", c)
		}
	}
}

func TestAFinishedRequestIsAnsweredAtOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first := b.begin(fresh("req_1"))
	large := make([]byte, 9<<20)
	if err := b.s.Prepare(t.Context(), first, idempotency.Answer{Status: 200, Body: large}); err != nil {
		t.Fatal(err)
	}
	if err := b.s.Finish(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	if c := b.begin(fresh("req_2")); c.ResultID != "req_1" || c.Answer == nil || len(c.Answer.Body) != 0 {
		t.Errorf("an answer that is too large is kept as %+v", c)
	}
}

func TestAStreamIsNotReplayed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	r := fresh("req_1")
	r.Stream = true
	if c := b.begin(r); c.Answer != nil {
		t.Fatalf("the first is answered %+v", c)
	}
	r.ResultID = "req_2"
	b.refuse(r, "idempotency_in_progress")
	b.now = b.now.Add(2 * time.Minute)
	if c := b.begin(r); c.ResultID != "req_1" || c.Answer == nil || len(c.Answer.Body) != 0 {
		t.Errorf("after a crash: %+v", c)
	}
	b.now = b.now.Add(24 * time.Hour)
	if c := b.begin(r); c.ResultID != "req_2" || c.Answer != nil {
		t.Errorf("after a day: %+v", c)
	}
}

func TestARequestThatRunsLongKeepsItsKey(t *testing.T) {
	t.Parallel()
	b := setup(t)
	running, left := b.begin(fresh("req_1")), fresh("req_2")
	left.Key = "left"
	b.s.Leave(b.begin(left))
	for range 30 {
		b.now = b.now.Add(30 * time.Second)
		if err := b.s.Renew(t.Context()); err != nil {
			t.Fatal(err)
		}
		b.refuse(fresh("req_3"), "idempotency_in_progress")
	}
	left.ResultID = "req_4"
	if c := b.begin(left); c.ResultID != "req_4" {
		t.Errorf("a request without a live owner still has its key: %+v", c)
	}
	if err := b.s.Prepare(t.Context(), running, idempotency.Answer{Status: 200, Body: []byte("x")}); err != nil {
		t.Error(err)
	}
}
