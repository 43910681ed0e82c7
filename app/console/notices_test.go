package console_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"umg/app"
	"umg/app/catalog"
	"umg/app/console"
	"umg/app/notification"
	"umg/app/postgres/pgtest"
	"umg/app/provider"
	"umg/app/provider/health"
	"umg/app/simulator"
)

var noteID = regexp.MustCompile(`name="id" value="([^"]+)"`)

func TestAFrozenAccountIsANoticeThatCountsUntilItIsRead(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	h := newFixture(t, db, db, nil, func(o *console.Options) { o.Notifications = notification.New(db, time.Now) })
	p := h.signedIn("told@example.com")
	if _, err := db.Exec(`update accounts set frozen_at = now(), frozen_reason = 'A payment is disputed.'`); err != nil {
		t.Fatal(err)
	}
	a := p.see("/console/notifications")
	id := noteID.FindStringSubmatch(a.body)
	if a.status != http.StatusOK || id == nil || !strings.Contains(a.body, "The account is frozen") || !strings.Contains(a.body, "1 unread") {
		t.Fatalf("%d: no notice of the frozen account", a.status)
	}
	if a := p.send("/console/notifications/read", url.Values{"id": {id[1]}}); a.status != http.StatusSeeOther {
		t.Fatalf("read: %d %s", a.status, a.body)
	}
	if a := p.see("/console/notifications"); strings.Contains(a.body, "unread") || !strings.Contains(a.body, "The account is frozen") {
		t.Error("a notice that was read counts, or is gone")
	}
}

func TestHowToHearOfEventsIsKept(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	h := newFixture(t, db, db, nil, func(o *console.Options) { o.Notifications = notification.New(db, time.Now) })
	p := h.signedIn("chooser@example.com")
	if a := p.send("/console/settings/notifications", url.Values{"mail": {"webhook", "video", "price"}, "console": {"key_expiry", "price"}}); a.status != http.StatusSeeOther {
		t.Fatalf("%d %s", a.status, a.body)
	}
	a := p.see("/console/settings/notifications")
	for box, on := range map[string]bool{"mail-webhook": true, "mail-low_balance": false, "console-webhook": false, "console-key_expiry": true,
		"mail-key_expiry": false, "mail-video": true, "console-video": false, "mail-price": true, "console-price": true, "mail-model": false, "console-model": false} {
		tag := regexp.MustCompile(`<input[^>]*id="notify-` + box + `"[^>]*>`).FindString(a.body)
		if tag == "" || strings.Contains(tag, "checked") != on {
			t.Errorf("%s: %q, want ticked: %v", box, tag, on)
		}
	}
}

// notices are the page and the ids of the notices that the page shows.
func (p *person) notices() (body string, ids []string) {
	p.t.Helper()
	a := p.see("/console/notifications")
	if a.status != http.StatusOK {
		p.t.Fatalf("notices: %d", a.status)
	}
	for _, found := range noteID.FindAllStringSubmatch(a.body, -1) {
		ids = append(ids, found[1])
	}
	return a.body, ids
}

func TestCreditThatRunsOutAgainIsToldOfAgain(t *testing.T) {
	t.Parallel()
	h := withPayments(t)
	p := h.signedIn("spender@example.com")
	owner := h.accountOf("spender@example.com")
	at, session := h.order(p, "10")
	h.paid(p, at, session)
	if body, _ := p.notices(); !strings.Contains(body, "A top-up was paid") || !strings.Contains(body, `href="`+at+`"`) {
		t.Error("a top-up that was paid is not told of, or does not lead to its page")
	}
	used := func() string {
		t.Helper()
		_, ids := p.notices()
		for _, id := range ids {
			if strings.HasPrefix(id, "used_up/") {
				return id
			}
		}
		t.Fatalf("credit that is used up is not told of: %v", ids)
		return ""
	}
	spend(t, h.ledger, h.db, owner, "meridian/atlas-small", 15*app.Dollar)
	first := used()
	p.send("/console/notifications/read", url.Values{"id": {first}})
	if body, _ := p.notices(); strings.Contains(body, `name="id" value="used_up`) && strings.Contains(body, "2 unread") {
		t.Error("what was read counts")
	}
	at, session = h.order(p, "10")
	h.paid(p, at, session)
	spend(t, h.ledger, h.db, owner, "meridian/atlas-small", 10*app.Dollar)
	if second := used(); second == first {
		t.Errorf("credit that ran out again is taken for read: %s", second)
	}
}

func TestAnEndpointThatIsDisabledIsANoticeWhateverIsMailed(t *testing.T) {
	t.Parallel()
	h := withHooks(t)
	p := h.signedIn("hooked@example.com")
	at, _ := h.endpoint(p)
	p.send("/console/settings/notifications", url.Values{"console": {"webhook"}})
	h.answer.Store(http.StatusGone)
	h.emit("video_1")
	body, ids := p.notices()
	if len(ids) != 1 || !strings.HasPrefix(ids[0], "hook_off/") || !strings.Contains(body, `href="`+at+`"`) || !strings.Contains(body, "is disabled") {
		t.Errorf("an endpoint that is gone is not told of: %v", ids)
	}
	p.send("/console/settings/notifications", url.Values{"mail": {"webhook"}})
	if _, ids := p.notices(); len(ids) != 0 {
		t.Errorf("notices that are switched off for the console are there: %v", ids)
	}
}

func TestAKeyNearItsBudgetIsANotice(t *testing.T) {
	t.Parallel()
	h := withPayments(t)
	p := h.signedIn("near@example.com")
	id, _ := madeKey(t, p, url.Values{"name": {"Nearly"}, "mode": {"documented"}, "budget": {"1"}})
	for _, one := range []struct{ spent, want string }{{"799999999", ""}, {"800000000", "budget_80/" + id}, {"1000000000", "budget/" + id}} {
		h.db.MustExec(`update credit_accounts set posted_nanos = 1000000000 - $2::bigint where id = $1`, id, one.spent)
		h.db.MustExec(`update key_budgets set spent_nanos = $2::bigint where key_id = $1`, id, one.spent)
		if _, ids := p.notices(); one.want == "" && len(ids) != 0 || one.want != "" && (len(ids) != 1 || !strings.HasPrefix(ids[0], one.want)) {
			t.Errorf("at %s: %v, want %q", one.spent, ids, one.want)
		}
	}
}

func TestAKeyFromANewNetworkIsANoticeAndOfPoorHealth(t *testing.T) {
	t.Parallel()
	h := withPayments(t)
	p := h.signedIn("roaming@example.com")
	id, _ := madeKey(t, p, url.Values{"name": {"Roaming"}, "mode": {"documented"}})
	account := h.accountOf("roaming@example.com")
	for network, news := range map[string]bool{"198.51.100.0/24": false, "203.0.113.0/24": true} {
		h.db.MustExec(`insert into key_networks values ($1, $2, $3, $4, $4, $5)`, id, account, network, time.Now(), news)
	}
	if body, ids := p.notices(); len(ids) != 1 || !strings.HasPrefix(ids[0], "network/"+id+"/203.0.113.0/24/") || !strings.Contains(body, "new network") {
		t.Errorf("notices %v", ids)
	}
	const said = "Used from a new network 203.0.113.0/24, "
	has(t, "the list", p.see("/console/keys?health=network"), 200, "Roaming", said)
	has(t, "the key", p.see("/console/keys/"+id), 200, said, "rotate the key")
}

func TestTheStripNamesModelsWhoseProvidersFail(t *testing.T) {
	t.Parallel()
	watch := health.New(health.Options{Now: time.Now, Random: func(int) int { return 0 }})
	var models *catalog.Catalog
	h := withUpstream(t, simulator.New(simulator.Options{}), func(o *console.Options) { o.Health, models = watch, o.Catalog })
	p := h.signedIn("watcher@example.com")
	if a := p.see("/console/settings"); strings.Contains(a.body, "status-strip") {
		t.Error("there is a strip while all is well")
	}
	m, _ := models.Snapshot().Model("meridian/atlas-small")
	for i := range m.Routes {
		const triesMax = 100
		for range triesMax {
			if try, block := watch.Begin(&m.Routes[i], false); block == "" {
				try.End(&provider.Fault{Class: provider.ClassServer}, time.Millisecond)
			}
		}
	}
	if a := p.see("/console/settings"); !strings.Contains(a.body, "status-strip") || !strings.Contains(a.body, "/console/models/meridian/atlas-small") {
		t.Error("a model that fails is not named")
	}
}

// TestCreditThatNeverWasIsNotUsedUp opens an account without a trial: nothing says that its credit is used up, before it has had
// any.
func TestCreditThatNeverWasIsNotUsedUp(t *testing.T) {
	t.Parallel()
	h := withPayments(t)
	p := h.signedIn("newcomer@example.com")
	a := p.send("/console/account/new", url.Values{"name": {"Second"}})
	if a.status != http.StatusSeeOther {
		t.Fatalf("a second account: %d %s", a.status, a.body)
	}
	for _, path := range []string{"/console", "/console/billing", "/console/notifications"} {
		a := p.see(path)
		if a.status != http.StatusOK || strings.Contains(strings.ToLower(a.body), "used up") || !strings.Contains(a.body, "no credit yet") {
			t.Errorf("%s of an account that never had credit: %d", path, a.status)
		}
	}
}
