package video

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"umg/app"
	"umg/app/catalog"
	"umg/app/media"
	"umg/app/meter"
	"umg/app/webhook"
	"umg/billing"
)

func TestAJobIsFollowedToItsEndAndItsContentIsKept(t *testing.T) {
	t.Parallel()
	for _, model := range []string{"test/film", "test/operations", "test/tasks"} {
		t.Run(model, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			id := b.sent(model, "a lake at dawn")
			b.balance(b.account, startMoney, price)
			b.works()
			r := b.row(id)
			if r.State != Completed || r.Progress != 100 || *r.Cost != price || r.CompletedAt == nil || r.ErrorCode != "" {
				t.Fatalf("the job is %+v", r)
			}
			if r.ExpiresAt.Sub(*r.CompletedAt) != b.service.o.Retention || !r.DueAt.Equal(*r.ExpiresAt) {
				t.Errorf("completed at %v, expires at %v, due at %v", r.CompletedAt, r.ExpiresAt, r.DueAt)
			}
			b.content(r, Movie)
			b.told(id, webhook.VideoCompleted)
			b.paid(price)
			records, err := b.reports.Requests(t.Context(), b.account, 1)
			b.must(err)
			if got := records[0]; got.RequestID != id || got.Outcome != "succeeded" || got.Usage[meter.Seconds] != 8000 || got.Style != "videos" {
				t.Errorf("the usage record is %+v", got)
			}
		})
	}
}

// content compares what a job says of a file with the file.
func (b *bench) content(r jobRow, v Variant) {
	b.Helper()
	var files map[Variant]File
	b.must(json.Unmarshal(r.Content, &files))
	blob := b.blob(r.ID, v)
	if f, ok := files[v]; !ok || f.Bytes != int64(len(blob)) || len(blob) == 0 || f.ETag == "" || f.Type == "" {
		b.Errorf("the job says %+v of its %s, which has %d bytes", files[v], v, len(blob))
	}
	if v == Movie && !bytes.Equal(blob[4:8], []byte("ftyp")) {
		b.Error("what is kept is no film")
	}
}

func TestPicturesComeFromTheProviderOrAreMadeOrAreAbsent(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *Options) { o.Thumbnailer = media.New("/nowhere/ffmpeg") })
	own := b.sent("test/film", "its own stills")
	none := b.sent("test/film", simulate("no-stills", "no stills"))
	b.works()
	b.content(b.row(own), Movie)
	b.content(b.row(own), Thumbnail)
	b.content(b.row(own), Spritesheet)
	b.content(b.row(none), Movie)
	if b.row(none).State != Completed || b.blob(none, Thumbnail) != nil || b.blob(none, Spritesheet) != nil {
		t.Errorf("a film without pictures is %+v", b.row(none))
	}
	if n := b.service.Stats().PictureFaults; n != 2 {
		t.Errorf("%d pictures were missed, want 2", n)
	}
	b.paid(2 * price)
}

func TestPicturesAreMadeOfTheFilm(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.sent("test/film", simulate("no-stills", "stills that ffmpeg makes"))
	b.works()
	r := b.row(id)
	b.content(r, Movie)
	b.content(r, Thumbnail)
	b.content(r, Spritesheet)
	b.paid(price)
}

func TestProgressIsClampedAndNeverFalls(t *testing.T) {
	t.Parallel()
	for spec, want := range map[string]int{"progress=150": 99, "progress=-1": 0, "backwards": 80, "unknown-status": 50} {
		t.Run(spec, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			id := b.sent("test/film", simulate(spec+";render=10m", "odd progress"))
			highest := 0
			for range 8 {
				b.works()
				r := b.row(id)
				if r.Progress < highest || r.Progress > 99 || r.State.Ended() {
					t.Fatalf("%s with %d %% after %d %%", r.State, r.Progress, highest)
				}
				highest = r.Progress
				b.clock.Advance(4 * time.Second)
			}
			if spec != "unknown-status" && highest < want {
				t.Errorf("the progress is %d %%, want %d %%", highest, want)
			}
			b.until(id, Completed, time.Hour)
			b.paid(price)
		})
	}
}

func TestAFailureCostsNothingAndSaysWhy(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for prompt, code := range map[string]string{
		simulate("fail=generation_failed", "one"): "generation_failed", "guardrail-late: likeness": "moderation_blocked",
	} {
		id := b.sent("test/film", prompt)
		b.works()
		b.failed(id, code)
	}
	b.paid(0)
	if got := b.service.Stats().Failed; got["generation_failed"] != 1 || got["moderation_blocked"] != 1 {
		t.Errorf("the counted failures are %v", got)
	}
}

func TestTheFirstVerdictStands(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.sent("test/film", simulate("flip", "completed, then failed"))
	b.works()
	r := b.row(id)
	if r.State != Completed {
		b.until(id, Failed, 20*time.Minute)
		b.failed(id, codeContent)
		b.paid(0)
		return
	}
	b.told(id, webhook.VideoCompleted)
	b.paid(price)
}

func TestAJobIsLostOnlyAfterManyDenials(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.sent("test/film", simulate("vanish", "gone"))
	start := b.clock.Now()
	r := b.until(id, Failed, 30*time.Second)
	b.failed(id, codeLost)
	if took := r.CompletedAt.Sub(start); took < denialMin || took > 2*denialMin {
		t.Errorf("the job was given up after %s", took)
	}
	b.paid(0)
}

func TestAJobWithoutAVerdictFailsAfterADay(t *testing.T) {
	t.Parallel()
	b := setup(t)
	never := b.sent("test/film", simulate("render=hold", "never ends"))
	mute := b.sent("test/other", simulate("on=status;status=500", "no answer"))
	for range 23 {
		b.clock.Advance(time.Hour)
		b.works()
	}
	if b.row(never).State.Ended() || b.row(mute).State.Ended() {
		t.Fatal("a job has ended without a verdict before its deadline")
	}
	b.clock.Advance(2 * time.Hour)
	b.works()
	b.failed(never, codeNoVerdict)
	b.failed(mute, codeNoVerdict)
	b.paid(0)
	b.clock.Advance(time.Hour)
	b.control("POST", "finish", "")
	b.must(b.service.Wake(t.Context(), *b.row(never).CallbackToken))
	b.works()
	if r := b.row(never); b.service.Stats().LateSuccesses != 1 || r.State != Failed || r.DueAt != nil {
		t.Errorf("%d late successes, and the job is %s, due %v", b.service.Stats().LateSuccesses, r.State, r.DueAt)
	}
	b.paid(0)
}

func TestContentIsFetchedAgainUntilItIsWhole(t *testing.T) {
	t.Parallel()
	for _, fault := range []string{
		"on=content;content=short", "on=content;content=empty", "on=content;content=html", "on=content;content=wrong-type",
		"on=content;status=404", "on=content;status=503", "on=content;reset",
	} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			id := b.sent("test/film", simulate(fault+";times=2", "content"))
			b.works()
			if r := b.row(id); r.State != Storing || r.Tries != 1 || r.State.Status() != "in_progress" {
				t.Fatalf("after a bad copy the job is %s with %d tries", r.State, r.Tries)
			}
			r := b.until(id, Completed, time.Minute)
			b.content(r, Movie)
			b.told(id, webhook.VideoCompleted)
			b.paid(price)
		})
	}
}

func TestContentThatNeverComesFailsTheJob(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.sent("test/film", simulate("on=content;status=404", "content"))
	start := b.clock.Now()
	r := b.until(id, Failed, time.Minute)
	b.failed(id, codeContent)
	if took := r.CompletedAt.Sub(start); took < 10*time.Minute || took > time.Hour {
		t.Errorf("copying was given up after %s", took)
	}
	b.works()
	if r = b.row(id); r.PurgedAt == nil || r.DueAt != nil {
		t.Errorf("what was stored of it is not purged: %v, due %v", r.PurgedAt, r.DueAt)
	}
	b.paid(0)
}

func TestAShorterFilmCostsLess(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.sent("test/film", simulate("short-film=3", "short"))
	b.works()
	r := b.row(id)
	var metadata map[string]any
	_ = json.Unmarshal(r.Metadata, &metadata)
	if r.State != Completed || *r.Cost != 30*app.Cent || metadata["delivered_seconds"] != 3.0 {
		t.Errorf("a film of 3 seconds of 8 is %s at $%s with %s", r.State, r.Cost, r.Metadata)
	}
	b.paid(30 * app.Cent)
}

func TestADeletedJobEndsByTheVerdict(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		model, prompt string
		state         State
		cost          app.Amount
	}{
		"cancelled":                 {"test/film", simulate("render=10m", "x"), Failed, 0},
		"cannot be cancelled":       {"test/tasks", simulate("render=1m", "x"), Completed, price},
		"rendered during a restart": {"test/film", "x", Completed, price},
		"failed during a restart":   {"test/film", simulate("fail=generation_failed", "x"), Failed, 0},
		"gone after a cancel":       {"test/film", simulate("vanish", "x"), Failed, 0},
		"cancel has no answer":      {"test/film", simulate("on=cancel;status=500;render=1m", "x"), Completed, price},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			id := b.sent(c.model, c.prompt)
			b.hide(id)
			b.until(id, c.state, 30*time.Second)
			b.works()
			r := b.row(id)
			if *r.Cost != c.cost || r.PurgedAt == nil || r.DueAt != nil || b.blob(id, Movie) != nil {
				t.Errorf("the job is %+v", r)
			}
			b.told(id)
			b.paid(c.cost)
		})
	}
}

func TestADeleteWhileTheContentIsCopied(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.sent("test/film", simulate("on=content;status=503;times=1", "x"))
	b.works()
	b.hide(id)
	b.works()
	b.works()
	r := b.row(id)
	if r.State != Completed || r.PurgedAt == nil || b.blob(id, Movie) != nil {
		t.Errorf("the job is %+v", r)
	}
	b.told(id)
	b.paid(price)
}

func TestAnUncertainJobIsFoundAndNotSentAgain(t *testing.T) {
	t.Parallel()
	for _, model := range []string{"test/film", "test/tasks"} {
		t.Run(model, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			r := b.begun(model, "did it arrive")
			twin := b.begun(model, "did it arrive")
			b.order(r)
			b.order(twin)
			b.clock.Advance(time.Minute + time.Second)
			b.until(r.ID, Completed, 5*time.Second)
			b.until(twin.ID, Completed, 5*time.Second)
			if *b.row(r.ID).UpstreamID == *b.row(twin.ID).UpstreamID {
				t.Error("two jobs have one render")
			}
			b.paid(2 * price)
		})
	}
}

func TestAnUncertainJobThatIsNowhereFails(t *testing.T) {
	t.Parallel()
	for _, model := range []string{"test/film", "test/tasks", "test/operations"} {
		t.Run(model, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			r := b.begun(model, "it did not arrive")
			b.clock.Advance(time.Minute + time.Second)
			b.works()
			if got := b.row(r.ID); got.State != Uncertain || got.Tries != 1 {
				t.Fatalf("after one look the job is %s, with %d tries", got.State, got.Tries)
			}
			end := b.until(r.ID, Failed, 10*time.Second)
			if took := end.CompletedAt.Sub(end.CreatedAt); took < seekMin || took > 2*seekMin {
				t.Errorf("it was given up after %s", took)
			}
			b.failed(r.ID, codeUpstream)
			b.paid(0)
		})
	}
}

func TestAnUncertainRemixIsFoundByItsSource(t *testing.T) {
	t.Parallel()
	b := setup(t)
	source, other := b.sent("test/film", "a source"), b.sent("test/film", "another source")
	b.works()
	remix := func(of string) *jobRow {
		return b.begun("test/film", "now in snow", func(r *jobRow) { r.RemixedFrom = &of })
	}
	first, lost := remix(source), remix(other)
	render := b.order(first)
	b.clock.Advance(time.Minute + time.Second)
	b.until(first.ID, Completed, 5*time.Second)
	if got := *b.row(first.ID).UpstreamID; got != render.ID {
		t.Errorf("the remix has the render %s, not %s", got, render.ID)
	}
	b.until(lost.ID, Failed, 10*time.Second)
	b.failed(lost.ID, codeUpstream)
	b.paid(3 * price)
}

func TestAJobWithAPictureIsNeverFoundByItsLooks(t *testing.T) {
	t.Parallel()
	b := setup(t)
	r := b.begun("test/film", "the same words", func(r *jobRow) { r.ImageType = "image/png" })
	b.order(r)
	b.clock.Advance(time.Minute + time.Second)
	b.until(r.ID, Failed, 10*time.Second)
	b.failed(r.ID, codeUpstream)
	b.paid(0)
}

func TestContentGoesWhenItsTimeIsOver(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.sent("test/film", "short-lived")
	b.works()
	b.clock.Advance(b.service.o.Retention - time.Minute)
	b.works()
	b.content(b.row(id), Movie)
	b.clock.Advance(2 * time.Minute)
	b.works()
	r := b.row(id)
	if r.PurgedAt == nil || r.DueAt != nil || r.State != Completed {
		t.Fatalf("the job is %+v", r)
	}
	for _, v := range Variants() {
		if b.blob(id, v) != nil {
			t.Errorf("the %s is still there", v)
		}
	}
	b.paid(price)
}

func TestAClaimThatIsNotGivenBackEndsByItself(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.sent("test/film", "claimed by a worker that died")
	now := b.service.now()
	rows, err := claimDue(t.Context(), b.db, claim{kind: looks, due: now, now: now, until: now.Add(claimMax), limit: 10, busy: []string{}, away: []string{}})
	b.must(err)
	if len(rows) != 1 {
		t.Fatalf("%d jobs were claimed", len(rows))
	}
	b.works()
	if b.row(id).State != Queued {
		t.Fatal("a claimed job was worked on")
	}
	b.clock.Advance(claimMax + time.Second)
	b.works()
	if b.row(id).State != Completed {
		t.Errorf("the job is %s", b.row(id).State)
	}
	b.paid(price)
}

func TestRacingWorkersAndDeletesEndAJobOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const jobs, workers = 6, 50
	ids := make([]string, jobs)
	for i := range ids {
		ids[i] = b.sent("test/film", fmt.Sprint("raced ", i))
	}
	services := []*Service{b.service, b.replica(), b.replica()}
	var racing sync.WaitGroup
	for i := range workers {
		racing.Go(func() {
			s := services[i%len(services)]
			row := b.row(ids[i%jobs])
			switch i % 5 {
			case 0:
				_ = s.finish(t.Context(), &row, failure(billing.ReasonVideoFailed, "raced", "It lost a race."))
			case 1:
				_ = s.finish(t.Context(), &row, success(&row))
			case 2:
				_ = s.Wake(t.Context(), *row.CallbackToken)
			case 3:
				if i%2 == 1 {
					b.hide(row.ID)
				}
			}
			_, _ = s.Work(t.Context())
		})
	}
	racing.Wait()
	cost := app.Amount(0)
	for _, id := range ids {
		r := b.until(id, b.ended(id), time.Second)
		cost += *r.Cost
		var events int
		b.must(b.db.GetContext(t.Context(), &events, `select count(*) from webhook_events where object_id = $1`, id))
		if events > 1 || (events == 0) != (r.DeletedAt != nil) && r.DeletedAt == nil {
			t.Errorf("the job %s has %d events", r.State, events)
		}
	}
	b.paid(cost)
}

// ended works until a job has ended, and says how.
func (b *bench) ended(id string) State {
	b.Helper()
	for range 50 {
		b.works()
		if r := b.row(id); r.State.Ended() {
			return r.State
		}
		b.clock.Advance(10 * time.Second)
	}
	b.Fatal("the job does not end")
	return ""
}

// TestAFaultIsRequestedOnlyOfASimulator fails jobs and reads whether their records say that the caller asked for it.
func TestAFaultIsRequestedOnlyOfASimulator(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		isSimulated bool
		prompt      string
		want        bool
	}{
		{true, simulate("fail=generation_failed", "one"), true},
		{false, simulate("fail=generation_failed", "one"), false},
		{true, "guardrail-late: likeness", false},
	} {
		b := setup(t, func(o *Options) { o.IsSimulated = func(*catalog.Provider) bool { return c.isSimulated } })
		id := b.sent("test/film", c.prompt)
		b.until(id, Failed, time.Hour)
		var flags string
		b.must(b.db.GetContext(b.Context(), &flags, `select flags from usage_records where account_id = $1`, b.account))
		if (flags == billing.FlagRequestedFault) != c.want {
			t.Errorf("the flags of %q are %q, want the mark: %v", c.prompt, flags, c.want)
		}
	}
}
