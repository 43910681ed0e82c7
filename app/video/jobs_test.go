package video

import (
	"testing"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"

	"umg/app"
	"umg/app/postgres"
	"umg/app/workqueue"
)

func TestOperatorsRetryJobsAndLatePictures(t *testing.T) {
	t.Parallel()
	b := setup(t)
	now := b.service.now()
	b.job("v1", "kestrel", InProgress, now.Add(time.Hour), 6, "")
	b.job("v2", "kestrel", Creating, now.Add(time.Hour), 0, "")
	b.job("v3", "kestrel", InProgress, now.Add(-time.Minute), 0, "")
	b.job("v4", "alpine", Completed, now.Add(time.Hour), 2, stamp(now.Add(-time.Minute)))
	b.job("v5", "alpine", Completed, now.Add(2*time.Hour), 0, stamp(now.Add(-time.Minute)))
	if _, err := b.db.Exec(`update video_jobs set claimed_until = case when id = 'v3' then $1::timestamptz end,
		expires_at = case when state = 'completed' then $2::timestamptz end`, now.Add(time.Minute), now.Add(2*time.Hour)); err != nil {
		t.Fatal(err)
	}
	retry := func(q workqueue.Queue, id string) error {
		return postgres.InTx(t.Context(), b.db, func(tx *sqlx.Tx) error {
			_, err := q.RetryNow(t.Context(), tx, id)
			return err
		})
	}
	jobs, pictures := b.service.Jobs(), b.service.PictureJobs()
	counts, err := jobs.Count(t.Context())
	if err != nil || counts.Waiting != 2 || counts.Working != 1 || counts.Failing != 1 {
		t.Errorf("%+v, %v", counts, err)
	}
	list, more, err := jobs.List(t.Context(), workqueue.JobQuery{State: workqueue.JobFailing, Text: "KESTREL"})
	if err != nil || more || len(list) != 1 || list[0].ID != "v1" || list[0].Kind != "render at kestrel" {
		t.Errorf("%+v, %v", list, err)
	}
	if list, _, err = pictures.List(t.Context(), workqueue.JobQuery{}); err != nil || len(list) != 1 || list[0].ID != "v4" {
		t.Errorf("pictures: %+v, %v", list, err)
	}
	for _, c := range []struct {
		queue workqueue.Queue
		id    string
		kind  app.Kind
	}{{jobs, "v2", app.Conflict}, {jobs, "v3", app.Conflict}, {jobs, "v4", app.NotFound}, {pictures, "v5", app.NotFound}} {
		if err := retry(c.queue, c.id); app.KindOf(err) != c.kind {
			t.Errorf("%s: %v", c.id, err)
		}
	}
	told := pq.NewListener(b.dsn, time.Second, time.Minute, nil)
	defer told.Close()
	b.must(told.Listen(workChannel))
	b.must(retry(jobs, "v1"))
	b.must(retry(pictures, "v4"))
	for range 2 { // A worker that has nothing to do looks rarely.
		select {
		case <-told.Notify:
		case <-time.After(5 * time.Second):
			t.Fatal("a retry does not wake the workers")
		}
	}
	var due int
	b.must(b.db.Get(&due, `select count(*) from video_jobs where due_at <= $1 and tries = 0 and id in ('v1', 'v4')`, now.Add(time.Second)))
	if due != 2 {
		t.Errorf("%d are due", due)
	}
}
