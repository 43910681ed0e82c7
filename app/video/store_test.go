package video

import (
	"slices"
	"testing"

	"umg/app"
	"umg/app/apptest"
)

func TestAJobMovesOnlyAlongTheTable(t *testing.T) {
	t.Parallel()
	b := setup(t)
	all := []State{Creating, Uncertain, Queued, InProgress, Storing, Completed, Failed}
	for _, at := range all {
		for _, to := range all {
			row := b.keep(at)
			with := set{}
			if to.Ended() {
				with = set{"completed_at": b.clock.Now(), "cost_nanos": 0, "error_code": "x", "progress": 100}
			}
			_, won, err := move(t.Context(), b.db, row.ID, to, with)
			b.must(err)
			if want := slices.Contains(moves[at], to); won != want {
				t.Errorf("from %s to %s: %t, want %t", at, to, won, want)
			}
		}
	}
}

func TestAMoveSaysWhatTheJobIsThen(t *testing.T) {
	t.Parallel()
	b := setup(t)
	row := b.keep(Creating)
	now, won, err := move(t.Context(), b.db, row.ID, Queued, set{"upstream_id": "up_1", "progress": 7})
	if err != nil || !won || now.State != Queued || now.UpstreamID == nil || *now.UpstreamID != "up_1" || now.Progress != 7 {
		t.Fatalf("%+v, %t, %v", now, won, err)
	}
	job, err := now.job()
	if err != nil || job.ID != row.ID || job.Progress != 7 || job.State.Status() != "queued" || job.Content == nil || len(job.Content) != 0 {
		t.Errorf("%+v, %v", job, err)
	}
}

// keep is a job in a state, without any credit, for tests that need no money.
func (b *bench) keep(at State, change ...func(*jobRow)) *jobRow {
	b.Helper()
	now := b.clock.Now()
	row := &jobRow{
		ID: b.ids.New(idPrefix), AccountID: b.account, KeyID: "key_1", Model: "test/film", Prompt: "A fish", Size: "1280x720", Seconds: 4,
		Provider: "meridian", Style: "videos", UpstreamModel: "up-film", State: Creating, RateCardID: "rc", DeadlineAt: now.Add(day), CreatedAt: now,
	}
	for _, f := range change {
		f(row)
	}
	b.must(insert(b.Context(), b.db, row))
	var end any
	if at.Ended() {
		end = now
	}
	_, err := b.db.ExecContext(b.Context(), `
		update video_jobs set state = $2, completed_at = $3, cost_nanos = case when $3::timestamptz is null then null else 0 end,
			progress = case when $2 = 'completed' then 100 else 0 end, error_code = case when $2 = 'failed' then 'generation_failed' else '' end
		where id = $1`, row.ID, string(at), end)
	b.must(err)
	return row
}

func TestOnlyIDsReachTheStore(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]bool{
		"video_01k": true, "": false, "video_": false, "video": false, "vid_01k": false, "video_01K": false, "video_\x00": false, "video_a/b": false,
		"video_ä": false, "video_" + string(make([]byte, 100)): false,
	} {
		if wellFormed(id) != want {
			t.Errorf("%q: %t", id, !want)
		}
	}
	ids := app.IDs{Now: apptest.RunningClock().Now, Random: zeros{}}
	if id := ids.New(idPrefix); !wellFormed(id) {
		t.Errorf("%s is not well-formed", id)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }
