package video

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"umg/app"
	"umg/app/asset"
)

// asset keeps a sample of the simulator for an account, and returns it as the service does.
func (b *bench) asset(account string, kind asset.Kind, sample, name string) asset.Asset {
	b.Helper()
	made, err := b.o.Assets.Create(b.Context(), app.Principal{AccountID: account, KeyID: "key_1", Rights: app.AllRights},
		asset.Spec{Kind: kind, URL: b.upstream.URL + "/media/samples/" + sample, Name: name})
	b.must(err)
	return made
}

// upstreamID is what the provider calls an asset.
func (b *bench) upstreamID(id string) (upstream string) {
	b.Helper()
	for _, one := range b.sim.Assets() {
		if one.Reference == id {
			return one.ID
		}
	}
	b.Fatalf("the provider does not keep %s", id)
	return ""
}

// with is a call of the model that takes assets.
func with(ids ...string) string {
	return `{"model":"test/assets","prompt":"A harbour","asset_ids":["` + strings.Join(ids, `","`) + `"]}`
}

func TestAVideoWithAssetsGoesToTheProviderThatKeepsThem(t *testing.T) {
	t.Parallel()
	b := setup(t)
	picture, sound := b.asset(b.account, asset.Image, "picture.png", "a"), b.asset(b.account, asset.Audio, "sound.wav", "b")
	job := b.create(with(sound.ID, picture.ID))
	plain := b.create(`{"model":"test/assets","prompt":"A harbour","asset_ids":null}`)
	if job.Provider != "kestrel" || job.UpstreamModel != "up-assets" || plain.Provider != "meridian" {
		t.Errorf("with assets: %s %s, without: %s", job.Provider, job.UpstreamModel, plain.Provider)
	}
	made := b.sim.Renders()
	if want := []string{b.upstreamID(sound.ID), b.upstreamID(picture.ID)}; len(made) != 2 || !slices.Equal(made[0].Assets, want) || made[1].Assets != nil {
		t.Errorf("renders %+v, want the assets %v", made, want)
	}
	if _, err := b.service.Quote(t.Context(), b.call(with(picture.ID))); err != nil {
		t.Errorf("a quote: %v", err)
	}
	b.balance(b.account, startMoney, 80*app.Cent)
	b.books()
}

func TestAssetsThatCannotBeUsedAreRefusedBeforeAnythingIsHeld(t *testing.T) {
	t.Parallel()
	b := setup(t)
	other := b.fund(startMoney)
	mine, foreign := b.asset(b.account, asset.Image, "picture.png", "a"), b.asset(other, asset.Image, "picture.png", "b")
	slow := b.asset(b.account, asset.Image, "picture.png", "simulate: render=hold")
	bad := b.asset(b.account, asset.Image, "picture.png", "simulate: fail=bad_source")
	gone := b.asset(b.account, asset.Image, "picture.png", "c")
	b.must(b.o.Assets.Delete(t.Context(), app.Principal{AccountID: b.account, KeyID: "key_1", Rights: app.AllRights}, gone.ID))
	const unknown = "asset_01k9z3c4d5e6f7g8h9j0k1m2n3"
	for name, c := range map[string]struct {
		body        string
		kind        app.Kind
		code, param string
	}{
		"unknown":          {with(mine.ID, unknown), app.NotFound, "asset_not_found", "asset_ids[1]"},
		"another's":        {with(foreign.ID), app.NotFound, "asset_not_found", "asset_ids[0]"},
		"deleted":          {with(gone.ID), app.NotFound, "asset_not_found", "asset_ids[0]"},
		"no id":            {with("../../etc"), app.NotFound, "asset_not_found", "asset_ids[0]"},
		"not ready":        {with(slow.ID), app.Invalid, "asset_not_ready", "asset_ids[0]"},
		"failed":           {with(mine.ID, bad.ID), app.Invalid, "asset_not_ready", "asset_ids[1]"},
		"too many":         {with("a", "b", "c", "d"), app.Invalid, codeInvalid, "asset_ids"},
		"none":             {`{"model":"test/assets","prompt":"a","asset_ids":[]}`, app.Invalid, codeInvalid, "asset_ids"},
		"a number":         {`{"model":"test/assets","prompt":"a","asset_ids":[7]}`, app.Invalid, codeInvalid, "asset_ids[0]"},
		"another model":    {`{"model":"test/film","prompt":"a","asset_ids":["` + mine.ID + `"]}`, app.Invalid, codeInvalid, "asset_ids"},
		"a model of tasks": {`{"model":"test/tasks","prompt":"a","asset_ids":["` + mine.ID + `"]}`, app.Invalid, codeInvalid, "asset_ids"},
	} {
		_, err := b.service.Create(t.Context(), b.call(c.body))
		e := app.AsError(err)
		if e == nil || e.Kind != c.kind || e.Code != c.code || e.Param != c.param {
			t.Errorf("%s: %+v", name, e)
		}
		if _, quoted := b.service.Quote(t.Context(), b.call(c.body)); fmt.Sprint(quoted) != fmt.Sprint(err) {
			t.Errorf("%s: a quote says %v, a create %v", name, quoted, err)
		}
	}
	_, err := b.service.Create(t.Context(), b.call(with(mine.ID, mine.ID)))
	if e := app.AsError(err); e == nil || e.Kind != app.Invalid || e.Param != "asset_ids[1]" {
		t.Errorf("twice: %v", err)
	}
	if len(b.sim.Renders()) != 0 || b.rows(b.account) != 0 {
		t.Errorf("%d renders, %d jobs", len(b.sim.Renders()), b.rows(b.account))
	}
	b.balance(b.account, startMoney, 0)
}

// TestAVideoRemembersItsAssets, and what becomes of them later changes nothing about it.
func TestAVideoRemembersItsAssets(t *testing.T) {
	t.Parallel()
	b := setup(t)
	picture, sound := b.asset(b.account, asset.Image, "picture.png", "a"), b.asset(b.account, asset.Audio, "sound.wav", "b")
	job := b.create(with(sound.ID, picture.ID))
	bare := b.create(`{"model":"test/assets","prompt":"A harbour"}`)
	want := []string{sound.ID, picture.ID}
	b.must(b.o.Assets.Delete(t.Context(), b.call("").Principal, picture.ID))
	got, err := b.service.Get(t.Context(), b.account, job.ID)
	if err != nil || !slices.Equal(job.Assets, want) || !slices.Equal(got.Assets, want) || len(bare.Assets) != 0 {
		t.Errorf("made with %v, read %v, without %v: %v", job.Assets, got.Assets, bare.Assets, err)
	}
	b.until(job.ID, Completed, 5*time.Second)
	if page, err := b.service.List(t.Context(), b.account, Query{}); err != nil || len(page.Jobs) != 2 || !slices.Equal(page.Jobs[1].Assets, want) {
		t.Errorf("%+v, %v", page, err)
	}
}

func TestAssetsOfACallNeedTheRightToUseThem(t *testing.T) {
	t.Parallel()
	b := setup(t)
	mine := b.asset(b.account, asset.Image, "picture.png", "a")
	const unknown = "asset_01k9z3c4d5e6f7g8h9j0k1m2n3"
	var told []string
	for _, id := range []string{mine.ID, unknown} {
		c := b.call(with(id))
		c.Principal.Rights = app.AllRights &^ app.UseAssets
		_, err := b.service.Create(t.Context(), c)
		wantError(t, err, app.Forbidden, "insufficient_scope", "asset_ids")
		_, quoted := b.service.Quote(t.Context(), c)
		told = append(told, fmt.Sprintf("%+v", err), fmt.Sprintf("%+v", quoted))
	}
	if told = slices.Compact(told); len(told) != 1 {
		t.Errorf("the refusal tells whose an asset is: %q", told)
	}
	c := b.call(`{"model":"test/assets","prompt":"A harbour"}`)
	c.Principal.Rights = app.MakeVideos
	if _, err := b.service.Create(t.Context(), c); err != nil {
		t.Errorf("without assets: %v", err)
	}
	if b.rows(b.account) != 1 {
		t.Errorf("%d jobs", b.rows(b.account))
	}
}

func TestForeignAndUnknownAssetsAreToldInTheSameWords(t *testing.T) {
	t.Parallel()
	b := setup(t)
	foreign := b.asset(b.fund(startMoney), asset.Image, "picture.png", "a")
	const unknown = "asset_01k9z3c4d5e6f7g8h9j0k1m2n3"
	_, one := b.service.Create(t.Context(), b.call(with(foreign.ID)))
	_, two := b.service.Create(t.Context(), b.call(with(unknown)))
	if one == nil || strings.ReplaceAll(fmt.Sprintf("%+v", one), foreign.ID, unknown) != fmt.Sprintf("%+v", two) {
		t.Errorf("%v\n%v", one, two)
	}
}

func TestAssetsOfProvidersThatCannotMakeTheVideo(t *testing.T) {
	t.Parallel()
	b := setup(t)
	here, there := b.asset(b.account, asset.Image, "picture.png", "a"), b.asset(b.account, asset.Image, "picture.png", "b")
	// From this call on, both assets are known to be active.
	if _, err := b.o.Assets.References(t.Context(), b.call("").Principal, []string{here.ID, there.ID}); err != nil {
		t.Fatal(err)
	}
	move := func(provider string) {
		_, err := b.db.ExecContext(t.Context(), `update assets set provider = $1 where id = $2`, provider, there.ID)
		b.must(err)
	}
	for _, provider := range []string{"meridian", "nowhere"} { // The first has a style without assets, and the second has no route.
		move(provider)
		_, err := b.service.Create(t.Context(), b.call(with(there.ID)))
		wantError(t, err, app.Unavailable, "no_available_provider", "")
		_, err = b.service.Create(t.Context(), b.call(with(here.ID, there.ID)))
		wantError(t, err, app.Invalid, "assets_apart", "asset_ids")
	}
	if len(b.sim.Renders()) != 0 || b.rows(b.account) != 0 {
		t.Errorf("%d renders, %d jobs", len(b.sim.Renders()), b.rows(b.account))
	}
	b.service = b.replica(func(o *Options) { o.Assets = nil })
	_, err := b.service.Create(t.Context(), b.call(with(here.ID)))
	wantError(t, err, app.Unavailable, "no_available_provider", "")
}

func TestARemixTakesNoAssets(t *testing.T) {
	t.Parallel()
	b := setup(t)
	source := b.create(with(b.asset(b.account, asset.Image, "picture.png", "a").ID)).ID
	b.until(source, Completed, 5*time.Second)
	for path, c := range map[string]Call{
		"by the body": b.call(`{"model":"test/assets","prompt":"b","remix_video_id":"` + source + `","asset_ids":["x"]}`),
		"by the path": {Principal: b.call("").Principal, Source: source, Body: []byte(`{"prompt":"b","asset_ids":["x"]}`)},
	} {
		_, err := b.service.Create(t.Context(), c)
		if e := app.AsError(err); e == nil || e.Kind != app.Invalid || e.Param != "asset_ids" {
			t.Errorf("%s: %v", path, err)
		}
	}
	done, err := b.service.Create(t.Context(), Call{Principal: b.call("").Principal, Source: source, Body: []byte(`{"prompt":"b"}`)})
	if err != nil || done.Job.Provider != "kestrel" {
		t.Errorf("a remix of a video with assets: %+v, %v", done.Job, err)
	}
}

func TestAnAssetThatTheProviderHasLostIsNamedAsTheCallNamedIt(t *testing.T) {
	t.Parallel()
	b := setup(t)
	lost := b.asset(b.account, asset.Image, "picture.png", "a")
	if _, err := b.o.Assets.References(t.Context(), b.call("").Principal, []string{lost.ID}); err != nil {
		t.Fatal(err)
	}
	upstream := b.upstreamID(lost.ID)
	b.control("DELETE", "assets?id="+upstream, "")
	_, err := b.service.Create(t.Context(), b.call(with(lost.ID)))
	if e := app.AsError(err); e == nil || e.Kind != app.Invalid || !strings.Contains(e.Message, lost.ID) || strings.Contains(e.Message, upstream) {
		t.Errorf("%+v", e)
	}
	b.balance(b.account, startMoney, 0)
	b.books()
}

// TestAJobWithAssetsIsFoundAgain proves that a look-up needs no assets.
func TestAJobWithAssetsIsFoundAgain(t *testing.T) {
	t.Parallel()
	b := setup(t)
	picture := b.asset(b.account, asset.Image, "picture.png", "a")
	job := b.create(strings.Replace(with(picture.ID), "A harbour", `simulate: late-create;reset\nA harbour`, 1))
	if job.State != Uncertain || job.Provider != "kestrel" {
		t.Fatalf("%+v", job)
	}
	row := b.row(job.ID)
	if _, err := b.service.findSubmitted(t.Context(), &row); err != nil {
		t.Fatal(err)
	}
	if found := b.row(job.ID); found.State != Queued || found.UpstreamID == nil || len(b.sim.Renders()) != 1 {
		t.Errorf("%+v", found)
	}
}
