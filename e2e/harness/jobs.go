package harness

import (
	"encoding/json"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// FinishJobs makes everything due until all jobs have ended, their late pictures are made, all that is deleted is gone, and all events
// were delivered.
func (c Customer) FinishJobs(t *testing.T) {
	t.Helper()
	db := c.DB(t)
	before := 0
	for deadline := time.Now().Add(RecoveryTimeMax); ; time.Sleep(100 * time.Millisecond) {
		db.MustExec(`with due as (update video_jobs set due_at = now() where account_id = $1 and due_at > now()
			and (completed_at is null or deleted_at is not null or due_at < expires_at) returning id)
			select pg_notify('video_work', '') from due`, c.AccountID)
		db.MustExec(`update webhook_endpoints set paused_until = null where account_id = $1 and paused_until is not null`, c.AccountID)
		db.MustExec(`with due as (update webhook_deliveries set due_at = now() where account_id = $1 and due_at > now() returning id)
			select pg_notify('webhooks', '') from due`, c.AccountID)
		var left []string
		if err := db.Select(&left, `
			select id || ' is ' || state || ' with ' || tries || ' tries' from video_jobs where account_id = $1
				and (completed_at is null or deleted_at is not null and purged_at is null or deleted_at is null and due_at < expires_at)
			union all select id || ' is undelivered' from webhook_deliveries where account_id = $1 and state = 'pending'`,
			c.AccountID); err != nil {
			t.Fatal(err)
		}
		if len(left) == 0 {
			return
		}
		if len(left) != before {
			before, deadline = len(left), time.Now().Add(RecoveryTimeMax)
		}
		if time.Now().After(deadline) {
			t.Fatalf("after %s %d things are not settled: %s", RecoveryTimeMax, len(left), strings.Join(left[:min(len(left), 10)], "; "))
		}
	}
}

// JobRecord is all that the tables say of a job.
type JobRecord struct {
	ID      string
	Prompt  string
	State   string
	Code    string `db:"error_code"`
	Held    int64  `db:"hold_nanos"`
	Cost    int64  `db:"cost_nanos"`
	Content []byte
	Deleted bool
	// Records is the number of usage records, and Charged their sum in nano-dollars.
	Records int
	Charged int64
	// Outcome is that of the last record.
	Outcome string
	// Hold is the state of the hold.
	Hold     string
	Captured int64
	// Completed is the number of events that report the completion.
	Completed int
	Failed    int
}

func (c Customer) jobRecords(t *testing.T) []JobRecord {
	t.Helper()
	var all []JobRecord
	if err := c.DB(t).Select(&all, `
		select j.id, j.prompt, j.state, j.error_code, j.hold_nanos, coalesce(j.cost_nanos, -1) as cost_nanos, j.content,
			j.deleted_at is not null as deleted,
			(select count(*) from usage_records where request_id = j.id) as records,
			(select coalesce(sum(cost_nanos), 0) from usage_records where request_id = j.id) as charged,
			(select coalesce(max(outcome), '') from usage_records where request_id = j.id) as outcome,
			h.state as hold, h.captured_nanos as captured,
			(select count(*) from webhook_events where object_id = j.id and type = 'video.completed') as completed,
			(select count(*) from webhook_events where object_id = j.id and type = 'video.failed') as failed
		from video_jobs j left join holds h on h.id = j.id where j.account_id = $1 order by j.id`, c.AccountID); err != nil {
		t.Fatal(err)
	}
	return all
}

// CheckJobs insists, of every job of a customer, on what must hold however often anything crashed: one end, one capture or
// release of the whole hold, at most one event, whole content or none. The start is the balance before the first job.
func (c Customer) CheckJobs(t *testing.T, start Balance) []JobRecord {
	t.Helper()
	all := c.jobRecords(t)
	var spent int64
	files := map[string]int64{}
	for _, s := range all {
		s.check(t)
		spent += s.Cost
		if s.State == "completed" && !s.Deleted {
			c.checkContent(t, s, files)
		}
	}
	if now := c.Balance(t); start.Posted-now.Posted != spent || now.Held != start.Held {
		t.Errorf("the balance went from %+v to %+v, and the jobs cost %d", start, now, spent)
	}
	c.CheckFiles(t, files)
	c.CheckLedger(t)
	return all
}

func (s JobRecord) check(t *testing.T) {
	t.Helper()
	paid := s.State == "completed"
	if !paid && s.State != "failed" || paid != (s.Cost == s.Held) || !paid && s.Cost != 0 || s.Held == 0 {
		t.Errorf("the job ends otherwise: %+v", s)
	}
	if s.Records != 1 || s.Charged != s.Cost || s.Captured != s.Cost || (s.Outcome == "succeeded") != paid ||
		(s.Hold == "captured") != paid || !paid && s.Hold != "released" {
		t.Errorf("the money is not settled once: %+v", s)
	}
	if most := map[bool]int{true: s.Completed, false: s.Failed}[paid]; s.Completed+s.Failed != most || most > 1 || !s.Deleted && most != 1 {
		t.Errorf("the events are wrong: %+v", s)
	}
}

// checkContent downloads what a completed job has and notes its files.
func (c Customer) checkContent(t *testing.T, s JobRecord, files map[string]int64) {
	t.Helper()
	var content map[string]struct{ Bytes int64 }
	if err := json.Unmarshal(s.Content, &content); err != nil || content["video"].Bytes == 0 {
		t.Errorf("%s has no content: %s, %v", s.ID, s.Content, err)
	}
	for variant, file := range content {
		a := c.Call(t, http.MethodGet, VideosPath+"/"+s.ID+"/content?variant="+variant, "")
		if a.Status != http.StatusOK || int64(len(a.Body)) != file.Bytes || variant == "video" && !strings.Contains(a.Body[:16], "ftyp") {
			t.Errorf("the %s of %s: %d with %d of %d bytes", variant, s.ID, a.Status, len(a.Body), file.Bytes)
		}
		files[s.ID+"/"+variant] = file.Bytes
	}
}

// CheckFiles insists that storage has these files of the customer's jobs and no others.
func (c Customer) CheckFiles(t *testing.T, want map[string]int64) {
	t.Helper()
	found := map[string]bool{}
	top := filepath.Join(c.Dir, "data", "blobs", "videos", c.AccountID)
	err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, _ := filepath.Rel(top, path)
		name = strings.TrimSuffix(name, "+blob")
		found[name] = true
		if info, err := d.Info(); want[name] == 0 || err != nil || info.Size() < want[name] {
			t.Errorf("there is a file of %s that has no whole video: %v", name, err)
		}
		return nil
	})
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	if len(found) != len(want) {
		t.Errorf("%d files are stored, %d are known", len(found), len(want))
	}
}
