package billing_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"umg/app"
	"umg/app/meter"
	"umg/app/postgres"
	"umg/billing"

	"github.com/jmoiron/sqlx"
)

func TestHoldAndSettleTakeTheExactCost(t *testing.T) {
	t.Parallel()
	h := setup(t)
	account := h.account(app.Dollar)
	hold := h.hold(account, 30*app.Cent)
	h.balance(account, app.Dollar, 30*app.Cent)
	if hold.Charge(4_500) != 4_500 || hold.Charge(app.Dollar) != 30*app.Cent {
		t.Errorf("charges are %d and %d", hold.Charge(4_500), hold.Charge(app.Dollar))
	}
	h.settle(hold, 4_500)
	h.balance(account, app.Dollar-4_500, 0)
	if got := h.internal("internal:usage_revenue"); got != 4_500 {
		t.Errorf("revenue = %d, want 4500", got)
	}
	entries, err := h.entries(account)
	if err != nil || len(entries) != 2 {
		t.Fatalf("entries = %v, %v", entries, err)
	}
	charge, grant := entries[0], entries[1]
	if charge.Kind != "charge" || charge.Ref != hold.ID || charge.Amount != -4_500 || charge.PostedAfter != app.Dollar-4_500 {
		t.Errorf("newest entry = %+v", charge)
	}
	if grant.Kind != "grant" || grant.Amount != app.Dollar || grant.PostedAfter != app.Dollar {
		t.Errorf("oldest entry = %+v", grant)
	}
	h.books()
}

func TestUsageRecordKeepsEveryFact(t *testing.T) {
	t.Parallel()
	h := setup(t)
	account := h.account(app.Dollar)
	hold := h.hold(account, 10*app.Cent)
	want := billing.UsageRecord{
		RequestID: hold.ID, AccountID: account, KeyID: "key_1", Model: "aurora-small", Provider: "p1", UpstreamModel: "up-1",
		Style: "chat", RateCardID: "rc_1", EndUser: "ü-user", FinishReason: "stop", ErrorCode: "none", Streamed: true, Estimated: true,
		Outcome: "client_left", Reason: "client_left", Usage: meter.Counts{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, Attempts: 2,
		ProviderCost: new(9 * app.Cent), UpstreamCost: new(8 * app.Cent), CostCardID: "cost_1", Flags: "unpriced other",
		StartedAt: time.Date(2026, 11, 21, 4, 5, 6, 789_000, time.UTC), FirstByte: 1234 * time.Microsecond, Duration: 5 * time.Second,
		Trail: billing.RequestTiming{
			Door: time.Millisecond, Body: 2 * time.Millisecond, Checked: 3 * time.Millisecond, Admitted: 4 * time.Millisecond,
			Funded: 5 * time.Millisecond, Attempts: []billing.Attempt{
				{Provider: "p0", Status: 503, Cause: "server_error", Start: 6 * time.Millisecond, Took: time.Second},
				{Provider: "p1", Status: 200, Start: 2 * time.Second, First: 3 * time.Second},
			},
		},
	}
	want.Terms = meter.Terms{At: want.StartedAt, ServiceTier: "flex", Region: "us", Speed: "fast", Size: "1280x720", Quality: "hd"}
	if err := h.ledger.SettleIn(t.Context(), h.db, hold, billing.Settlement{Cost: 11 * app.Cent, Record: want}); err != nil {
		t.Fatal(err)
	}
	want.Reserved, want.Cost, want.Overrun = 10*app.Cent, 10*app.Cent, app.Cent
	got, err := h.reports.Requests(t.Context(), account, 10)
	if err == nil && len(got) == 1 && strings.HasPrefix(got[0].TransactionID, "txn_") {
		want.TransactionID = got[0].TransactionID
	}
	if err != nil || len(got) != 1 || !reflect.DeepEqual(got[0], want) {
		t.Fatalf("requests = %+v, %v\nwant %+v", got, err, want)
	}
	if got, err := h.reports.Requests(t.Context(), h.account(0), 10); err != nil || len(got) != 0 {
		t.Errorf("another account sees %v, %v", got, err)
	}
	h.books()
}

func TestCostZeroReleasesAndPostsNothing(t *testing.T) {
	t.Parallel()
	h := setup(t)
	account := h.account(app.Dollar)
	hold := h.hold(account, app.Dollar)
	h.settle(hold, 0)
	h.balance(account, app.Dollar, 0)
	entries, err := h.entries(account)
	if err != nil || len(entries) != 1 {
		t.Errorf("entries = %v, %v; want the grant alone", entries, err)
	}
	requests, err := h.reports.Requests(t.Context(), account, 10)
	if err != nil || len(requests) != 1 || requests[0].Cost != 0 || requests[0].Reserved != app.Dollar {
		t.Errorf("requests = %+v, %v", requests, err)
	}
	h.books()
}

func TestOverrunIsBorneByThePlatform(t *testing.T) {
	t.Parallel()
	h := setup(t)
	account := h.account(app.Dollar)
	h.settle(h.hold(account, 10*app.Cent), 15*app.Cent)
	h.balance(account, 90*app.Cent, 0)
	revenue, loss := h.internal("internal:usage_revenue"), h.internal("internal:platform_loss")
	if revenue != 15*app.Cent || loss != -5*app.Cent {
		t.Errorf("revenue %d, loss %d", revenue, loss)
	}
	if got := h.ledger.Stats().Overruns; got != 1 {
		t.Errorf("overruns = %d, want 1", got)
	}
	h.books()
}

func TestFreeModelHoldsNothing(t *testing.T) {
	t.Parallel()
	h := setup(t)
	account := h.account(0)
	h.settle(h.hold(account, 0), 0)
	h.settle(h.hold(account, 0), 7)
	h.balance(account, 0, 0)
	h.books()
}

func TestWrongCallsAreInternalAndChangeNothing(t *testing.T) {
	t.Parallel()
	h := setup(t)
	account := h.account(app.Dollar)
	hold := h.hold(account, app.Cent)
	other := h.account(app.Dollar)
	past := strings.Repeat("x", 1000)
	held := func(r billing.HoldRequest) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := h.ledger.HoldFor(ctx, h.db, r, time.Hour)
			return err
		}
	}
	granted := func(g billing.Grant) func(context.Context) error {
		return func(ctx context.Context) error { return h.ledger.Grant(ctx, h.db, g) }
	}
	verbs := map[string]func(ctx context.Context) error{
		"hold of an unknown account":  held(billing.HoldRequest{ID: "req_a", AccountID: "acc_none", Want: 1}),
		"hold of an internal account": held(billing.HoldRequest{ID: "req_b", AccountID: "internal:promotions", Want: 1}),
		"hold of a negative amount":   held(billing.HoldRequest{ID: "req_c", AccountID: account, Want: -1}),
		"hold without an id":          held(billing.HoldRequest{AccountID: account, Want: 1}),
		"hold with a used id":         held(billing.HoldRequest{ID: hold.ID, AccountID: account, Want: 1}),
		"settle at a negative cost": func(ctx context.Context) error {
			return h.ledger.SettleIn(ctx, h.db, hold, billing.Settlement{Cost: -1, Record: record(hold)})
		},
		"settle another request's facts": func(ctx context.Context) error {
			return h.ledger.SettleIn(ctx, h.db, hold, billing.Settlement{Record: billing.UsageRecord{RequestID: "req_x"}})
		},
		"settle an unknown hold": func(ctx context.Context) error {
			return h.ledger.SettleIn(ctx, h.db, billing.Hold{ID: "req_none", AccountID: account, Amount: 1}, billing.Settlement{
				Cost: 1, Record: billing.UsageRecord{RequestID: "req_none"},
			})
		},
		"settle another account's hold": func(ctx context.Context) error {
			return h.ledger.SettleIn(ctx, h.db, billing.Hold{ID: hold.ID, AccountID: other, Amount: 1}, billing.Settlement{
				Cost: 1, Record: record(hold),
			})
		},
		"grant nothing":                       granted(billing.Grant{AccountID: account, Kind: billing.Trial, Source: "s"}),
		"grant a negative amount":             granted(billing.Grant{AccountID: account, Kind: billing.Trial, Amount: -1, Source: "s"}),
		"grant of no kind":                    granted(billing.Grant{AccountID: account, Kind: "gift", Amount: 1, Source: "s"}),
		"grant without a source":              granted(billing.Grant{AccountID: account, Kind: billing.Trial, Amount: 1}),
		"grant of a long source":              granted(billing.Grant{AccountID: account, Kind: billing.Trial, Amount: 1, Source: past}),
		"grant to an unknown account":         granted(billing.Grant{AccountID: "acc_none", Kind: billing.Trial, Amount: 1, Source: "s"}),
		"grant to an internal account":        granted(billing.Grant{AccountID: "internal:breakage", Kind: billing.Trial, Amount: 1, Source: "s"}),
		"grant more than an account can hold": granted(billing.Grant{AccountID: account, Kind: billing.Trial, Amount: 1 << 62, Source: "s"}),
		"balance of an unknown account": func(ctx context.Context) error {
			_, err := h.ledger.Balance(ctx, "acc_none")
			return err
		},
		"open an internal account": func(ctx context.Context) error { return h.ledger.OpenAccount(ctx, h.db, "internal:mine") },
	}
	for name, verb := range verbs {
		if err := verb(t.Context()); err == nil || app.KindOf(err) != app.Internal {
			t.Errorf("%s: %v, want an internal error", name, err)
		}
	}
	h.balance(account, app.Dollar, app.Cent)
	h.balance(other, app.Dollar, 0)
	h.books()
}

func TestAStoreThatIsFullIsUnavailable(t *testing.T) {
	t.Parallel()
	h := setup(t)
	account := h.account(app.Dollar)
	hold := h.hold(account, 10)
	h.exec(`create function hinder() returns trigger language plpgsql as $$ begin return new; end $$`)
	h.exec(`create trigger hinder before update on holds for each row execute function hinder()`)
	for _, state := range []string{"53100", "53200", "40P01", "40001", "55P03", "58030", "57014"} {
		h.exec(`create or replace function hinder() returns trigger language plpgsql as
			$$ begin raise exception 'hindered' using errcode = '` + state + `'; end $$`)
		err := h.ledger.SettleIn(t.Context(), h.db, hold, billing.Settlement{Cost: 1, Record: record(hold)})
		if err == nil || app.KindOf(err) != app.Unavailable {
			t.Errorf("%s: %v", state, err)
		}
	}
}

func TestSettleAcceptsWhateverPeopleAndUpstreamsWrite(t *testing.T) {
	t.Parallel()
	h := setup(t)
	account := h.account(app.Dollar)
	for _, text := range []string{"\x00", "a\x00b", "\xff\xfe", `\u0000`, `"}{`, strings.Repeat("ü", 5_000), "😀\u2028"} {
		hold := h.hold(account, app.Cent)
		r := billing.UsageRecord{
			RequestID: hold.ID, KeyID: text, Model: text, Provider: text, UpstreamModel: text, Style: text, RateCardID: text, EndUser: text,
			FinishReason: text, ErrorCode: text, Outcome: text, Attempts: -1, FirstByte: -time.Second, Duration: -time.Second,
			Usage: meter.Counts{-5}, StartedAt: time.Time{},
		}
		if err := h.ledger.SettleIn(t.Context(), h.db, hold, billing.Settlement{Cost: 1, Record: r}); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
	h.balance(account, app.Dollar-7, 0)
	requests, err := h.reports.Requests(t.Context(), account, 10)
	if err != nil || len(requests) != 7 {
		t.Fatalf("%d requests, %v", len(requests), err)
	}
	for _, r := range requests {
		if len(r.EndUser) > 512 || r.Usage[meter.InputTokens] != 0 || r.Duration != 0 || time.Since(r.StartedAt) > time.Minute {
			t.Errorf("kept %+v", r)
		}
	}
	h.books()
}

func TestGrantHappensOncePerSource(t *testing.T) {
	t.Parallel()
	h := setup(t)
	account := h.account(0)
	g := billing.Grant{
		AccountID: account, Kind: billing.Trial, Amount: app.Dollar,
		Source: "trial:" + account, Reason: "welcome", Operator: "ops@example.com",
	}
	results := make(chan error, 20)
	for range cap(results) {
		go func() { results <- h.ledger.Grant(t.Context(), h.db, g) }()
	}
	granted := 0
	for range cap(results) {
		switch err := <-results; {
		case err == nil:
			granted++
		case !errors.Is(err, billing.ErrGrantExists):
			t.Error(err)
		}
	}
	if granted != 1 {
		t.Errorf("%d of %d grants from one source went through", granted, cap(results))
	}
	h.balance(account, app.Dollar, 0)
	entries, err := h.entries(account)
	if err != nil || len(entries) != 1 || entries[0].Reason != "welcome" || entries[0].Ref != g.Source {
		t.Errorf("entries = %+v, %v", entries, err)
	}
	h.books()
}

func TestGrantJoinsTheCallersTransaction(t *testing.T) {
	t.Parallel()
	h := setup(t)
	id := h.ids.New("acc")
	refused := errors.New("refused")
	err := postgres.InTx(t.Context(), h.db, func(tx *sqlx.Tx) error {
		if err := h.ledger.OpenAccount(t.Context(), tx, id); err != nil {
			return err
		}
		if err := h.ledger.Grant(t.Context(), tx, billing.Grant{AccountID: id, Kind: billing.Trial, Amount: 5, Source: "t"}); err != nil {
			return err
		}
		return refused
	})
	if !errors.Is(err, refused) {
		t.Fatal(err)
	}
	if b, err := h.ledger.Balance(t.Context(), id); err == nil {
		t.Errorf("a rolled-back account has %+v", b)
	}
	h.books()
}

func TestGrantsAreDrawnInOrder(t *testing.T) {
	t.Parallel()
	h := setup(t)
	account := h.account(0)
	in := func(d time.Duration) *time.Time { at := time.Now().Add(d); return &at }
	for _, g := range []billing.Grant{
		{Source: "6 paid", Kind: billing.Purchased},
		{Source: "4 promo", Kind: billing.Promotional},
		{Source: "5 paid, 2 days", Kind: billing.Purchased, ExpiresAt: in(48 * time.Hour)},
		{Source: "2 trial, 1 day", Kind: billing.Trial, ExpiresAt: in(24 * time.Hour)},
		{Source: "7 paid, younger", Kind: billing.Purchased},
		{Source: "3 promo, 9 days", Kind: billing.Adjustment, ExpiresAt: in(216 * time.Hour)},
		{Source: "1 urgent", Kind: billing.Adjustment, ExpiresAt: in(1000 * time.Hour)},
	} {
		g.AccountID, g.Amount = account, 10
		h.grant(g)
	}
	h.exec(`update grants set priority = 5 where source = '1 urgent'`)
	for spent := range 7 {
		h.settle(h.hold(account, 10), 10)
		var left []string
		err := h.db.SelectContext(t.Context(), &left, `select source from grants where remaining_nanos > 0 order by source`)
		if err != nil || len(left) != 6-spent || (len(left) > 0 && left[0][0] != byte('2'+spent)) {
			t.Errorf("after %d draws: %v left, %v", spent+1, left, err)
		}
	}
	h.books()
}
