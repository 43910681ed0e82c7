package audit_test

import (
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/apptest"
	"umg/app/audit"
	"umg/app/postgres"
	"umg/app/postgres/pgtest"
)

// bench is a log over a real store, with a time that moves a second with every look at it.
type bench struct {
	*testing.T
	db  *sqlx.DB
	log *audit.Log

	mu  sync.Mutex
	now time.Time
}

func (b *bench) clock() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.now = b.now.Add(time.Second)
	return b.now
}

func setup(t *testing.T) *bench {
	t.Helper()
	b := &bench{T: t, db: pgtest.New(t), now: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)}
	b.log = audit.New(b.db, b.clock, app.IDs{Now: b.clock, Random: rand.Reader})
	b.db.MustExec(`insert into accounts (id, created_at) values ('acct_a', now()), ('acct_b', now())`)
	b.db.MustExec(`insert into users (id, email, password_hash, created_at) values ('user_1', 'ann@example.com', '', now())`)
	for id, account := range map[string]string{"key_a": "acct_a", "key_b": "acct_b"} {
		hash := make([]byte, 32)
		_, _ = rand.Read(hash)
		b.db.MustExec(`insert into api_keys (id, account_id, secret_hash, name, prefix, last_four, env, error_mode, models, concurrency, scopes, created_at)
			values ($1, $2, $3, 'Night job', 'sk-umg-a', 'abcd', 'live', 'standard', '{}', 0, '{management}', now())`, id, account, hash)
	}
	return b
}

var ann = app.Principal{
	AccountID: "acct_a", UserID: "user_1", From: app.Origin{IP: "192.0.2.7", Agent: "Firefox", RequestID: "req_1"},
}

func (b *bench) write(p app.Principal, e audit.Event) {
	b.Helper()
	b.must(postgres.InTx(b.Context(), b.db, func(tx *sqlx.Tx) error { return b.log.Write(b.Context(), tx, p, e) }))
}

func (b *bench) must(err error) {
	b.Helper()
	apptest.Must(b, err)
}

func (b *bench) list(account string, f audit.Filter) audit.Page {
	b.Helper()
	if f.Limit == 0 {
		f.Limit = 100
	}
	page, err := b.log.List(b.Context(), account, f)
	b.must(err)
	return page
}

func objects(list []audit.Entry) string {
	var out []string
	for _, e := range list {
		out = append(out, e.Object)
	}
	return strings.Join(out, " ")
}

func TestAnEntrySaysWhoDidWhatAndFromWhere(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.write(ann, audit.Event{
		Action: "key.updated", Object: "key_a", Name: "Night job",
		Changes: audit.Changed(audit.Change{Field: "name", From: "Job", To: "Night job"}, audit.Change{Field: "models", From: "all", To: "all"}),
	})
	page := b.list("acct_a", audit.Filter{})
	if len(page.Entries) != 1 || page.More {
		t.Fatalf("%+v", page)
	}
	got := page.Entries[0]
	if got.Actor != audit.ByUser || got.ActorID != "user_1" || got.ActorName != "ann@example.com" || got.IP != "192.0.2.7" ||
		got.Agent != "Firefox" || got.RequestID != "req_1" || got.Object != "key_a" || got.Name != "Night job" || got.Action != "key.updated" ||
		!got.At.After(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)) {
		t.Errorf("%+v", got)
	}
	if want := []audit.Change{{Field: "name", From: "Job", To: "Night job"}}; !slices.Equal(got.Changes, want) {
		t.Errorf("changes are %+v", got.Changes)
	}
}

func TestNoOneReadsFromWhereTheirOperatorWorks(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.write(app.Principal{AccountID: "acct_a", From: app.Origin{IP: "192.0.2.7", Agent: "Firefox"}}, audit.Event{Action: "account.frozen", Operator: true})
	b.write(app.Principal{AccountID: "acct_a", From: app.Origin{Agent: "gateway account freeze"}}, audit.Event{Action: "account.frozen", Operator: true})
	list := b.list("acct_a", audit.Filter{}).Entries
	if len(list) != 2 || list[0].Agent != "gateway account freeze" || list[1].IP+list[1].Agent != "" || list[1].Actor != audit.ByOperator {
		t.Errorf("the log says %+v", list)
	}
}

func TestActorsAreNamedAsTheyWereCalledAtThatTime(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.write(ann, audit.Event{Action: "key.created", Object: "1"})
	b.db.MustExec(`update users set email = 'anna@example.com'`)
	b.write(ann, audit.Event{Action: "key.created", Object: "2"})
	b.write(app.Principal{AccountID: "acct_a", KeyID: "key_a"}, audit.Event{Action: "key.created", Object: "3"})
	// The key has no name in the database.
	b.write(app.Principal{AccountID: "acct_a", KeyID: "key_b"}, audit.Event{Action: "key.created", Object: "4"})
	b.write(app.Principal{AccountID: "acct_a", From: app.Origin{Agent: "gateway credit grant"}},
		audit.Event{Action: "billing.credit_granted", Object: "5", Operator: true})
	b.write(app.Principal{AccountID: "acct_a"}, audit.Event{Action: "key.leaked", Object: "6"})
	var got []string
	for _, e := range b.list("acct_a", audit.Filter{}).Entries {
		got = append(got, fmt.Sprintf("%s %s %s %s", e.Object, e.Actor, e.ActorID, e.ActorName))
	}
	want := []string{"6 system  ", "5 operator  ", "4 key key_b ", "3 key key_a Night job", "2 user user_1 anna@example.com", "1 user user_1 ann@example.com"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	actors, err := b.log.Actors(t.Context(), "acct_a")
	b.must(err)
	if len(actors) != 3 || actors[0].ID != "key_b" || actors[1].Name != "anna@example.com" || actors[2] != (audit.Who{Kind: audit.ByKey, ID: "key_a", Name: "Night job"}) {
		t.Errorf("actors are %+v", actors)
	}
	if none, err := b.log.Actors(t.Context(), "acct_b"); err != nil || len(none) != 0 {
		t.Errorf("another account's actors are %+v, %v", none, err)
	}
}

func TestAnEntryVanishesWithTheChangeItTellsOf(t *testing.T) {
	t.Parallel()
	b := setup(t)
	failed := errors.New("the change failed")
	err := postgres.InTx(t.Context(), b.db, func(tx *sqlx.Tx) error {
		b.must(b.log.Write(t.Context(), tx, ann, audit.Event{Action: "key.created", Object: "key_x"}))
		return failed
	})
	if !errors.Is(err, failed) {
		t.Fatal(err)
	}
	if page := b.list("acct_a", audit.Filter{}); len(page.Entries) != 0 {
		t.Errorf("the log tells of %+v", page.Entries)
	}
}

func TestWhatIsNoActionIsNotWritten(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for name, try := range map[string]struct {
		p app.Principal
		e audit.Event
	}{
		"no object":        {ann, audit.Event{Action: "created"}},
		"no account":       {app.Principal{UserID: "user_1"}, audit.Event{Action: "key.created"}},
		"too many changes": {ann, audit.Event{Action: "key.updated", Changes: make([]audit.Change, 51)}},
		"a space":          {ann, audit.Event{Action: "key. created"}},
		"a capital":        {ann, audit.Event{Action: "Key.created"}},
		"another account":  {app.Principal{AccountID: "acct_none"}, audit.Event{Action: "key.created"}},
	} {
		if err := b.log.Write(t.Context(), b.db, try.p, try.e); err == nil {
			t.Errorf("%s is written", name)
		}
	}
	for _, account := range []string{"acct_a", "acct_b"} {
		if page := b.list(account, audit.Filter{}); len(page.Entries) != 0 {
			t.Errorf("%+v", page.Entries)
		}
	}
}

func TestFiltersNarrowTheLog(t *testing.T) {
	t.Parallel()
	b := setup(t)
	key := app.Principal{AccountID: "acct_a", KeyID: "key_a"}
	b.write(ann, audit.Event{Action: "key.created", Object: "k1"})
	b.write(key, audit.Event{Action: "key.deleted", Object: "k1"})
	between := b.clock()
	b.write(ann, audit.Event{Action: "webhook.created", Object: "w1"})
	b.write(app.Principal{AccountID: "acct_b", UserID: "user_1"}, audit.Event{Action: "key.created", Object: "theirs"})
	for name, c := range map[string]struct {
		f    audit.Filter
		want string
	}{
		"all":               {audit.Filter{}, "w1 k1 k1"},
		"an action":         {audit.Filter{Action: "key.created"}, "k1"},
		"a kind":            {audit.Filter{Action: "key."}, "k1 k1"},
		"half a kind":       {audit.Filter{Action: "ke."}, ""},
		"no pattern":        {audit.Filter{Action: "%."}, ""},
		"a member":          {audit.Filter{Actor: "user_1"}, "w1 k1"},
		"a key":             {audit.Filter{Actor: "key_a"}, "k1"},
		"an object":         {audit.Filter{Object: "k1"}, "k1 k1"},
		"from":              {audit.Filter{From: between}, "w1"},
		"to":                {audit.Filter{To: between}, "k1 k1"},
		"another account's": {audit.Filter{Object: "theirs"}, ""},
		"a zero byte":       {audit.Filter{Object: "k1\x00"}, ""},
		"no text":           {audit.Filter{Actor: "\xff"}, ""},
		"longer than an id": {audit.Filter{After: strings.Repeat("z", 201)}, ""},
		"a quote":           {audit.Filter{Object: "' or true --"}, ""},
	} {
		if got := objects(b.list("acct_a", c.f).Entries); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestNoAccountSeesTheLogOfAnother(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.write(app.Principal{AccountID: "acct_b", UserID: "user_1"}, audit.Event{Action: "key.created", Object: "theirs"})
	theirs := b.list("acct_b", audit.Filter{}).Entries[0]
	b.write(ann, audit.Event{Action: "key.created", Object: "ours"})
	for name, f := range map[string]audit.Filter{
		"all": {}, "after theirs": {After: theirs.ID + "~"}, "before theirs": {Before: "audit_0"}, "by the same person": {Actor: "user_1"},
	} {
		for _, e := range b.list("acct_a", f).Entries {
			if e.Object != "ours" {
				t.Errorf("%s: %+v", name, e)
			}
		}
	}
	if len(b.list("", audit.Filter{}).Entries) != 0 {
		t.Error("no account has a log")
	}
}

func TestPagesStayWhileEntriesAreAdded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for i := range 7 {
		b.write(ann, audit.Event{Action: "key.created", Object: fmt.Sprint(i)})
	}
	first := b.list("acct_a", audit.Filter{Limit: 3})
	b.write(ann, audit.Event{Action: "key.created", Object: "new"})
	second := b.list("acct_a", audit.Filter{Limit: 3, After: first.Entries[2].ID})
	b.write(ann, audit.Event{Action: "key.created", Object: "newer"})
	third := b.list("acct_a", audit.Filter{Limit: 3, After: second.Entries[2].ID})
	if got := objects(first.Entries) + "|" + objects(second.Entries) + "|" + objects(third.Entries); got != "6 5 4|3 2 1|0" ||
		!first.More || !second.More || third.More {
		t.Errorf("%s, more %v %v %v", got, first.More, second.More, third.More)
	}
	back := b.list("acct_a", audit.Filter{Limit: 3, Before: third.Entries[0].ID})
	if got := objects(back.Entries); got != "3 2 1" || !back.More {
		t.Errorf("back again: %q, more %v", got, back.More)
	}
	if top := b.list("acct_a", audit.Filter{Limit: 5, Before: first.Entries[2].ID}); objects(top.Entries) != "newer new 6 5" || top.More {
		t.Errorf("the newest are %q, more %v", objects(top.Entries), top.More)
	}
}

func TestAWalkSeesEveryEntryOnceWhileEntriesAreAdded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const entries = 230
	for i := range entries {
		b.write(ann, audit.Event{Action: "key.created", Object: fmt.Sprint(i)})
	}
	seen := 0
	for page, err := range b.log.Pages(t.Context(), "acct_a", audit.Filter{After: "audit_", Before: "audit_", Limit: 1}) {
		b.must(err)
		if len(page) > 100 {
			t.Errorf("a page has %d entries", len(page))
		}
		for _, e := range page {
			seen++
			if want := fmt.Sprint(entries - seen); e.Object != want {
				t.Fatalf("entry %d is %s, want %s", seen, e.Object, want)
			}
		}
		b.write(ann, audit.Event{Action: "key.created", Object: "new"})
	}
	if seen != entries {
		t.Errorf("%d of %d entries", seen, entries)
	}
	for page, err := range b.log.Pages(t.Context(), "acct_b", audit.Filter{}) {
		if len(page) != 0 || err != nil {
			t.Errorf("an empty log has %+v, %v", page, err)
		}
	}
	b.must(b.db.Close())
	for _, err := range b.log.Pages(t.Context(), "acct_a", audit.Filter{}) {
		if err == nil {
			t.Error("a store that is closed ends no walk")
		}
	}
}

func TestHostileTextIsKeptAsTextAndWithinBounds(t *testing.T) {
	t.Parallel()
	b := setup(t)
	hostile := "<script>alert(1)</script>\x00'; drop table users; -- \u202e\xff"
	p := ann
	p.From = app.Origin{IP: strings.Repeat("9", 500), Agent: hostile + strings.Repeat("é", 1000), RequestID: hostile}
	b.write(p, audit.Event{
		Action: "key.updated", Object: hostile, Name: hostile + strings.Repeat("é", 1000),
		Changes: []audit.Change{{Field: "name", From: hostile, To: strings.Repeat("\u0001\"\\", 1000)}},
	})
	e := b.list("acct_a", audit.Filter{}).Entries[0]
	const cleaned = "<script>alert(1)</script>'; drop table users; -- \u202e"
	if e.Object != cleaned || e.RequestID != cleaned || e.Changes[0].From != cleaned {
		t.Errorf("%q %q %q", e.Object, e.RequestID, e.Changes[0].From)
	}
	for text, most := range map[string]int{e.Name: 200, e.Agent: 300, e.Changes[0].To: 500, e.IP: 64} {
		if n := utf8.RuneCountInString(text); n != most || !strings.HasSuffix(text, "…") {
			t.Errorf("%d runes of at most %d: %q", n, most, text)
		}
	}
}

func TestWhatWasDeletedIsKnown(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.write(ann, audit.Event{Action: "key.created", Object: "k1"})
	b.write(ann, audit.Event{Action: "key.created", Object: "k2"})
	b.write(ann, audit.Event{Action: "key.deleted", Object: "k1"})
	b.write(app.Principal{AccountID: "acct_b"}, audit.Event{Action: "key.deleted", Object: "k2"})
	gone, err := b.log.Deleted(t.Context(), "acct_a", []string{"k1", "k2", "k3"})
	b.must(err)
	if len(gone) != 1 || !gone["k1"] {
		t.Errorf("%v", gone)
	}
}
