package video

import (
	"strings"
	"testing"

	"umg/app"
	"umg/app/provider/health"
)

func TestWhatAnOperatorHasPausedTakesNoNewJobs(t *testing.T) {
	t.Parallel()
	b := setup(t)
	watch := health.New(health.Options{Now: b.clock.Now, Random: func(int) int { return 0 }, DB: b.db, Replica: "one"})
	b.service = b.replica(func(o *Options) { o.Health = watch })
	pause := func(kind, id, reason string) {
		b.must(watch.Pause(t.Context(), health.Pause{Kind: kind, ID: id, Reason: reason, By: "op@example.com"}))
	}
	source := b.completed(`{"model":"test/two","prompt":"a"}`)
	if row := b.row(source.ID); row.Provider != "meridian" {
		t.Fatalf("the first route is not taken: %+v", row)
	}
	pause(health.KindModel, "test/film", "Back at noon.")
	_, err := b.service.Create(t.Context(), b.call(`{"model":"test/film","prompt":"a"}`))
	e := wantError(t, err, app.Unavailable, "model_temporarily_unavailable", "model")
	if e.RetryAfter != pausedRetryAfter || !strings.Contains(e.Message, "Back at noon. Try again later") {
		t.Errorf("the refusal is %+v", e)
	}
	pause(health.KindProvider, "meridian", "")
	if row := b.row(b.create(`{"model":"test/two","prompt":"a"}`).ID); row.Provider != "alpine" {
		t.Errorf("with the first provider paused the job is with %s", row.Provider)
	}
	_, err = b.service.Create(t.Context(), b.call(`{"model":"test/stream","prompt":"a"}`)) // This model has no other provider.
	wantError(t, err, app.Unavailable, "model_temporarily_unavailable", "model")
	_, err = b.service.Create(t.Context(), b.call(`{"model":"test/two","prompt":"a","remix_video_id":"`+source.ID+`"}`))
	wantError(t, err, app.Unavailable, "model_temporarily_unavailable", "model") // No other provider knows the video.
	b.must(watch.Resume(t.Context(), health.KindModel, "test/film", "op@example.com"))
	b.must(watch.Resume(t.Context(), health.KindProvider, "meridian", "op@example.com"))
	if row := b.row(b.create(`{"model":"test/film","prompt":"a"}`).ID); row.Provider != "meridian" {
		t.Errorf("after all is resumed the job is with %s", row.Provider)
	}
}
