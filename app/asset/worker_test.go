package asset

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"umg/app"
	"umg/app/postgres/pgtest"
	"umg/app/provider"
)

func TestWhatTheUpstreamRefusesLeavesNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, c := range []struct {
		status int
		param  string // Param is the parameter in the upstream's refusal.
		kind   app.Kind
		code   string
		at     string
	}{
		{http.StatusBadRequest, "url", app.Invalid, "invalid_request_error", "url"},
		{http.StatusBadRequest, "type", app.Invalid, "invalid_request_error", "asset_type"},
		{http.StatusUnprocessableEntity, "", app.Invalid, "invalid_request_error", "url"},
		{http.StatusBadRequest, "group_id", app.Upstream, "upstream_error", ""},
		{http.StatusForbidden, "group_id", app.Upstream, "upstream_error", ""},
		{http.StatusUnauthorized, "", app.Upstream, "upstream_error", ""},
		{http.StatusTooManyRequests, "", app.Upstream, "upstream_error", ""},
		{http.StatusMovedPermanently, "", app.Upstream, "upstream_error", ""},
	} {
		b.keeper.set(failing(http.MethodPost, c.status, c.param), nil)
		_, err := b.service.Create(t.Context(), b.me, Spec{Kind: Image, URL: b.source("picture.png")})
		b.refused(err, c.kind, c.code, c.at)
		if b.rows() != 0 {
			t.Errorf("status %d left a row", c.status)
		}
	}
	b.live(0)
	if b.keeper.count("GET") != 0 {
		t.Error("a refusal was looked up")
	}
}

func TestAnUncertainCreateIsLookedUpAndSettled(t *testing.T) {
	t.Parallel()
	for name, after := range map[string]func(http.ResponseWriter, *http.Request) bool{
		"an error": failing(http.MethodPost, http.StatusInternalServerError, ""), "a cut": dropping(http.MethodPost),
		"unavailable": failing(http.MethodPost, http.StatusServiceUnavailable, ""),
		"nonsense": func(w http.ResponseWriter, r *http.Request) bool {
			if r.Method == http.MethodPost {
				w.Header().Set("Content-Type", "application/json")
				_, _ = w.Write([]byte(`{"id":7}`))
			}
			return r.Method == http.MethodPost
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.keeper.set(nil, after) // The upstream took the asset but reports a failure.
			made := b.create("found")
			if made.UpstreamID != "up-1" || b.keeper.count("GET") != 1 {
				t.Errorf("%+v after %q", made, b.keeper.calls)
			}
			b.live(1)

			b.keeper.set(after, nil) // The upstream took nothing, which the gateway cannot know.
			_, err := b.service.Create(t.Context(), b.me, Spec{Kind: Image, URL: b.source("picture.png")})
			b.refused(err, app.Upstream, "upstream_error", "")
			b.live(2)
			page, err := b.service.List(t.Context(), b.me, Filter{})
			b.must(err)
			if page.Total != 1 {
				t.Error("an asset is shown that may not be there")
			}
			b.round()
			b.live(2)
			b.clock.Advance(answeredWait)
			b.round()
			if name == "a cut" || name == "nonsense" {
				b.live(2)
				b.clock.Advance(cutWait - answeredWait)
				b.round()
			}
			b.live(1)
			if b.rows() != 1 || b.keeper.kept() != 1 {
				t.Errorf("%d rows and %d upstream", b.rows(), b.keeper.kept())
			}
		})
	}
}

func TestALateRegistrationIsRemovedByAnotherReplica(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.keeper.set(failing(http.MethodGet, http.StatusInternalServerError, ""), dropping(http.MethodPost))
	_, err := b.service.Create(t.Context(), b.me, Spec{Kind: Image, URL: b.source("picture.png")})
	b.refused(err, app.Upstream, "upstream_error", "")
	if b.keeper.kept() != 1 {
		t.Fatal("the upstream did not take it")
	}
	b.clock.Advance(settleStandard)
	b.round() // The upstream cannot be asked now.
	b.live(1)
	b.keeper.set(nil, nil)
	b.clock.Advance(removeMost)
	b.round()
	b.live(0)
	if b.rows() != 0 || b.keeper.kept() != 0 {
		t.Errorf("%d rows and %d upstream", b.rows(), b.keeper.kept())
	}
}

// TestNothingIsLeftBehindWhereverACreateIsCut puts the rows there that a process leaves when it is killed at each step.
func TestNothingIsLeftBehindWhereverACreateIsCut(t *testing.T) {
	t.Parallel()
	for name, cut := range map[string]func(b *bench, row *assetRow){
		"before the upstream is asked": func(*bench, *assetRow) {},
		"after the upstream took it":   func(b *bench, row *assetRow) { b.register(row) },
		"while a worker removed it": func(b *bench, row *assetRow) {
			b.register(row)
			b.clock.Advance(settleStandard)
			ctx, cancel := context.WithCancel(b.Context())
			cancel()
			rows, err := claimDue(b.Context(), b.db, b.clock.Now(), b.clock.Now().Add(claimMax), 1, []string{}, time.Time{})
			b.must(err)
			b.service.safely(ctx, &rows[0])
			if n, _ := b.service.Live(b.Context(), b.me.AccountID); n != 1 {
				b.Error("a step that was cut has removed the row")
			}
		},
		"while its account was emptied": func(b *bench, row *assetRow) {
			b.register(row)
			_, err := b.db.ExecContext(b.Context(), `
				update assets set deleted_at = now(), due_at = now(), claimed_until = null, tries = 0 where account_id = $1`, row.AccountID)
			b.must(err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			keeper, _ := b.catalog.Snapshot().AssetProvider()
			row := b.service.newRow(b.me.AccountID, Spec{Kind: Image, URL: b.source("picture.png")}, source{}, keeper)
			_, err := insert(t.Context(), b.db, row)
			b.must(err)
			cut(b, row)
			b.clock.Advance(settleStandard + claimMax)
			b.round()
			b.live(0)
			if b.rows() != 0 || b.keeper.kept() != 0 {
				t.Errorf("%d rows and %d upstream", b.rows(), b.keeper.kept())
			}
		})
	}
}

// register has the upstream take a row, as create does.
func (b *bench) register(row *assetRow) {
	b.Helper()
	resp, err := http.DefaultTransport.RoundTrip(must(http.NewRequest(http.MethodPost, b.keeper.URL+"/v1/assets",
		strings.NewReader(`{"group_id":"`+row.Group+`","reference":"`+row.ID+`","url":"https://example.com/a","type":"image"}`))))
	b.must(err)
	b.must(resp.Body.Close())
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
}

func must(r *http.Request, err error) *http.Request {
	if err != nil {
		panic(err)
	}
	r.Header.Set("Authorization", "Bearer "+secret)
	return r
}

func TestACreateThatIsTriedAgainIsTheSameAsset(t *testing.T) {
	t.Parallel()
	b := setup(t)
	spec := Spec{ID: "asset_tried", Kind: Image, URL: b.source("picture.png"), Name: "tried"}
	keeper, _ := b.catalog.Snapshot().AssetProvider()
	row := b.service.newRow(b.me.AccountID, spec, source{}, keeper)
	_, err := insert(t.Context(), b.db, row) // The process was killed after this row was written.
	b.must(err)
	b.register(row)
	_, err = b.service.Create(t.Context(), b.me, spec)
	b.refused(err, app.Conflict, "asset_in_progress", "")
	b.clock.Advance(settleStandard)
	b.fill(LiveMax - 1) // The row counts in the limit already.
	made, err := b.service.Create(t.Context(), b.me, spec)
	b.must(err)
	asked := b.asked.Load()
	again, err := b.service.Create(t.Context(), b.me, spec)
	b.must(err)
	if b.asked.Load() != asked {
		t.Error("the source of what is there was looked at")
	}
	if made.ID != spec.ID || again.ID != spec.ID || made.UpstreamID != "up-1" || again.UpstreamID != "up-1" || b.keeper.kept() != 1 {
		t.Errorf("%+v and %+v", made, again)
	}
	b.live(LiveMax)
	b.round()
	if b.keeper.kept() != 1 {
		t.Error("the worker removed an asset that its account still has")
	}
	other := app.Principal{AccountID: b.account()}
	_, err = b.service.Create(t.Context(), other, spec)
	b.refused(err, app.Conflict, "asset_in_progress", "")
}

func TestARegistrationWhoseRowIsGoneIsTakenBack(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.keeper.set(nil, func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPost {
			_, err := b.db.ExecContext(context.Background(), `delete from assets`)
			b.must(err)
		}
		return false
	})
	_, err := b.service.Create(t.Context(), b.me, Spec{Kind: Image, URL: b.source("picture.png")})
	b.refused(err, app.Upstream, "upstream_error", "")
	if b.keeper.kept() != 0 {
		t.Error("the upstream keeps an asset that no account has")
	}
	b.live(0)
}

func TestADeleteIsNotPutOffByALookThatIsUnderWay(t *testing.T) {
	t.Parallel()
	b := setup(t)
	made := b.create("looked at")
	b.clock.Advance(firstStandard)
	rows, err := claimDue(t.Context(), b.db, b.clock.Now(), b.clock.Now().Add(claimMax), 1, []string{}, time.Time{})
	b.must(err)
	b.must(b.service.Delete(t.Context(), b.me, made.ID))
	b.must(b.service.step(t.Context(), &rows[0]))
	b.round()
	if b.rows() != 0 || b.keeper.kept() != 0 {
		t.Errorf("%d rows and %d upstream", b.rows(), b.keeper.kept())
	}
}

func TestWhatAnUpstreamTookTooLongForIsSettledLater(t *testing.T) {
	t.Parallel()
	b := setup(t)
	keeper, _ := b.catalog.Snapshot().AssetProvider()
	row := b.service.newRow(b.me.AccountID, Spec{Kind: Image, URL: b.source("picture.png")}, source{}, keeper)
	_, err := insert(t.Context(), b.db, row)
	b.must(err)
	b.must(b.service.handOver(t.Context(), row, provider.NewFault(provider.ClassTotal, nil)))
	b.clock.Advance(cutWait)
	b.round()
	b.live(1)
	b.register(row) // The first request reaches the upstream late.
	b.clock.Advance(settleStandard)
	b.round()
	b.live(0)
	if b.rows() != 0 || b.keeper.kept() != 0 {
		t.Errorf("%d rows and %d upstream", b.rows(), b.keeper.kept())
	}
}

func TestARemovalIsTriedForAWeek(t *testing.T) {
	t.Parallel()
	b := setup(t)
	made := b.create("stubborn")
	b.keeper.set(failing(http.MethodDelete, http.StatusInternalServerError, ""), nil)
	b.must(b.service.Delete(t.Context(), b.me, made.ID))
	tries := 0
	for waited := time.Duration(0); waited < giveUpAge-time.Hour; waited += removeMost {
		b.round()
		b.clock.Advance(removeMost)
		tries++
	}
	if n := b.keeper.count("DELETE"); n < tries-1 || n > tries+1 {
		t.Errorf("%d tries in %d hours", n, tries)
	}
	if b.rows() != 1 || strings.Contains(b.log.String(), "asset removal abandoned") {
		t.Error("it was given up too early")
	}
	b.live(0)
	b.clock.Advance(3 * time.Hour)
	b.round()
	if b.rows() != 0 || !strings.Contains(b.log.String(), "asset removal abandoned") || !strings.Contains(b.log.String(), "up-1") {
		t.Errorf("it was not given up, or without a word: %d rows", b.rows())
	}
}

func TestAnAssetIsFollowedEverMoreSlowly(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.create("slow")
	looks := func(span, step time.Duration) int {
		before := b.keeper.count("GET")
		for waited := time.Duration(0); waited < span; waited += step {
			b.clock.Advance(step)
			b.round()
		}
		return b.keeper.count("GET") - before
	}
	if n := looks(time.Minute, time.Second); n < 4 || n > 8 {
		t.Errorf("%d looks in the first minute", n)
	}
	if n := looks(10*time.Minute, 10*time.Second); n < 8 || n > 15 {
		t.Errorf("%d looks in ten minutes", n)
	}
	b.clock.Advance(oldAge)
	b.round()
	if n := looks(5*time.Hour, 10*time.Minute); n < 4 || n > 6 {
		t.Errorf("%d looks in five hours of the second day", n)
	}
	b.keeper.tell(map[string]any{"status": "active"})
	if n := looks(5*time.Hour, 10*time.Minute); n != 1 {
		t.Errorf("%d looks at an asset that was ready at the first", n)
	}
}

// TestAResultIsWrittenAgainWhenTheStoreDidNotTakeIt cancels statements, as Postgres may. The worker writes the result again while
// its claim lasts.
func TestAResultIsWrittenAgainWhenTheStoreDidNotTakeIt(t *testing.T) {
	t.Parallel()
	for _, step := range []struct {
		name, event, refused string
		due                  func(*bench, Asset)
	}{
		{"an asset is put off", "update", "new.claimed_until is null and old.claimed_until is not null", func(b *bench, _ Asset) {
			b.keeper.tell(map[string]any{"status": "active"})
		}},
		{"an asset is forgotten", "delete", "true", func(b *bench, made Asset) {
			b.must(b.service.Delete(b.Context(), b.me, made.ID))
		}},
	} {
		t.Run(step.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			made := b.create("worked on")
			tried := pgtest.CancelFirst(t, b.db, step.event+" on assets", step.refused)
			step.due(b, made)
			b.clock.Advance(firstStandard)
			b.round()
			var claimed int
			b.must(b.db.GetContext(t.Context(), &claimed, `select count(*) from assets where claimed_until is not null`))
			if n := tried(); claimed != 0 || n < 2 {
				t.Errorf("%d assets are still claimed after %d statements", claimed, n)
			}
		})
	}
}

func TestTheWorkerRunsUntilItIsStopped(t *testing.T) {
	t.Parallel()
	b := setup(t)
	made := b.create("worked on")
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- b.service.Run(ctx) }()
	b.keeper.tell(map[string]any{"status": "active"})
	b.clock.Advance(firstStandard)
	b.until(func() bool {
		got, err := b.service.Peek(t.Context(), b.me, made.ID)
		return err == nil && got.State == Active
	})
	b.must(b.service.Delete(t.Context(), b.me, made.ID))
	b.until(func() bool { return b.keeper.kept() == 0 && b.rows() == 0 })
	stop()
	b.must(<-ended)
}

// until polls for what is certain to come.
func (b *bench) until(done func() bool) {
	b.Helper()
	deadline := time.After(20 * time.Second)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-deadline:
			b.Fatal("it does not come")
		case <-tick.C:
		}
	}
}
