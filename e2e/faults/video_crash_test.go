package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"
	"umg/e2e/harness"
)

// render is what the upstream remembers of one.
type render struct {
	Prompt    string
	External  string
	Status    string
	Cancelled bool
}

// upstreamRenders are those whose prompt has the text.
func upstreamRenders(t *testing.T, g *harness.Gateway, text string) []render {
	t.Helper()
	var list struct{ Renders []render }
	if err := json.Unmarshal([]byte(g.CallSimulator(t, "GET", "/_control/renders?text="+url.QueryEscape(text), "")), &list); err != nil {
		t.Fatal(err)
	}
	return list.Renders
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
	{name: "before the upstream has it", model: harness.VideosModel, does: "hold", asked: true, at: `state = 'creating'`,
		ends: "failed", code: "upstream_error", events: 1},
	{name: "after the upstream has it", model: harness.VideosModel, does: "late-create;hold", asked: true, at: `state = 'creating'`,
		renders: 1, ends: "completed", events: 1},
	{name: "after the upstream has it by our name", model: harness.TasksModel, does: "late-create;hold", asked: true, at: `state = 'creating'`,
		renders: 1, ends: "completed", events: 1},
	{name: "after one without look-up has it", model: harness.OperationsModel, does: "late-create;hold", asked: true, at: `state = 'creating'`,
		renders: 1, ends: "failed", code: "upstream_error", events: 1},
	{name: "while it is queued", model: harness.VideosModel, does: "on=status;status=503;times=4", at: `state = 'queued' and upstream_id <> ''`,
		renders: 1, ends: "completed", events: 1},
	{name: "while it is rendered", model: harness.VideosModel, does: "render=hold", at: `state = 'in_progress'`,
		renders: 1, ends: "completed", events: 1},
	{name: "while it is looked at", model: harness.TasksModel, does: "on=status;stall;times=1", at: `state = 'queued' and claimed_until > now()`,
		renders: 1, ends: "completed", events: 1},
	{name: "while it is copied", model: harness.VideosModel, does: "content=slow;slow-drip=10s;times=1",
		at: `state = 'storing' and claimed_until > now()`, renders: 1, ends: "completed", events: 1},
	{name: "while it is called off", model: harness.VideosModel, does: "render=hold;on=cancel;stall;times=1", deleted: true,
		at: `deleted_at is not null and claimed_until > now()`, ends: "failed", code: "generation_cancelled"},
	{name: "after it is deleted", model: harness.OperationsModel, does: "render=hold", deleted: true, at: `deleted_at is not null`,
		renders: 1, ends: "failed", code: "generation_cancelled"},
}

func (s stage) prompt() string { return "simulate: " + s.does + "\nkilled " + s.name }

// begin brings a job to its step.
func (s stage) begin(t *testing.T, m *harness.RestartingDemo, db *sqlx.DB) {
	t.Helper()
	if s.asked {
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), harness.RecoveryTimeMax)
			defer cancel()
			// The kill cuts this call, so its answer is not checked.
			_, _ = m.TryCall(ctx, http.MethodPost, harness.VideosPath, harness.VideoBody(s.model, s.prompt()))
		}()
	} else {
		id := harness.TextMember(m.CreateVideo(t, harness.VideoBody(s.model, s.prompt())), "id")
		if s.deleted {
			harness.WaitUntil(t, s.name, func() bool { return harness.TextMember(m.GetVideo(t, id), "status") == "in_progress" })
			if a := m.Call(t, http.MethodDelete, harness.VideosPath+"/"+id, ""); a.Status != http.StatusOK {
				t.Fatalf("%s: %d %s", s.name, a.Status, a.Body)
			}
		}
	}
	harness.WaitUntil(t, s.name, func() bool {
		var there bool
		err := db.Get(&there, `select exists (select from video_jobs where prompt = $1 and `+s.at+`)`, s.prompt())
		return err == nil && there
	})
}

// TestFaultVideoKilledAtEveryStep kills the gateway when it has a job at each step, and once more while it recovers. Each
// job has one end and one charge, and the upstream is never asked for a render twice.
func TestFaultVideoKilledAtEveryStep(t *testing.T) {
	t.Parallel()
	m := harness.NewRestartingDemo(t, "steps")
	before := m.Balance(t)
	db := m.DB(t)
	hear := harness.NewWebhookReceiver(t)
	m.AddWebhook(t, hear)
	// The kill cuts the first attempt to this receiver.
	deaf := harness.NewWebhookReceiver(t)
	told, leave := make(chan struct{}, harness.WebhooksMax), make(chan struct{})
	deaf.AnswerWith(func(_ http.ResponseWriter, r *http.Request) {
		told <- struct{}{}
		select {
		case <-leave:
		case <-r.Context().Done():
		}
	})
	m.AddWebhook(t, deaf)
	done := harness.TextMember(m.CompleteVideo(t, harness.VideoBody(harness.VideosModel, "done before")), "id")
	hear.WaitForEvent(t, "video.completed", done)
	<-told
	for _, s := range stages {
		s.begin(t, m, db)
	}
	m.CallSimulator(t, "GET", "/_control/waiting?at_least=4&timeout=20s", "")
	m.Kill(t)
	close(leave)
	deaf.AnswerWith(nil)
	m.CallSimulator(t, "POST", "/_control/finish?id=killed+while+it+is+rendered", "")
	m.Restart(t)
	// The second kill comes at a random moment of the recovery.
	time.Sleep(time.Duration(rand.IntN(1000)) * time.Millisecond)
	m.Kill(t)
	m.Restart(t)
	m.FinishJobs(t)
	byPrompt := map[string]harness.JobRecord{}
	for _, s := range m.CheckJobs(t, before) {
		byPrompt[s.Prompt] = s
	}
	for _, s := range stages {
		got := byPrompt[s.prompt()]
		if got.State != s.ends || got.Code != s.code || got.Completed+got.Failed != s.events {
			t.Errorf("killed %s: %+v", s.name, got)
		}
		made := slices.DeleteFunc(upstreamRenders(t, m.Gateway, s.prompt()), func(r render) bool { return r.Prompt != s.prompt() })
		asked := strings.Count(m.UpstreamBodies(t, "killed "+s.name), "killed "+s.name+`"`)
		if len(made) != s.renders || asked != 1 {
			t.Errorf("killed %s: the upstream was asked %d times, and has %+v", s.name, asked, made)
		}
	}
	harness.CheckRetriesEqual(t, deaf.Received())
	if n := len(deaf.WaitForEvent(t, "video.completed", done)); n < 2 {
		t.Errorf("the event that was cut came %d times", n)
	}
}

// TestFaultVideoKilledAtAnyMoment kills the gateway again and again under a mix of jobs that complete, fail and are deleted,
// wherever that strikes. Whatever became of the calls, the tables and the upstream agree in the end.
func TestFaultVideoKilledAtAnyMoment(t *testing.T) {
	t.Parallel()
	m := harness.NewRestartingDemo(t, "moments", "--video-poll-interval", "50ms")
	before := m.Balance(t)
	hear := harness.NewWebhookReceiver(t)
	m.AddWebhook(t, hear)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, seed))
	asked, told := 0, map[string]bool{}
	for range harness.RandomKills {
		ctx, cancel := context.WithTimeout(context.Background(), harness.CallTimeMax)
		var all sync.WaitGroup
		var mu sync.Mutex
		for range 4 {
			first := asked
			asked += 100
			all.Go(func() {
				for i := first; i < first+100; i++ {
					id, ok := oneOfMany(ctx, m, i)
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
		m.Kill(t)
		all.Wait()
		cancel()
		m.Restart(t)
	}
	m.FinishJobs(t)
	stories := m.CheckJobs(t, before)
	for _, s := range stories {
		delete(told, s.ID)
		made := len(upstreamRenders(t, m.Gateway, s.Prompt))
		if made > 1 || s.State == "completed" && made != 1 {
			t.Errorf("the upstream was asked for %d renders of %+v", made, s)
		}
	}
	if len(told) > 0 {
		t.Errorf("%d jobs that clients were told of are unknown", len(told))
	}
	harness.CheckRetriesEqual(t, hear.Received())
	t.Logf("%d jobs, %d events", len(stories), len(hear.Received()))
}

// oneOfMany makes a job whose fate depends on its number: it may complete, fail early or late, or be deleted. It reports
// false when no process answers.
func oneOfMany(ctx context.Context, m *harness.RestartingDemo, i int) (string, bool) {
	model := []string{harness.VideosModel, harness.OperationsModel, harness.VideosModel}[i%3]
	prompt := fmt.Sprintf("moment %04d.", i)
	if i%4 == 1 {
		prompt = "simulate: fail=server_error;render=100ms\n" + prompt
	}
	a, err := m.TryCall(ctx, http.MethodPost, harness.VideosPath, harness.VideoBody(model, prompt))
	if err != nil {
		return "", false
	}
	var task struct{ ID string }
	_ = json.Unmarshal([]byte(a.Body), &task)
	if i%5 == 2 {
		_, err = m.TryCall(ctx, http.MethodDelete, harness.VideosPath+"/"+task.ID, "")
	}
	return task.ID, err == nil && a.Status == http.StatusOK
}
