package video

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"umg/app"
)

// completed is a job whose render was taken, stored and paid.
func (b *bench) completed(body string) Job {
	b.Helper()
	job := b.create(body)
	content := `{`
	for i, v := range []Variant{Movie, Thumbnail} {
		info, err := b.store.Put(b.Context(), key(job.AccountID, job.ID, v), "video/mp4", -1, strings.NewReader("a "+string(v)))
		b.must(err)
		content += fmt.Sprintf(`%s%q: {"type": %q, "bytes": %d, "etag": %q}`, strings.Repeat(",", i), v, info.Type, info.Size, info.ETag)
	}
	row := b.row(job.ID)
	end := success(&row)
	end.with = set{"content": content + `}`}
	b.must(b.service.finish(b.Context(), &row, end))
	row = b.row(job.ID)
	job, err := row.job()
	b.must(err)
	return job
}

func TestAJobIsSeenByItsOwnerOnly(t *testing.T) {
	t.Parallel()
	b := setup(t)
	mine := b.create(`{"model":"test/film","prompt":"A fish"}`)
	got, err := b.service.Get(t.Context(), b.account, mine.ID)
	if err != nil || got.ID != mine.ID || got.Prompt != "A fish" {
		t.Fatalf("%+v, %v", got, err)
	}
	gone := b.create(`{"model":"test/film","prompt":"A fish"}`)
	b.must(b.service.Delete(t.Context(), b.account, gone.ID))
	stranger := b.fund(0)
	words := map[string]bool{}
	for name, who := range map[string][2]string{
		"foreign": {stranger, mine.ID}, "deleted": {b.account, gone.ID}, "unknown": {b.account, b.ids.New(idPrefix)}, "malformed": {b.account, "x\x00'--"},
		"empty": {b.account, ""}, "without an account": {"", mine.ID}, "long": {b.account, "video_" + strings.Repeat("a", 5000)},
	} {
		for verb, try := range map[string]func() error{
			"get":    func() error { _, err := b.service.Get(t.Context(), who[0], who[1]); return err },
			"delete": func() error { return b.service.Delete(t.Context(), who[0], who[1]) },
			"open":   func() error { _, _, err := b.service.Open(t.Context(), who[0], who[1], Movie); return err },
			"odd variant": func() error {
				_, _, err := b.service.Open(t.Context(), who[0], who[1], "gif")
				return err
			},
			"remix": func() error {
				c := b.call(`{"prompt":"Now at night"}`)
				c.Principal.AccountID, c.Source = who[0], who[1]
				if c.Source == "" {
					return noVideo() // The API refuses a path without an id.
				}
				_, err := b.service.Create(t.Context(), c)
				return err
			},
		} {
			e := wantError(t, try(), app.NotFound, codeMissingVideo, paramSource)
			words[e.Message] = true
			if t.Failed() {
				t.Fatalf("%s of a %s video", verb, name)
			}
		}
	}
	if len(words) != 1 {
		t.Errorf("videos that cannot be seen are told apart: %v", words)
	}
	if _, err := b.service.Get(t.Context(), b.account, mine.ID); err != nil {
		t.Errorf("a stranger has deleted it: %v", err)
	}
}

func TestContentIsOpenedOnceItIsThere(t *testing.T) {
	t.Parallel()
	b := setup(t)
	open := func(id string, v Variant) error {
		blob, _, err := b.service.Open(t.Context(), b.account, id, v)
		if err == nil {
			err = blob.Close()
		}
		return err
	}
	early := b.create(`{"model":"test/film","prompt":"A fish"}`)
	wantError(t, open(early.ID, Movie), app.Invalid, "video_not_ready", paramSource)
	failed := b.keep(Failed)
	wantError(t, open(failed.ID, Movie), app.Invalid, "video_not_ready", paramSource)
	job := b.completed(`{"model":"test/film","prompt":"A fish"}`)
	blob, seen, err := b.service.Open(t.Context(), b.account, job.ID, Movie)
	b.must(err)
	data, err := io.ReadAll(blob)
	if err != nil || string(data) != "a video" || blob.Close() != nil || seen.ID != job.ID || seen.Content[Movie].ETag != blob.Info().ETag {
		t.Errorf("%q, %+v, %v", data, seen, err)
	}
	wantError(t, open(job.ID, Spritesheet), app.NotFound, "variant_unavailable", "variant")
	wantError(t, open(job.ID, "gif"), app.Invalid, codeInvalid, "variant")
	if n, bytes, err := b.service.Usage(t.Context(), b.account); n != 3 || bytes != int64(len("a video")+len("a thumbnail")) || err != nil {
		t.Errorf("%d videos, %d bytes, %v", n, bytes, err)
	}
	b.must(b.store.Delete(t.Context(), key(b.account, job.ID, Movie)))
	if e := app.AsError(open(job.ID, Movie)); e.Kind != app.Internal {
		t.Errorf("content that was lost: %+v", e)
	}
	b.clock.Advance(retentionStandard)
	wantError(t, open(job.ID, Thumbnail), app.NotFound, "video_expired", paramSource)
	b.balance(b.account, startMoney-40*app.Cent, 40*app.Cent)
	b.books()
}

func TestADeletedJobIsHiddenAndItsContentGoes(t *testing.T) {
	t.Parallel()
	b := setup(t)
	job := b.completed(`{"model":"test/film","prompt":"A fish"}`)
	b.must(b.service.Delete(t.Context(), b.account, job.ID))
	if row := b.row(job.ID); row.DeletedAt == nil || row.PurgedAt == nil || row.DueAt != nil || row.State != Completed {
		t.Errorf("%+v", row)
	}
	for _, v := range Variants() {
		if _, err := b.store.Open(t.Context(), key(b.account, job.ID, v)); err == nil {
			t.Errorf("the %s is still there", v)
		}
	}
	wantError(t, b.service.Delete(t.Context(), b.account, job.ID), app.NotFound, codeMissingVideo, paramSource)
	running := b.create(`{"model":"test/film","prompt":"A fish"}`)
	b.must(b.service.Delete(t.Context(), b.account, running.ID))
	if row := b.row(running.ID); row.DeletedAt == nil || row.State.Ended() || row.DueAt == nil || row.DueAt.After(b.clock.Now()) {
		t.Errorf("the worker is not woken for %+v", row)
	}
	if page, err := b.service.List(t.Context(), b.account, Query{}); err != nil || len(page.Jobs) != 0 {
		t.Errorf("%+v, %v", page, err)
	}
	b.balance(b.account, startMoney-40*app.Cent, 40*app.Cent) // The hold stays until the verdict.
	making := b.keep(Creating, func(r *jobRow) { due := b.clock.Now().Add(abandonedAfter); r.DueAt = &due })
	b.must(b.service.Delete(t.Context(), b.account, making.ID))
	if row := b.row(making.ID); row.DeletedAt == nil || !row.DueAt.After(b.clock.Now()) {
		t.Errorf("a job is taken from under the call that makes it: %+v", row)
	}
	b.books()
}

func TestARemixStartsFromACompletedVideo(t *testing.T) {
	t.Parallel()
	b := setup(t)
	source := b.completed(`{"model":"test/film","prompt":"A fish","size":"720x1280","seconds":8}`)
	remix := func(body, id string) (Job, error) {
		c := b.call(body)
		c.Source = id
		done, err := b.service.Create(t.Context(), c)
		return done.Job, err
	}
	for _, body := range []string{
		`{"prompt":"Now at night"}`, `{"prompt":"Now at night","model":"test/film"}`, `{"prompt":"Now at night","size":"720x1280","seconds":"8"}`,
	} {
		job, err := remix(body, source.ID)
		if err != nil || job.RemixedFrom != source.ID || job.Model != "test/film" || job.Size != "720x1280" || job.Seconds != 8 || job.Hold != 2*app.Dollar {
			t.Fatalf("%s: %+v, %v", body, job, err)
		}
	}
	named := b.create(`{"model":"test/film","prompt":"Now at night","remix_video_id":"` + source.ID + `"}`)
	renders := b.sim.Renders()
	if last := renders[len(renders)-1]; named.RemixedFrom != source.ID || last.Generation != renders[0].Generation+1 || len(renders) != 5 {
		t.Errorf("%+v, %+v", named, last)
	}
	held := b.rows(b.account)
	early := b.create(`{"model":"test/film","prompt":"A fish"}`)
	failed := b.keep(Failed)
	for name, c := range map[string]struct {
		id, body, code, param string
		kind                  app.Kind
	}{
		"without a prompt":  {source.ID, `{}`, codeInvalid, "prompt", app.Invalid},
		"broken":            {source.ID, `{`, "invalid_json", "", app.Invalid},
		"unfinished":        {early.ID, `{"prompt":"b"}`, "video_not_ready", paramSource, app.Invalid},
		"failed":            {failed.ID, `{"prompt":"b"}`, "video_not_ready", paramSource, app.Invalid},
		"unknown":           {"video_x", `{"prompt":"b"}`, codeMissingVideo, paramSource, app.NotFound},
		"another provider":  {source.ID, `{"prompt":"b","model":"test/other"}`, codeInvalid, "model", app.Invalid},
		"another model":     {source.ID, `{"prompt":"b","model":"test/three"}`, codeInvalid, "model", app.Invalid},
		"unknown model":     {source.ID, `{"prompt":"b","model":"test/none"}`, "model_not_found", "model", app.NotFound},
		"another size":      {source.ID, `{"prompt":"b","size":"1280x720"}`, codeInvalid, "size", app.Invalid},
		"another length":    {source.ID, `{"prompt":"b","seconds":4}`, codeInvalid, "seconds", app.Invalid},
		"with a picture":    {source.ID, `{"prompt":"b","input_reference":{"image_url":"data:image/png;base64,AA"}}`, codeInvalid, paramImage, app.Invalid},
		"against the rules": {source.ID, `{"prompt":"guardrail: minors"}`, "content_policy_violation", "prompt", app.Invalid},
	} {
		_, err := remix(c.body, c.id)
		if e := app.AsError(err); e == nil || e.Kind != c.kind || e.Code != c.code || e.Param != c.param {
			t.Errorf("%s: %v (%+v)", name, err, e)
		}
	}
	if n := b.rows(b.account); n != held+3 { // The new jobs are the early one, the failed one, and the one that the provider refused.
		t.Errorf("%d jobs after %d", n, held)
	}
	b.clock.Advance(retentionStandard)
	_, err := remix(`{"prompt":"Too late"}`, source.ID)
	wantError(t, err, app.NotFound, "video_expired", paramSource)
	b.books()
}

func TestAQuoteIsWhatIsHeld(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, body := range []string{
		`{"model":"test/film","prompt":"A fish"}`, `{"model":"test/film","prompt":"A fish","size":"720x1280","seconds":"8"}`,
		`{"model":"test/operations","prompt":"A fish","seconds":8}`,
	} {
		quote, err := b.service.Quote(t.Context(), b.call(body))
		b.must(err)
		if b.rows(b.account) != 0 || len(b.sim.Requests()) != 0 {
			t.Fatal("a quote has left traces")
		}
		if quote.Cost != quote.PerSecond*app.Amount(quote.Seconds) {
			t.Errorf("%+v", quote)
		}
	}
	quote, err := b.service.Quote(t.Context(), b.call(`{"model":"test/film","prompt":"A fish","size":"720x1280"}`))
	b.must(err)
	job := b.create(`{"model":"test/film","prompt":"A fish","size":"720x1280"}`)
	if want := (Quote{Model: "test/film", Size: "720x1280", Seconds: 4, RateCardID: job.RateCardID, PerSecond: 25 * app.Cent, Cost: job.Hold}); quote != want {
		t.Errorf("%+v, want %+v", quote, want)
	}
}

func TestOneOfManyDeletesWins(t *testing.T) {
	t.Parallel()
	b := setup(t)
	job := b.completed(`{"model":"test/film","prompt":"A fish"}`)
	var won atomic.Int64
	var racers sync.WaitGroup
	for range 50 {
		racers.Go(func() {
			if err := b.service.Delete(b.Context(), b.account, job.ID); err == nil {
				won.Add(1)
			} else if e := app.AsError(err); e.Code != codeMissingVideo {
				t.Errorf("%v", err)
			}
		})
	}
	racers.Wait()
	if won.Load() != 1 || b.row(job.ID).PurgedAt == nil {
		t.Errorf("%d deletes have won", won.Load())
	}
	b.balance(b.account, startMoney-40*app.Cent, 0)
	b.books()
}
