package arrival

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"umg/app/postgres/pgtest"
)

func TestTheLatestCallOfEachSubjectIsToldOnEveryReplica(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	now := time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)
	clock := func() time.Time { return now }
	one, other := New(db, clock, slog.New(slog.DiscardHandler)), New(db, clock, slog.New(slog.DiscardHandler))
	swept := now
	write := func(l *Log) {
		t.Helper()
		if err := l.flush(t.Context(), &swept); err != nil {
			t.Fatal(err)
		}
	}
	one.Record(Call{At: now, AccountID: "acct_1", IP: "203.0.113.7", RequestID: "req_1", Refused: true, Status: 402, Code: "insufficient_quota"})
	one.Record(Call{At: now.Add(time.Second), AccountID: "acct_1", RequestID: "req_2", Refused: true, Status: 404, Code: "model_not_found"})
	one.Record(Call{At: now, AccountID: "acct_1", RequestID: "req_3", Route: "/v1/models", Status: 200, Model: strings.Repeat("m", 500)})
	one.Record(Call{At: now, IP: "203.0.113.7", RequestID: "req_4", Refused: true, Status: 401, Code: "invalid_api_key", Model: "a\x00b"})
	one.Record(Call{At: now, AccountID: "acct_2", RequestID: "req_5", Refused: true})
	write(one)
	other.Record(Call{At: now.Add(-time.Second), AccountID: "acct_1", RequestID: "req_late", Refused: true}) // was slow to be written
	write(other)

	calls, err := other.RecentCalls(t.Context(), "acct_1", "203.0.113.7", now)
	if err != nil || len(calls) != 3 || calls[0].RequestID != "req_2" || calls[0].Code != "model_not_found" || calls[0].AccountID != "acct_1" {
		t.Fatalf("%+v, %v", calls, err)
	}
	for _, c := range calls {
		if (c.AccountID == "") != (c.Code == "invalid_api_key") || c.Model != "" {
			t.Errorf("%+v", c)
		}
	}
	if calls, err := one.RecentCalls(t.Context(), "acct_3", "203.0.113.8", now); err != nil || len(calls) != 0 {
		t.Errorf("another address gets %+v, %v", calls, err)
	}
	now = now.Add(keptFor + time.Minute)
	write(one)
	if calls, err := one.RecentCalls(t.Context(), "acct_1", "", time.Time{}); err != nil || len(calls) != 0 {
		t.Errorf("kept for ever: %+v, %v", calls, err)
	}
}

func TestOnlySoManyCallsWaitToBeWritten(t *testing.T) {
	t.Parallel()
	l := New(nil, time.Now, nil)
	for i := range 2 * pendingMax {
		l.Record(Call{IP: fmt.Sprint(i)})
	}
	for i := range 2 * pendingMax {
		l.Record(Call{AccountID: fmt.Sprint(i)})
	}
	l.Record(Call{IP: "0", Code: "newest"})
	taken, strangers := l.take(), 0
	for p := range taken {
		if strings.HasPrefix(p.subject, "ip:") {
			strangers++
		}
	}
	if len(taken) != pendingMax || strangers != strangersMax || taken[place{"ip:0", false}].Code != "newest" {
		t.Errorf("%d wait, %d of them of addresses", len(taken), strangers)
	}
	l.Record(Call{IP: "1"})
	if taken := l.take(); len(taken) != 1 {
		t.Error("calls with unknown keys are not recorded any more")
	}
	if taken := l.take(); taken != nil {
		t.Errorf("%d wait still", len(taken))
	}
}
