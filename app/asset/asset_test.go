package asset

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"umg/app"
	"umg/app/audit"
)

func TestAnAssetIsCreatedBecomesActiveAndIsRemovedOnBothSides(t *testing.T) {
	t.Parallel()
	b := setup(t)
	made, err := b.service.Create(t.Context(), b.me, Spec{Kind: Image, URL: b.source("picture.png?sig=abc"), Name: "  Harbour  "})
	b.must(err)
	if made.State != Created || made.Name != "Harbour" || made.Width != 64 || made.Height != 36 || made.UpstreamID != "up-1" ||
		made.Provider != "keeper" || !strings.HasPrefix(made.ID, "asset_") {
		t.Errorf("%+v", made)
	}
	b.live(1)
	got, err := b.service.Get(t.Context(), b.me, made.ID)
	b.must(err)
	if got.State != Processing {
		t.Errorf("the state is %s", got.State)
	}
	b.keeper.tell(map[string]any{"status": "active"})
	b.clock.Advance(firstStandard)
	b.round()
	got, err = b.service.Peek(t.Context(), b.me, made.ID)
	b.must(err)
	var extra map[string]string
	b.must(json.Unmarshal(got.Extra, &extra))
	if got.State != Active || len(extra) != 1 || extra["thumb_url"] != "https://cdn.example/up-1" {
		t.Errorf("%+v with %s", got, got.Extra)
	}
	b.must(b.service.Delete(t.Context(), b.me, made.ID))
	b.live(0)
	b.refused(b.service.Delete(t.Context(), b.me, made.ID), app.NotFound, "asset_not_found", "asset_id")
	_, err = b.service.Get(t.Context(), b.me, made.ID)
	b.refused(err, app.NotFound, "asset_not_found", "asset_id")
	if b.keeper.kept() != 1 {
		t.Error("the upstream was asked before the worker came")
	}
	b.round()
	if b.keeper.kept() != 0 || b.rows() != 0 {
		t.Errorf("%d are kept upstream and %d rows here", b.keeper.kept(), b.rows())
	}
	log, err := b.service.audit.List(t.Context(), b.me.AccountID, audit.Filter{Limit: 10})
	b.must(err)
	if len(log.Entries) != 2 || log.Entries[0].Action != "asset.deleted" || log.Entries[1].Action != "asset.created" ||
		log.Entries[1].Name != "Harbour" || log.Entries[1].Object != made.ID || log.Entries[1].IP != "192.0.2.7" ||
		strings.Contains(fmt.Sprint(log.Entries), "sig=") {
		t.Errorf("the audit log has %+v", log.Entries)
	}
}

func TestACallThatIsWrongIsToldWhichMember(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for param, spec := range map[string]Spec{
		"asset_type": {URL: b.source("picture.png")},
		"url":        {Kind: Image},
		"name":       {Kind: Image, URL: b.source("picture.png"), Name: strings.Repeat("n", 201)},
	} {
		_, err := b.service.Create(t.Context(), b.me, spec)
		b.refused(err, app.Invalid, "invalid_request_error", param)
		if app.AsError(err).Missing != (param != "name") {
			t.Errorf("%s: %+v", param, err)
		}
	}
	for _, spec := range []Spec{
		{Kind: "hologram", URL: "https://example.com/a"}, {Kind: Image, URL: "https://example.com/" + strings.Repeat("a", 2048)},
		{Kind: Image, URL: b.source("picture.png"), Name: "a\nb"}, {Kind: Image, URL: b.source("picture.png"), Name: "a\x00b"},
		{Kind: Image, URL: b.source("picture.png"), Name: "\xff"},
	} {
		if _, err := b.service.Create(t.Context(), b.me, spec); app.KindOf(err) != app.Invalid || app.AsError(err).Missing {
			t.Errorf("%+v: %v", spec, err)
		}
	}
	for param, filter := range map[string]Filter{"page": {Page: -1}, "page_size": {Size: 101}} {
		_, err := b.service.List(t.Context(), b.me, filter)
		b.refused(err, app.Invalid, "invalid_request_error", param)
	}
	if b.asked.Load() != 0 || b.rows() != 0 {
		t.Error("something was done for a call that is wrong")
	}
}

func TestANameThatIsNotGivenIsTheEndOfTheAddress(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"https://example.com/a/harbour%20at%20dusk.png?x=1": "harbour at dusk.png", "https://example.com/": "example.com",
		"https://example.com": "example.com", "https://example.com/%00%0a": "example.com", "https://example.com/a/": "a",
		"https://example.com/" + strings.Repeat("a", 300): strings.Repeat("a", 199) + "…",
	} {
		if got := nameOf(address); got != want {
			t.Errorf("%s: %q, want %q", address, got, want)
		}
	}
}

func TestForeignAssetsAreUnknown(t *testing.T) {
	t.Parallel()
	b := setup(t)
	made := b.create("mine")
	stranger := app.Principal{AccountID: b.account(), Rights: app.AllRights}
	_, unknown := b.service.Get(t.Context(), stranger, "asset_00000000000000000000000000")
	_, foreign := b.service.Get(t.Context(), stranger, made.ID)
	if unknown.Error() != foreign.Error() {
		t.Errorf("%v and %v", unknown, foreign)
	}
	for _, id := range []string{made.ID, "", "asset_\x00", strings.Repeat("a", 65), "' or true --"} {
		_, err := b.service.Peek(t.Context(), stranger, id)
		b.refused(err, app.NotFound, "asset_not_found", "asset_id")
		b.refused(b.service.Delete(t.Context(), stranger, id), app.NotFound, "asset_not_found", "asset_id")
		_, err = b.service.References(t.Context(), stranger, []string{id})
		b.refused(err, app.NotFound, "asset_not_found", "asset_ids[0]")
	}
	page, err := b.service.List(t.Context(), stranger, Filter{})
	b.must(err)
	if len(page.Assets) != 0 || page.Total != 0 || b.keeper.count("GET") != 0 {
		t.Errorf("a stranger sees %+v", page)
	}
	b.live(1)
}

func TestTheListHasPagesAndFilters(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var ids []string
	for i := range 5 {
		b.clock.Advance(1e6)
		ids = append(ids, b.create(fmt.Sprintf("Picture %d", i)).ID)
	}
	b.clock.Advance(1e6)
	_, err := b.service.Create(t.Context(), b.me, Spec{Kind: Audio, URL: b.source("sound.mp3")})
	b.must(err)
	b.must(b.service.Delete(t.Context(), b.me, ids[0]))
	for _, c := range []struct {
		filter Filter
		want   []string
		total  int
	}{
		{Filter{}, []string{"sound.mp3", "Picture 4", "Picture 3", "Picture 2", "Picture 1"}, 5},
		{Filter{Size: 2}, []string{"sound.mp3", "Picture 4"}, 5},
		{Filter{Size: 2, Page: 3}, []string{"Picture 1"}, 5},
		{Filter{Size: 2, Page: 4}, nil, 5},
		{Filter{Page: 1 << 62, Size: 100}, nil, 5},
		{Filter{Kind: Audio}, []string{"sound.mp3"}, 1},
		{Filter{State: Created, Size: 1}, []string{"sound.mp3"}, 5},
		{Filter{State: Active}, nil, 0},
		{Filter{Text: "pICTURE 3"}, []string{"Picture 3"}, 1},
		{Filter{Text: "/SOUND"}, []string{"sound.mp3"}, 1},
		{Filter{Text: "%"}, nil, 0},
		{Filter{Text: "\x00"}, nil, 0},
	} {
		page, err := b.service.List(t.Context(), b.me, c.filter)
		b.must(err)
		var got []string
		for _, a := range page.Assets {
			got = append(got, a.Name)
		}
		if !slices.Equal(got, c.want) || page.Total != c.total {
			t.Errorf("%+v: %q of %d, want %q of %d", c.filter, got, page.Total, c.want, c.total)
		}
	}
}

func TestOfTwoHundredAtTheLastPlaceOneSucceeds(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.fill(LiveMax - 1)
	b.live(LiveMax - 1)
	second := b.replica() // Each process has its own gates.
	var running sync.WaitGroup
	errs := make([]error, 200)
	for i := range errs {
		running.Go(func() {
			service := []*Service{b.service, second}[i%2]
			_, errs[i] = service.Create(t.Context(), b.me, Spec{Kind: Image, URL: b.source("picture.png"), Name: "raced"})
		})
	}
	running.Wait()
	made := 0
	for _, err := range errs {
		if err == nil {
			made++
			continue
		}
		b.refused(err, app.Forbidden, "asset_limit_reached", "")
		if !app.AsError(err).NoRetry {
			t.Error("a retry is not ruled out")
		}
	}
	if made != 1 || b.keeper.kept() != 1 {
		t.Errorf("%d were made, and the upstream keeps %d", made, b.keeper.kept())
	}
	b.live(LiveMax)
	if len(b.service.creates.accounts) != 0 || len(b.service.creates.all) != 0 {
		t.Error("a turn was kept")
	}
	asked := b.asked.Load()
	_, err := b.service.Create(t.Context(), b.me, Spec{Kind: Image, URL: b.source("picture.png")})
	b.refused(err, app.Forbidden, "asset_limit_reached", "")
	if b.asked.Load() != asked {
		t.Error("a source was looked at for an account that is full")
	}
	b.must(b.service.Delete(t.Context(), b.me, "asset_old7"))
	b.create("the place of another")
	b.live(LiveMax)
}

func TestAClosedAccountGetsNoAssetEvenWhereTheCallWasLetIn(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, err := b.db.ExecContext(t.Context(), `update accounts set closed_at = now() where id = $1`, b.me.AccountID)
	b.must(err)
	_, err = b.db.ExecContext(t.Context(), `create or replace trigger assets_open before insert on assets for each row execute function refuse_closed()`)
	b.must(err)
	_, err = b.service.Create(t.Context(), b.me, Spec{Kind: Image, URL: b.source("picture.png")})
	b.refused(err, app.Forbidden, "account_closed", "")
	b.live(0)
}

func TestAFrozenAccountMayReadAndDeleteOnly(t *testing.T) {
	t.Parallel()
	b := setup(t)
	made := b.create("before")
	_, err := b.db.ExecContext(t.Context(), `update accounts set frozen_at = now() where id = $1`, b.me.AccountID)
	b.must(err)
	_, err = b.service.Create(t.Context(), b.me, Spec{Kind: Image, URL: b.source("picture.png")})
	b.refused(err, app.Forbidden, "account_frozen", "")
	_, err = b.service.Get(t.Context(), b.me, made.ID)
	b.must(err)
	b.must(b.service.Delete(t.Context(), b.me, made.ID))
}

func TestWithoutAProviderThatKeepsAssetsNoneIsMade(t *testing.T) {
	t.Parallel()
	b := setup(t)
	made := b.create("before")
	b.apply(strings.Replace(file, ", assets: {group: umg-tests}", "", 1))
	_, err := b.service.Create(t.Context(), b.me, Spec{Kind: Image, URL: b.source("picture.png")})
	b.refused(err, app.Unavailable, "no_available_provider", "")
	if _, err = b.service.Get(t.Context(), b.me, made.ID); err != nil {
		t.Errorf("what is kept is kept: %v", err)
	}
	b.live(1)
}

func TestGetAnswersWithWhatTheUpstreamSays(t *testing.T) {
	t.Parallel()
	b := setup(t)
	made := b.create("watched")
	for _, c := range []struct {
		says   map[string]any
		state  State
		reason string
	}{
		{map[string]any{"status": "transcoding"}, "transcoding", ""},
		{map[string]any{"status": "created"}, "transcoding", ""}, // The state never goes back.
		{map[string]any{"status": "moderating", "note": "<b>kept cold</b>", "URL": "x"}, "moderating", ""},
		{map[string]any{"status": "Active"}, Active, ""},
		{map[string]any{"status": "processing"}, Active, ""},
		{map[string]any{"status": "failed", "error": map[string]any{"code": "decode", "message": "It cannot be read by " + secret}}, Failed,
			"It cannot be read by [redacted]"},
		{map[string]any{"status": "active", "error": nil}, Failed, "It cannot be read by [redacted]"},
	} {
		b.keeper.tell(c.says)
		got, err := b.service.Get(t.Context(), b.me, made.ID)
		b.must(err)
		if got.State != c.state || got.Reason != c.reason {
			t.Errorf("%v: the state is %s, %q", c.says, got.State, got.Reason)
		}
	}
	got, err := b.service.Peek(t.Context(), b.me, made.ID)
	b.must(err)
	if !strings.Contains(string(got.Extra), "kept cold") || strings.Contains(string(got.Extra), "URL") {
		t.Errorf("the other members are %s", got.Extra)
	}
	odd := json.RawMessage(`{"zero":"a\u0000b","half":"\ud800","number":1e999999,"deep":{"x":1,"x":2}}`)
	b.keeper.tell(map[string]any{"odd": odd})
	got, err = b.service.Get(t.Context(), b.me, made.ID)
	b.must(err)
	if !strings.Contains(string(got.Extra), string(odd)) {
		t.Errorf("what no column of a store's own JSON takes has become %s", got.Extra)
	}
	b.keeper.tell(map[string]any{"leak": secret})
	got, err = b.service.Get(t.Context(), b.me, made.ID)
	b.must(err)
	if strings.Contains(string(got.Extra), secret) {
		t.Error("the credential is passed on")
	}
	for _, status := range []int{http.StatusInternalServerError, http.StatusForbidden, http.StatusTooManyRequests, http.StatusBadRequest} {
		b.keeper.set(failing(http.MethodGet, status, ""), nil)
		_, err := b.service.Get(t.Context(), b.me, made.ID)
		b.refused(err, app.Upstream, "upstream_error", "")
	}
	b.keeper.set(dropping(http.MethodGet), nil)
	_, err = b.service.Get(t.Context(), b.me, made.ID)
	b.refused(err, app.Upstream, "upstream_error", "")
	second := b.createAfter()
	b.keeper.mu.Lock()
	b.keeper.items = nil
	b.keeper.mu.Unlock()
	got, err = b.service.Get(t.Context(), b.me, second.ID)
	b.must(err)
	if got.State != Failed || got.Reason != goneReason {
		t.Errorf("%s: %s", got.State, got.Reason)
	}
	b.apply(strings.ReplaceAll(file, "id: keeper", "id: renamed"))
	_, err = b.service.Get(t.Context(), b.me, second.ID)
	b.refused(err, app.Upstream, "upstream_error", "")
}

// createAfter makes an asset at an upstream that fails no more.
func (b *bench) createAfter() Asset {
	b.Helper()
	b.keeper.set(nil, nil)
	return b.create("after")
}

func TestAVideoCallMayNameActiveAssetsOfItsAccount(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first, second := b.create("first"), b.create("second")
	_, err := b.service.References(t.Context(), b.me, []string{first.ID, second.ID})
	b.refused(err, app.Invalid, "asset_not_ready", "asset_ids[0]")
	b.keeper.tell(map[string]any{"status": "active"})
	got, err := b.service.References(t.Context(), b.me, []string{second.ID, first.ID}) // The worker has not seen the new state yet.
	b.must(err)
	want := []Reference{{second.ID, Image, "keeper", "up-2"}, {first.ID, Image, "keeper", "up-1"}}
	if !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	_, err = b.service.References(t.Context(), b.me, []string{first.ID, second.ID, first.ID})
	b.refused(err, app.Invalid, "invalid_request_error", "asset_ids[2]")
	b.must(b.service.Delete(t.Context(), b.me, second.ID))
	_, err = b.service.References(t.Context(), b.me, []string{first.ID, second.ID})
	b.refused(err, app.NotFound, "asset_not_found", "asset_ids[1]")
	b.keeper.tell(map[string]any{"status": "failed"})
	_, err = b.service.Get(t.Context(), b.me, first.ID)
	b.must(err)
	_, err = b.service.References(t.Context(), b.me, []string{first.ID})
	b.refused(err, app.Invalid, "asset_not_ready", "asset_ids[0]")
}
