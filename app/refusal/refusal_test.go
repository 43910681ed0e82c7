package refusal

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/app/apptest"
	"umg/app/postgres/pgtest"
)

// fixture is a log over its own test database, with a clock that the test moves.
type fixture struct {
	*Log

	db  *sqlx.DB
	now time.Time
}

func setup(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{db: pgtest.New(t), now: time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)}
	f.Log = New(f.db, Options{
		Now: func() time.Time { return f.now }, Log: slog.New(slog.DiscardHandler), Kept: 24 * time.Hour,
		Owner: func(_ context.Context, secret string) (string, string, bool) {
			return "acct_1", "key_1", secret == "known"
		},
	})
	return f
}

// refuse records one refusal and lets a little time pass.
func (f *fixture) refuse(id, account, code string, pause time.Duration) {
	f.Record(Record{RequestID: id, AccountID: account, At: f.now, Method: "POST", Route: "/v1/chat/completions", Status: 429, Code: code})
	f.now = f.now.Add(pause)
}

// rows are how many rows an account has of a code, and how many refusals they stand for.
func (f *fixture) rows(t *testing.T, account, code string) (rows, represented int) {
	t.Helper()
	apptest.Must(t, f.db.QueryRow(`select count(*), coalesce(sum(represents), 0) from refusals where account_id = $1 and code = $2`,
		account, code).Scan(&rows, &represented))
	return rows, represented
}

func TestAFloodHasFewRowsThatCountAllOfIt(t *testing.T) {
	t.Parallel()
	f := setup(t)
	for i := range 10_000 { // within 50 seconds
		f.refuse(fmt.Sprint("req_", i), "acct_1", "rate_limit_exceeded", 5*time.Millisecond)
		if i%50 == 0 {
			apptest.Must(t, f.flush(t.Context(), false))
		}
	}
	f.refuse("req_other", "acct_2", "rate_limit_exceeded", 0)
	f.refuse("req_code", "acct_1", "insufficient_quota", 0)
	f.now = f.now.Add(sampleEvery)
	apptest.Must(t, f.flush(t.Context(), false))
	rows, represented := f.rows(t, "acct_1", "rate_limit_exceeded")
	t.Logf("%d rows stand for %d refusals", rows, represented)
	if rows > 100 || rows < eachPerMinute || represented != 10_000 {
		t.Errorf("%d rows stand for %d refusals", rows, represented)
	}
	for account, code := range map[string]string{"acct_2": "rate_limit_exceeded", "acct_1": "insufficient_quota"} {
		if rows, represented := f.rows(t, account, code); rows != 1 || represented != 1 {
			t.Errorf("%s, %s: %d rows stand for %d refusals", account, code, rows, represented)
		}
	}
	if s := f.Stats(); s.Written != 10_002 || s.Dropped != 0 {
		t.Errorf("%+v", s)
	}
}

func TestNoMinuteOfALongFloodHasMoreThanAHundredRows(t *testing.T) {
	t.Parallel()
	f := setup(t)
	for i := range 6000 { // ten minutes
		f.refuse(fmt.Sprint("req_", i), "acct_1", "overloaded", 100*time.Millisecond)
		if i%5 == 0 {
			apptest.Must(t, f.flush(t.Context(), false))
		}
	}
	apptest.Must(t, f.flush(t.Context(), true))
	var most int
	apptest.Must(t, f.db.Get(&most, `select max(n) from (select count(*) as n from refusals group by date_trunc('minute', at)) m`))
	if rows, represented := f.rows(t, "acct_1", "overloaded"); most > 100 || rows < 10*eachPerMinute || represented != 6000 {
		t.Errorf("%d rows, %d in one minute, stand for %d refusals", rows, most, represented)
	}
}

func TestWaitingRefusalsAreBoundedAndTheRestIsCounted(t *testing.T) {
	t.Parallel()
	f := setup(t)
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			for n := range subjectsMax {
				f.Record(Record{RequestID: fmt.Sprint("req_", i, "_", n), AccountID: fmt.Sprint("acct_", i, "_", n), Code: "x", Status: 400, At: f.now})
			}
		})
	}
	all.Wait()
	for i := range 2 * unknownMax {
		f.Record(Record{RequestID: fmt.Sprint("req_u", i), Secret: "unknown", Code: "invalid_api_key", Status: 401, At: f.now})
	}
	f.Record(Record{RequestID: "req_none", Code: "invalid_api_key", Status: 401, At: f.now})
	if len(f.pending) != pendingMax || len(f.unknown) != unknownMax || f.Stats().Dropped != 3*subjectsMax+unknownMax {
		t.Errorf("%d and %d wait, %+v", len(f.pending), len(f.unknown), f.Stats())
	}
	apptest.Must(t, f.flush(t.Context(), false))
	if s := f.Stats(); s.Written != pendingMax {
		t.Errorf("%+v", s)
	}
	f.now = f.now.Add(2 * time.Minute)
	apptest.Must(t, f.flush(t.Context(), false))
	if len(f.subjects) != 0 {
		t.Errorf("%d subjects are remembered", len(f.subjects))
	}
}

func TestOnlySecretsOfKeysAreRecorded(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.Record(Record{RequestID: "req_1", Secret: "known", Code: "not_found", Status: 404, At: f.now})
	f.Record(Record{RequestID: "req_2", Secret: "stranger", Code: "invalid_api_key", Status: 401, At: f.now})
	apptest.Must(t, f.flush(t.Context(), false))
	var row string
	apptest.Must(t, f.db.Get(&row, `select string_agg(request_id || account_id || key_id, ',') from refusals`))
	if row != "req_1acct_1key_1" {
		t.Error(row)
	}
}

func TestRowsWaitWhileTheDatabaseIsAwayAndGoWhenTheyAreOld(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.refuse("req_1", "acct_1", "not_found", 0)
	away, cancel := context.WithCancel(t.Context())
	cancel()
	if err := f.flush(away, false); err == nil || len(f.pending) != 1 || f.Stats().Dropped != 0 {
		t.Fatalf("%v, %d wait", err, len(f.pending))
	}
	apptest.Must(t, f.flush(t.Context(), false))
	if _, err := f.sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if rows, _ := f.rows(t, "acct_1", "not_found"); rows != 1 {
		t.Fatalf("%d rows", rows)
	}
	f.now = f.now.Add(25 * time.Hour)
	if _, err := f.sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if rows, _ := f.rows(t, "acct_1", "not_found"); rows != 0 {
		t.Errorf("%d rows are left", rows)
	}
}

func TestMessagesLeaveOutWhatTheyRepeatOfTheRequest(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ message, param, model, want string }{
		{`temperature must be a number from 0 to 2, not "hot secret".`, "temperature", "", `temperature must be a number from 0 to 2, not "…".`},
		{`The model "acme/my \"prompt\"" is unknown.`, "model", "", `The model "…" is unknown.`},
		{`The field "stop" is not supported by "acme/one".`, "stop", "acme/one", `The field "stop" is not supported by "acme/one".`},
		{`url must be an address, not "https://exam`, "url", "", `url must be an address, not "…"`},
		{`The file at https://me:pass@example.com/x is too large.`, "url", "", `The file at … is too large.`},
		{`jane@example.com is no member.`, "email", "", `… is no member.`},
		{`The key “mine” is too long.`, "", "", `The key "…" is too long.`},
		{`Nothing to hide.`, "", "", `Nothing to hide.`},
		{`"`, "", "", `"…"`},
	} {
		r := Record{Message: c.message, Param: c.param, Model: c.model}
		if r.storable(); r.Message != c.want {
			t.Errorf("%s\nis stored as %s\nwant         %s", c.message, r.Message, c.want)
		}
	}
	r := Record{Param: "my secret member", Message: strings.Repeat("é", 500), Code: "a\x00b", Status: 200, Secret: "s"}
	if r.storable(); r.Param != "" || len(r.Message) != messageBytesMax || r.Code != "error" || r.Status != 500 || r.Secret != "" || r.Represents != 1 {
		t.Errorf("%+v", r)
	}
}

// BenchmarkRecord is what recording adds to the answer to a refused request, in a flood of one account.
func BenchmarkRecord(b *testing.B) {
	f := &fixture{now: time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)}
	f.Log = &Log{o: Options{Now: func() time.Time { return f.now }}, subjects: map[subject]*minuteCount{}}
	r := Record{RequestID: "req_01", AccountID: "acct_1", At: f.now, Method: "POST", Status: 429, Code: "rate_limit_exceeded", Message: "Too many."}
	b.ReportAllocs()
	for b.Loop() {
		f.Record(r)
	}
}
