package webhook

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"umg/app"
	"umg/app/audit"
	"umg/app/postgres"
)

// history is the account's log, oldest first: the action, the name, and each change.
func (b *bench) history(p app.Principal) (lines []string) {
	b.Helper()
	page, err := audit.New(b.db, b.clock.Now, b.options.IDs).List(b.Context(), p.AccountID, audit.Filter{Limit: 100})
	must(b, err)
	for _, e := range slices.Backward(page.Entries) {
		line := string(e.Actor) + " " + strings.TrimPrefix(string(e.Action), "webhook.") + " " + e.Name
		for _, c := range e.Changes {
			line += "; " + c.Field + ": " + c.From + " → " + c.To
		}
		lines = append(lines, line)
	}
	return lines
}

func (b *bench) wantHistory(p app.Principal, want ...string) {
	b.Helper()
	got := b.history(p)
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		b.Errorf("the log says\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestTheLogTellsWhatWasDoneToEndpoints(t *testing.T) {
	t.Parallel()
	r := newReceiver(t, nil)
	b := setup(t, []*receiver{r})
	p := b.account
	p.UserID, p.From = "user_1", app.Origin{IP: "192.0.2.9"}
	step := func(err error) {
		t.Helper()
		must(t, err)
		b.clock.Advance(1e9) // Entries with the same time have no order.
	}
	e, secret, err := b.Create(t.Context(), p, EndpointSpec{Name: "Render", URL: r.URL + "/hook?token=hidden", EventTypes: Types()})
	step(err)
	name, types, url := "Renders", []string{VideoFailed}, r.URL+"/hook?token=another"
	_, err = b.Update(t.Context(), p, e.ID, EndpointChange{Name: &name, EventTypes: &types, URL: &url})
	step(err)
	_, err = b.Update(t.Context(), p, e.ID, EndpointChange{Name: &name, EventTypes: &types}) // The update changes nothing.
	step(err)
	_, err = b.Disable(t.Context(), p, e.ID)
	step(err)
	_, err = b.Disable(t.Context(), p, e.ID)
	step(err)
	_, err = b.Enable(t.Context(), p, e.ID)
	step(err)
	_, next, err := b.Rotate(t.Context(), p, e.ID, false)
	step(err)
	step(b.Delete(t.Context(), p, e.ID))
	if err := b.Delete(t.Context(), p, e.ID); app.KindOf(err) != app.NotFound {
		t.Error(err)
	}
	address := r.URL + "/hook?…"
	b.wantHistory(p,
		"user created Render; name:  → Render; url:  → "+address+"; event_types:  → video.completed, video.failed",
		"user updated Renders; name: Render → Renders; url: "+address+" → "+address+"; event_types: video.completed, video.failed → video.failed",
		"user disabled Renders", "user enabled Renders", "user rotated Renders; previous_secret:  → ended at once", "user deleted Renders")
	if n := b.number(`select count(*) from audit_entries where object_id = $1 and ip = '192.0.2.9'`, e.ID); n != 6 {
		t.Errorf("%d entries name the endpoint and the address", n)
	}
	for _, hidden := range []string{"hidden", "another", strings.TrimPrefix(secret, "whsec_"), strings.TrimPrefix(next, "whsec_")} {
		if n := b.number(`select count(*) from audit_entries a where a::text like '%' || $1 || '%'`, hidden); n != 0 {
			t.Errorf("the log contains %q", hidden)
		}
	}
}

func TestTheLogTellsNothingOfWhatDidNotHappen(t *testing.T) {
	t.Parallel()
	r := newReceiver(t, nil)
	b := setup(t, []*receiver{r})
	other := b.newAccount()
	e, _ := b.endpoint(r)
	was := b.history(b.account)
	name := "Theirs"
	if _, err := b.Update(t.Context(), other, e.ID, EndpointChange{Name: &name}); app.KindOf(err) != app.NotFound {
		t.Error(err)
	}
	if _, _, err := b.Rotate(t.Context(), other, e.ID, true); app.KindOf(err) != app.NotFound {
		t.Error(err)
	}
	if err := b.Delete(t.Context(), other, e.ID); app.KindOf(err) != app.NotFound {
		t.Error(err)
	}
	b.wantHistory(other)
	b.wantHistory(b.account, was...)
	// What cannot be logged is not done either.
	b.exec(`alter table audit_entries add constraint closed check (account_id <> '` + b.account.AccountID + `') not valid`)
	if _, err := b.Update(t.Context(), b.account, e.ID, EndpointChange{Name: &name}); err == nil || b.get(e.ID).Name == name {
		t.Errorf("%v, the endpoint is %+v", err, b.get(e.ID))
	}
	if err := b.Delete(t.Context(), b.account, e.ID); err == nil {
		t.Error("an endpoint was deleted without an entry")
	}
	b.get(e.ID)
	if _, _, err := b.Create(t.Context(), b.account, EndpointSpec{Name: "More", URL: r.URL, EventTypes: Types()}); err == nil {
		t.Error("an endpoint was made without an entry")
	}
	if n := b.number(`select count(*) from webhook_endpoints`); n != 1 {
		t.Errorf("%d endpoints", n)
	}
}

func TestTheLogTellsOfAnEndpointThatWeDisabled(t *testing.T) {
	t.Parallel()
	gone := answering(t, http.StatusGone)
	b := setup(t, []*receiver{gone})
	b.endpoint(gone)
	b.clock.Advance(1e9)
	b.emit(b.account)
	b.deliver(1)
	if got := b.history(b.account); len(got) != 2 || got[1] != "system disabled test; reason:  → It answered 410 Gone" {
		t.Errorf("%q", got)
	}
}

// TestANoticeThatFailsUndoesWhatItTellsOf fails to write a notice. The endpoint is not disabled, and the attempt is repeated.
func TestANoticeThatFailsUndoesWhatItTellsOf(t *testing.T) {
	t.Parallel()
	gone := answering(t, http.StatusGone)
	ctx, stop := context.WithCancel(t.Context())
	b := setup(t, []*receiver{gone}, func(o *Options) {
		o.Notify = func(context.Context, postgres.Queryer, Notice) error {
			stop()
			return errors.New("the store is away")
		}
	})
	e, _ := b.endpoint(gone)
	b.emit(b.account)
	if _, err := b.Deliver(ctx); err != nil && !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if got := b.get(e.ID); got.Status != Enabled {
		t.Errorf("%+v", got)
	}
	if d := b.only(); d.State != Pending || d.Attempts != 0 {
		t.Errorf("%+v", d)
	}
}
