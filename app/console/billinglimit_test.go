package console_test

import (
	"crypto/rand"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"umg/app"
	"umg/app/account"
	"umg/app/console"
	"umg/app/notification"
	"umg/app/postgres/pgtest"
	"umg/billing"
)

func TestTheSpendLimitIsSetAndShownWhereItCounts(t *testing.T) {
	t.Parallel()
	h := withPayments(t)
	p := h.signedIn("limits@example.com")
	owner := h.accountOf("limits@example.com")
	has(t, "none", p.see("/console/billing"), 200, "Spend limit", "No limit")
	for fault, form := range map[string]url.Values{
		"Write dollars with a point": {"limit": {"a lot"}, "period": {"month"}}, "more than $0": {"limit": {"0"}, "period": {"day"}},
		"A spend limit is for one of": {"limit": {"5"}, "period": {"total"}},
	} {
		has(t, fault, p.send("/console/billing/limit", form), 422, fault)
	}
	set := func(limit, period string) reply {
		t.Helper()
		if a := p.send("/console/billing/limit", url.Values{"limit": {limit}, "period": {period}}); a.status != http.StatusSeeOther {
			t.Errorf("a limit of %q: %d", limit, a.status)
		}
		return p.see("/console/billing")
	}
	has(t, "set", set("$2.50", "month"), 200,
		"spends at most $2.50 a month", " of $2.50 spent this month")
	spend(t, h.ledger, h.db, owner, "meridian/atlas-small", 2*app.Dollar)
	has(t, "the chart", p.see("/console/usage?range=month"), 200, "Against the spend limit of a month", "of which $2.00 is spent", "Of the limit of $2.50")
	if _, ids := p.notices(); len(ids) != 1 || !strings.HasPrefix(ids[0], "limit_near/") {
		t.Errorf("a limit that is nearly spent is not told of: %v", ids)
	}
	_, err := h.ledger.HoldFor(t.Context(), h.db, billing.HoldRequest{ID: "vid_1", AccountID: owner, Want: app.Dollar}, time.Hour)
	if app.AsError(err).Code != "spend_limit_exceeded" {
		t.Errorf("past the limit: %v", err)
	}
	has(t, "off", set("2.50", ""), 200, "has no spend limit")
}

func TestACodeAddsCreditThatTheLedgerNames(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	h := newFixture(t, db, db, nil)
	p := h.signedIn("promo@example.com")
	ids, log := app.IDs{Now: time.Now, Random: rand.Reader}, slog.New(slog.DiscardHandler)
	ledger := billing.NewLedger(db, billing.Options{Now: time.Now, IDs: ids, Log: log})
	people := account.New(db, ledger, account.Options{Now: time.Now, IDs: ids, Random: rand.Reader, Log: log})
	if _, err := people.CreatePromo(t.Context(), account.Promo{
		Code: "WELCOME2027", Amount: 12 * app.Dollar, Times: 1, Days: 10, ExpiresAt: time.Now().Add(time.Hour),
	}); err != nil {
		t.Fatal(err)
	}
	has(t, "a wrong code", p.send("/console/billing/promo", url.Values{"code": {"WELCOME2028"}}), 422, "There is no such code", `value="WELCOME2028"`)
	has(t, "redeemed", p.after(p.send("/console/billing/promo", url.Values{"code": {"welcome-2027"}})), 200, "$12.00 of credit was added, to be spent by ")
	has(t, "again", p.send("/console/billing/promo", url.Values{"code": {"WELCOME2027"}}), 422, "redeemed the code already")
	has(t, "the ledger", p.see("/console/billing/ledger"), 200, "+$12.00", "promotion code WELCOME2027")
	has(t, "another account", h.signedIn("late@example.com").send("/console/billing/promo", url.Values{"code": {"WELCOME2027"}}), 422, "as often as it can be")
}

// isViewless insists on a page without saved views.
func isViewless(t *testing.T, a reply) {
	t.Helper()
	if a.status != http.StatusOK || !strings.Contains(a.body, "Save this view as") || strings.Contains(a.body, "/console/views/delete") {
		t.Errorf("%d, or the page has saved views", a.status)
	}
}

func TestViewsAreSavedAsThePageWritesThem(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	h := newFixture(t, db, db, nil, func(o *console.Options) { o.Notifications = notification.New(db, time.Now) })
	p := h.signedIn("saver@example.com")
	has(t, "none", p.see("/console/usage?by=key"), 200, "Save this view as", `name="query" value="by=key"`)
	isViewless(t, p.see("/console/usage"))
	save := url.Values{"page": {"usage"}, "name": {"By <b>key</b>"}, "query": {"by=key&range=7d&evil=javascript:1&metric=nonsense"}}
	has(t, "saved", p.after(p.send("/console/views", save)), 200, "The view is saved.", `href="/console/usage?by=key"`, "By &lt;b&gt;key&lt;/b&gt;", `aria-current="true"`)
	has(t, "of requests", p.after(p.send("/console/views", url.Values{"page": {"requests"}, "name": {"Failed"}, "query": {"outcome=failed&after=x"}})), 200,
		`href="/console/requests?outcome=failed"`)
	has(t, "renamed", p.after(p.send("/console/views/rename", url.Values{"page": {"usage"}, "view": {"By <b>key</b>"}, "name": {"Keys"}})), 200, "new name", ">Keys<")
	has(t, "nameless", p.after(p.send("/console/views", url.Values{"page": {"usage"}, "name": {" "}})), 200, "Give the view a name.")
	if a := p.send("/console/views", url.Values{"page": {"https://evil.example"}, "name": {"x"}}); a.status != http.StatusNotFound {
		t.Errorf("a view of no page: %d", a.status)
	}
	isViewless(t, h.signedIn("other@example.com").see("/console/usage"))
	has(t, "deleted", p.after(p.send("/console/views/delete", url.Values{"page": {"usage"}, "view": {"Keys"}})), 200, "The view is deleted.")
	isViewless(t, p.see("/console/usage"))
}
