package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"
)

const (
	// claimTime is the time after which another process takes over the work of a dead one: see app/video and app/webhook.
	claimTime = time.Minute
	// recoverMax is the time in which the next job of a test must end.
	recoverMax = 60 * time.Second
)

// mortal is a customer whose gateway is killed and started again on its data, while the upstream runs on elsewhere.
type mortal struct {
	customer

	// home is the demo as it was started. Its fields change with each restart.
	home   *gateway
	args   []string
	killed time.Time
}

// newMortal starts a gateway, an upstream whose renders take 200 ms, and a customer. Later arguments win.
func newMortal(t *testing.T, name string, args ...string) *mortal {
	t.Helper()
	_, upstream := startSimulator(t, "--render-time", "200ms")
	m := &mortal{args: append(append(videoFlags(listening.address()), "--simulator-url", upstream), args...)}
	m.home = start(t, m.args...)
	m.customer = filmmaker(t, m.home, name)
	return m
}

// kill ends the gateway as a crash does.
func (m *mortal) kill(t *testing.T) {
	t.Helper()
	if err := m.home.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-m.home.exited
	m.killed = time.Now()
}

// rise starts the gateway again. The minutes after which the living take over from the dead are not waited for: what
// the dead had claimed is free at once, and what was being asked for is as old as what is given up.
func (m *mortal) rise(t *testing.T) {
	t.Helper()
	again, err := startIn(m.home.dir, m.args...)
	if err != nil {
		t.Fatal(err)
	}
	*m.home = *again
	c := *again
	c.APIKey, c.Email, c.Password = m.APIKey, m.Email, m.Password
	m.gateway = &c
	m.lapse(t)
}

// lapse lets the claims of the dead process expire.
func (m *mortal) lapse(t *testing.T) {
	t.Helper()
	db := m.db(t)
	dead := m.killed.Add(claimTime)
	db.MustExec(`update video_jobs set claimed_until = null where claimed_until <= $1`, dead)
	db.MustExec(`update webhook_deliveries set claimed_until = null where claimed_until <= $1`, dead)
	db.MustExec(`update video_jobs set created_at = created_at - interval '3 minutes' where state in ('creating', 'uncertain')`)
}

// file reads a file below the gateway's folder.
func (g *gateway) file(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(g.dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// settle makes everything due until all jobs have ended, all that is deleted is gone, and all events were delivered.
func (c customer) settle(t *testing.T) {
	t.Helper()
	db := c.db(t)
	before := 0
	for deadline := time.Now().Add(recoverMax); ; time.Sleep(100 * time.Millisecond) {
		db.MustExec(`update video_jobs set due_at = now() where account_id = $1 and due_at > now()
			and (completed_at is null or deleted_at is not null)`, c.accountID)
		db.MustExec(`update webhook_endpoints set paused_until = null where account_id = $1 and paused_until is not null`, c.accountID)
		db.MustExec(`update webhook_deliveries set due_at = now() where account_id = $1 and due_at > now()`, c.accountID)
		var left []string
		if err := db.Select(&left, `
			select id || ' is ' || state || ' with ' || tries || ' tries' from video_jobs where account_id = $1
				and (completed_at is null or deleted_at is not null and purged_at is null)
			union all select id || ' is undelivered' from webhook_deliveries where account_id = $1 and state = 'pending'`,
			c.accountID); err != nil {
			t.Fatal(err)
		}
		if len(left) == 0 {
			return
		}
		if len(left) != before {
			before, deadline = len(left), time.Now().Add(recoverMax)
		}
		if time.Now().After(deadline) {
			t.Fatalf("after %s %d things are not settled: %s", recoverMax, len(left), strings.Join(left[:min(len(left), 10)], "; "))
		}
	}
}

// story is all that the tables say of a job.
type story struct {
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

func (c customer) stories(t *testing.T) []story {
	t.Helper()
	var all []story
	if err := c.db(t).Select(&all, `
		select j.id, j.prompt, j.state, j.error_code, j.hold_nanos, coalesce(j.cost_nanos, -1) as cost_nanos, j.content,
			j.deleted_at is not null as deleted,
			(select count(*) from usage_records where request_id = j.id) as records,
			(select coalesce(sum(cost_nanos), 0) from usage_records where request_id = j.id) as charged,
			(select coalesce(max(outcome), '') from usage_records where request_id = j.id) as outcome,
			h.state as hold, h.captured_nanos as captured,
			(select count(*) from webhook_events where object_id = j.id and type = 'video.completed') as completed,
			(select count(*) from webhook_events where object_id = j.id and type = 'video.failed') as failed
		from video_jobs j left join holds h on h.id = j.id where j.account_id = $1 order by j.id`, c.accountID); err != nil {
		t.Fatal(err)
	}
	return all
}

// audit insists, of every job of a customer, on what must hold however often anything crashed: one end, one capture or
// release of the whole hold, at most one event, whole content or none. The start is the balance before the first job.
func (c customer) audit(t *testing.T, start balance) []story {
	t.Helper()
	all := c.stories(t)
	var spent int64
	files := map[string]int64{}
	for _, s := range all {
		s.audit(t)
		spent += s.Cost
		if s.State == "completed" && !s.Deleted {
			c.whole(t, s, files)
		}
	}
	if now := c.money(t); start.Posted-now.Posted != spent || now.Held != start.Held {
		t.Errorf("the balance went from %+v to %+v, and the jobs cost %d", start, now, spent)
	}
	c.blobs(t, files)
	c.books(t)
	return all
}

func (s story) audit(t *testing.T) {
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

// whole downloads what a completed job has and notes its files.
func (c customer) whole(t *testing.T, s story, files map[string]int64) {
	t.Helper()
	var content map[string]struct{ Bytes int64 }
	if err := json.Unmarshal(s.Content, &content); err != nil || content["video"].Bytes == 0 {
		t.Errorf("%s has no content: %s, %v", s.ID, s.Content, err)
	}
	for variant, file := range content {
		a := c.call(t, http.MethodGet, videosPath+"/"+s.ID+"/content?variant="+variant, "")
		if a.status != http.StatusOK || int64(len(a.body)) != file.Bytes || variant == "video" && !strings.Contains(a.body[:16], "ftyp") {
			t.Errorf("the %s of %s: %d with %d of %d bytes", variant, s.ID, a.status, len(a.body), file.Bytes)
		}
		files[s.ID+"/"+variant] = file.Bytes
	}
}

// blobs insists that storage has these files of the customer's jobs and no others.
func (c customer) blobs(t *testing.T, want map[string]int64) {
	t.Helper()
	found := map[string]bool{}
	top := filepath.Join(c.dir, "data", "blobs", "videos", c.accountID)
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

// render is what the upstream remembers of one.
type render struct {
	Prompt    string
	External  string
	Status    string
	Cancelled bool
}

// renders are those whose prompt has the text.
func (g *gateway) renders(t *testing.T, text string) []render {
	t.Helper()
	var list struct{ Renders []render }
	if err := json.Unmarshal([]byte(g.simulator(t, "GET", "/_control/renders?text="+url.QueryEscape(text), "")), &list); err != nil {
		t.Fatal(err)
	}
	return list.Renders
}

// until waits for something to be so.
func until(t *testing.T, what string, so func() bool) {
	t.Helper()
	for deadline := time.Now().Add(recoverMax); !so(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("still not after %s: %s", recoverMax, what)
		}
	}
}

// stage is a step of a job at which its gateway is killed.
type stage struct {
	name  string
	model string
	// does is a directive of the simulator.
	does string
	// asked is true when the create call does not end before the kill.
	asked bool
	// at is the condition of the job's row at the kill.
	at string
	// deleted is true when the owner deletes the job once it is in progress.
	deleted bool
	// renders is the number of renders that the upstream remembers. It may forget a cancelled one.
	renders int
	ends    string
	// code is that of the failure.
	code   string
	events int
}

// stages are those of billing.md C18 to C20, and the steps between. An upstream that has no look-up is never asked
// twice, so a job of which it said nothing is given up, and costs nothing.
var stages = []stage{
	{name: "before the upstream has it", model: reelModel, does: "hold", asked: true, at: `state = 'creating'`,
		ends: "failed", code: "upstream_error", events: 1},
	{name: "after the upstream has it", model: reelModel, does: "late-create;hold", asked: true, at: `state = 'creating'`,
		renders: 1, ends: "completed", events: 1},
	{name: "after the upstream has it by our name", model: swiftModel, does: "late-create;hold", asked: true, at: `state = 'creating'`,
		renders: 1, ends: "completed", events: 1},
	{name: "after one without look-up has it", model: fastModel, does: "late-create;hold", asked: true, at: `state = 'creating'`,
		renders: 1, ends: "failed", code: "upstream_error", events: 1},
	{name: "while it is queued", model: reelModel, does: "on=status;status=503;times=4", at: `state = 'queued' and upstream_id <> ''`,
		renders: 1, ends: "completed", events: 1},
	{name: "while it is rendered", model: reelModel, does: "render=hold", at: `state = 'in_progress'`,
		renders: 1, ends: "completed", events: 1},
	{name: "while it is looked at", model: swiftModel, does: "on=status;stall;times=1", at: `state = 'queued' and claimed_until > now()`,
		renders: 1, ends: "completed", events: 1},
	{name: "while it is copied", model: reelModel, does: "content=slow;slow-drip=10s;times=1",
		at: `state = 'storing' and claimed_until > now()`, renders: 1, ends: "completed", events: 1},
	{name: "while it is called off", model: reelModel, does: "render=hold;on=cancel;stall;times=1", deleted: true,
		at: `deleted_at is not null and claimed_until > now()`, ends: "failed", code: "generation_cancelled"},
	{name: "after it is deleted", model: fastModel, does: "render=hold", deleted: true, at: `deleted_at is not null`,
		renders: 1, ends: "failed", code: "generation_cancelled"},
}

func (s stage) prompt() string { return "simulate: " + s.does + "\nkilled " + s.name }

// begin brings a job to its step.
func (s stage) begin(t *testing.T, m *mortal, db *sqlx.DB) {
	t.Helper()
	if s.asked {
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), recoverMax)
			defer cancel()
			// The kill cuts this call, so its answer is not checked.
			_, _ = m.tryCall(ctx, http.MethodPost, videosPath, videoBody(s.model, s.prompt()))
		}()
	} else {
		id := textAt(m.makeVideo(t, videoBody(s.model, s.prompt())), "id")
		if s.deleted {
			until(t, s.name, func() bool { return textAt(m.task(t, id), "status") == "in_progress" })
			if a := m.call(t, http.MethodDelete, videosPath+"/"+id, ""); a.status != http.StatusOK {
				t.Fatalf("%s: %d %s", s.name, a.status, a.body)
			}
		}
	}
	until(t, s.name, func() bool {
		var there bool
		err := db.Get(&there, `select exists (select from video_jobs where prompt = $1 and `+s.at+`)`, s.prompt())
		return err == nil && there
	})
}

// TestFaultVideoKilledAtEveryStep kills the gateway when it has a job at each step, and once more while it recovers. Each
// job has one end and one charge, and the upstream is never asked for a render twice.
func TestFaultVideoKilledAtEveryStep(t *testing.T) {
	t.Parallel()
	m := newMortal(t, "steps")
	before := m.money(t)
	db := m.db(t)
	hear := newReceiver(t)
	m.listens(t, hear)
	// The kill cuts the first attempt to this receiver.
	deaf := newReceiver(t)
	told, leave := make(chan struct{}, hitsMax), make(chan struct{})
	deaf.answers(func(_ http.ResponseWriter, r *http.Request) {
		told <- struct{}{}
		select {
		case <-leave:
		case <-r.Context().Done():
		}
	})
	m.listens(t, deaf)
	done := textAt(m.film(t, videoBody(reelModel, "done before")), "id")
	hear.about(t, "video.completed", done)
	<-told
	for _, s := range stages {
		s.begin(t, m, db)
	}
	m.simulator(t, "GET", "/_control/waiting?at_least=4&timeout=20s", "")
	m.kill(t)
	close(leave)
	deaf.answers(nil)
	m.simulator(t, "POST", "/_control/finish?id=killed+while+it+is+rendered", "")
	m.rise(t)
	// The second kill comes at a random moment of the recovery.
	time.Sleep(time.Duration(rand.IntN(1000)) * time.Millisecond)
	m.kill(t)
	m.rise(t)
	m.settle(t)
	byPrompt := map[string]story{}
	for _, s := range m.audit(t, before) {
		byPrompt[s.Prompt] = s
	}
	for _, s := range stages {
		got := byPrompt[s.prompt()]
		if got.State != s.ends || got.Code != s.code || got.Completed+got.Failed != s.events {
			t.Errorf("killed %s: %+v", s.name, got)
		}
		made := slices.DeleteFunc(m.renders(t, s.prompt()), func(r render) bool { return r.Prompt != s.prompt() })
		asked := strings.Count(m.received(t, "killed "+s.name), "killed "+s.name+`"`)
		if len(made) != s.renders || asked != 1 {
			t.Errorf("killed %s: the upstream was asked %d times, and has %+v", s.name, asked, made)
		}
	}
	sameOnEachTry(t, deaf.hits())
	if n := len(deaf.about(t, "video.completed", done)); n < 2 {
		t.Errorf("the event that was cut came %d times", n)
	}
}

// sameOnEachTry insists that each object's event has one id and one body however often it came.
func sameOnEachTry(t *testing.T, hits []hit) {
	t.Helper()
	first := map[string]hit{}
	for _, h := range hits {
		object := textAt(h.event(t), "data", "id")
		if was, again := first[object]; again && (was.header.Get("Webhook-Id") != h.header.Get("Webhook-Id") || was.body != h.body) {
			t.Errorf("%s was told as %s %s, then as %s %s", object, was.header.Get("Webhook-Id"), was.body, h.header.Get("Webhook-Id"), h.body)
		}
		first[object] = h
		if h.header.Get("Webhook-Id") == "" {
			t.Errorf("%s was told without an id", object)
		}
	}
}

// TestFaultVideoKilledAtAnyMoment kills the gateway again and again under a mix of jobs that complete, fail and are deleted,
// wherever that strikes. Whatever became of the calls, the tables and the upstream agree in the end.
func TestFaultVideoKilledAtAnyMoment(t *testing.T) {
	t.Parallel()
	m := newMortal(t, "moments", "--video-poll-interval", "50ms")
	before := m.money(t)
	hear := newReceiver(t)
	m.listens(t, hear)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, seed))
	asked, told := 0, map[string]bool{}
	for range randomKills {
		ctx, cancel := context.WithTimeout(context.Background(), callTimeMax)
		var all sync.WaitGroup
		var mu sync.Mutex
		for range 4 {
			first := asked
			asked += 100
			all.Go(func() {
				for i := first; i < first+100; i++ {
					id, ok := m.oneOfMany(ctx, i)
					if !ok {
						// The gateway is dead.
						return
					}
					mu.Lock()
					told[id] = true
					mu.Unlock()
				}
			})
		}
		time.Sleep(300*time.Millisecond + time.Duration(random.IntN(900))*time.Millisecond)
		m.kill(t)
		all.Wait()
		cancel()
		m.rise(t)
	}
	m.settle(t)
	stories := m.audit(t, before)
	for _, s := range stories {
		delete(told, s.ID)
		made := len(m.renders(t, s.Prompt))
		if made > 1 || s.State == "completed" && made != 1 {
			t.Errorf("the upstream was asked for %d renders of %+v", made, s)
		}
	}
	if len(told) > 0 {
		t.Errorf("%d jobs that clients were told of are unknown", len(told))
	}
	sameOnEachTry(t, hear.hits())
	t.Logf("%d jobs, %d events", len(stories), len(hear.hits()))
}

// oneOfMany makes a job whose fate depends on its number: it may complete, fail early or late, or be deleted. It reports
// false when no process answers.
func (m *mortal) oneOfMany(ctx context.Context, i int) (string, bool) {
	model := []string{reelModel, fastModel, reelModel}[i%3]
	prompt := fmt.Sprintf("moment %04d.", i)
	if i%4 == 1 {
		prompt = "simulate: fail=server_error;render=100ms\n" + prompt
	}
	a, err := m.tryCall(ctx, http.MethodPost, videosPath, videoBody(model, prompt))
	if err != nil {
		return "", false
	}
	var task struct{ ID string }
	_ = json.Unmarshal([]byte(a.body), &task)
	if i%5 == 2 {
		_, err = m.tryCall(ctx, http.MethodDelete, videosPath+"/"+task.ID, "")
	}
	return task.ID, err == nil && a.status == http.StatusOK
}
