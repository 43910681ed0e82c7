package traffic

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
	one, other := NewRecentCalls(db, clock, slog.New(slog.DiscardHandler)), NewRecentCalls(db, clock, slog.New(slog.DiscardHandler))
	swept := now
	write := func(l *RecentCalls) {
		t.Helper()
		if err := l.flush(t.Context(), &swept); err != nil {
			t.Fatal(err)
		}
	}
	one.Record(RecentCall{At: now, AccountID: "acct_1", IP: "203.0.113.7", RequestID: "req_1", Refused: true, Status: 402, Code: "insufficient_quota"})
	one.Record(RecentCall{At: now.Add(time.Second), AccountID: "acct_1", RequestID: "req_2", Refused: true, Status: 404, Code: "model_not_found"})
	one.Record(RecentCall{At: now, AccountID: "acct_1", RequestID: "req_3", Route: "/v1/models", Status: 200, Model: strings.Repeat("m", 500)})
	one.Record(RecentCall{At: now, IP: "203.0.113.7", RequestID: "req_4", Refused: true, Status: 401, Code: "invalid_api_key", Model: "a\x00b"})
	one.Record(RecentCall{At: now, AccountID: "acct_2", RequestID: "req_5", Refused: true})
	write(one)
	other.Record(RecentCall{At: now.Add(-time.Second), AccountID: "acct_1", RequestID: "req_late", Refused: true}) // The call is written late.
	write(other)

	calls, err := other.List(t.Context(), "acct_1", "203.0.113.7", now)
	if err != nil || len(calls) != 3 || calls[0].RequestID != "req_2" || calls[0].Code != "model_not_found" || calls[0].AccountID != "acct_1" {
		t.Fatalf("%+v, %v", calls, err)
	}
	for _, c := range calls {
		if (c.AccountID == "") != (c.Code == "invalid_api_key") || c.Model != "" {
			t.Errorf("%+v", c)
		}
	}
	if calls, err := one.List(t.Context(), "acct_3", "203.0.113.8", now); err != nil || len(calls) != 0 {
		t.Errorf("another address gets %+v, %v", calls, err)
	}
	now = now.Add(callsKeptFor + time.Minute)
	write(one)
	if calls, err := one.List(t.Context(), "acct_1", "", time.Time{}); err != nil || len(calls) != 0 {
		t.Errorf("kept after its time: %+v, %v", calls, err)
	}
}

func TestOnlySoManyCallsWaitToBeWritten(t *testing.T) {
	t.Parallel()
	l := NewRecentCalls(nil, time.Now, nil)
	for i := range 2 * pendingCallsMax {
		l.Record(RecentCall{IP: fmt.Sprint(i)})
	}
	for i := range 2 * pendingCallsMax {
		l.Record(RecentCall{AccountID: fmt.Sprint(i)})
	}
	l.Record(RecentCall{IP: "0", Code: "newest"})
	taken, strangers := l.takePending(), 0
	for p := range taken {
		if strings.HasPrefix(p.subject, "ip:") {
			strangers++
		}
	}
	if len(taken) != pendingCallsMax || strangers != pendingAddressesMax || taken[pendingKey{"ip:0", false}].Code != "newest" {
		t.Errorf("%d wait, %d of them of addresses", len(taken), strangers)
	}
	l.Record(RecentCall{IP: "1"})
	if taken := l.takePending(); len(taken) != 1 {
		t.Error("calls with unknown keys are not recorded any more")
	}
	if taken := l.takePending(); taken != nil {
		t.Errorf("%d wait still", len(taken))
	}
}
