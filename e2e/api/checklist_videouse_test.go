package api

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"umg/e2e/harness"
)

var videoUseLines = []checkLine{
	{"H151 GET v1 videos id returns the task", filmed(showsTask)},
	{"H151 the status route answers conditions", filmed(statusConditions)},
	{"H152 GET v1 vendora videos id is identical", filmed(spellingsAgree("/v1/vendora/videos"))},
	{"H152 the alias is identical", filmed(spellingsAgree("/v1/openai/videos"))},
	{"H153 the status route shows created beside created_at, and takes either of an upstream", filmed(func(t *testing.T, v *films) {
		o := v.CompleteVideo(t, harness.VideoBody(harness.VideosModel, "simulate: created\nan upstream that says created"))
		if harness.IntMember(t, o, "created") != harness.IntMember(t, o, "created_at") || harness.IntMember(t, o, "created") == 0 {
			t.Errorf("%v", o)
		}
	})},
	{"H154 a completed task says what it cost, until when it is kept and when it was done", filmed(func(t *testing.T, v *films) {
		for id, o := range v.done {
			isDone(t, o)
			is(t, o, "model", id)
		}
	})},
	{"H155 completed and failed are terminal", filmed(endsOnce)},
	{"H156 a task completes on success and fails on failure, and only moves forward", filmed(movesForward)},
	{"H157 polling is not rate limited", filmed(pollingIsFree)},
	{"H158 POST v1 videos id remix exists", filmed(remixesAt(harness.VideosPath))},
	{"H159 POST v1 vendora videos id remix is identical", filmed(func(t *testing.T, v *films) {
		for _, root := range videoRoots[1:] {
			remixesAt(root)(t, v)
		}
	})},
	{"H160 remix takes a prompt, which is required, and a model, which is not", filmed(remixFields)},
	{"H161 remix needs an existing source in the state completed", filmed(remixSources)},
	{"H162 remix returns a new task that is polled like any other", filmed(remixIsATask)},
	{"H163 GET v1 videos id content streams the binary with standard headers", filmed(contentHeaders)},
	{"H163 content answers ranges and conditions", filmed(contentRanges)},
	{"H164 variant is video, thumbnail or spritesheet", filmed(contentVariants)},
	{"H164 a variant that an upstream does not have is made, or said to be unavailable", filmed(variantsWithoutUpstream)},
	{"H165 content is given only once the task is completed", filmed(contentWhenCompleted)},
	{"H166 GET v1 videos lists the videos in both orders, page by page", filmed(listPages)},
	{"H166 the list has filters", filmed(listFilters)},
	{"H166 pages stay right while videos come and go", filmed(listMoves)},
	{"H167 DELETE v1 videos id removes the video", filmed(deletesEnded)},
	{"H167 a running video is hidden at once, called off and not charged", filmed(deletesRunning)},
}

// isDone insists that a task is one that has completed, with all that is documented.
func isDone(t *testing.T, o map[string]any) {
	t.Helper()
	created, completed, expires := harness.IntMember(t, o, "created_at"), harness.IntMember(t, o, "completed_at"), harness.IntMember(t, o, "expires_at")
	if harness.TextMember(o, "status") != "completed" || o["error"] != nil || completed < created || expires <= completed || harness.TokensMember(t, o, "progress") != 100 {
		t.Errorf("no completed task: %v", o)
	}
	if cost := harness.Number(harness.Member(o, "usage", "cost")).String(); harness.Nanos(t, cost) <= 0 || harness.TextMember(o, "usage", "currency") != "USD" {
		t.Errorf("the usage is %v", o["usage"])
	}
}

func showsTask(t *testing.T, v *films) {
	for id, made := range v.made {
		a := v.Call(t, "GET", harness.VideosPath+"/"+harness.TextMember(made, "id"), "")
		o := harness.DecodeVideo(t, a)
		for _, name := range []string{"id", "object", "created_at", "created", "model", "prompt", "seconds", "size", "remixed_from_video_id"} {
			if o[name] != made[name] {
				t.Errorf("%s: %s was %v and is %v", id, name, made[name], o[name])
			}
		}
		if a.Header.Get("Content-Type") != "application/json" || a.Header.Get("Openai-Poll-After-Ms") != "" {
			t.Errorf("the headers of an ended task are %v", a.Header)
		}
	}
}

func statusConditions(t *testing.T, v *films) {
	for _, root := range videoRoots {
		path := root + "/" + harness.TextMember(v.done[harness.VideosModel], "id")
		a := v.Call(t, "GET", path, "")
		tag := a.Header.Get("Etag")
		for _, sent := range []string{tag, "W/" + tag, `"other", ` + tag, "*"} {
			if b := v.Call(t, "GET", path, "", "If-None-Match", sent); b.Status != http.StatusNotModified || b.Body != "" {
				t.Errorf("with %s: %d", sent, b.Status)
			}
		}
		if b := v.Call(t, "GET", path, "", "If-None-Match", `"other"`); b.Status != http.StatusOK || b.Body != a.Body {
			t.Errorf("with another tag: %d", b.Status)
		}
		if h := v.Call(t, "HEAD", path, ""); h.Status != http.StatusOK || h.Body != "" || h.Header.Get("Content-Length") != fmt.Sprint(len(a.Body)) {
			t.Errorf("HEAD: %d %v", h.Status, h.Header)
		}
	}
	mark := harness.UniqueName("conditions")
	id := harness.TextMember(v.CreateVideo(t, harness.VideoBody(harness.VideosModel, "simulate: render=hold\n"+mark)), "id")
	running := v.Call(t, "GET", harness.VideosPath+"/"+id, "")
	for _, name := range []string{"Openai-Poll-After-Ms", "Poll-Hint"} {
		if running.Header.Get(name) != "5000" {
			t.Errorf("the header %s of a running task is %q", name, running.Header.Get(name))
		}
	}
	v.CallSimulator(t, "POST", "/_control/finish?id="+mark, "")
	v.WaitVideo(t, id)
	if a := v.Call(t, "GET", harness.VideosPath+"/"+id, "", "If-None-Match", running.Header.Get("Etag")); a.Status != http.StatusOK || a.Header.Get("Etag") == running.Header.Get("Etag") {
		t.Errorf("an ended task has the tag of the running one: %d", a.Status)
	}
}

// endsOnce lets an upstream change its mind after the end, and looks at the task and the money for a while.
func endsOnce(t *testing.T, v *films) {
	c := harness.NewVideoCustomer(t, v.Gateway, "terminal")
	done := c.CompleteVideo(t, harness.VideoBody(harness.VideosModel, "simulate: flip\ncompleted, then failed"))
	failed := c.FailVideo(t, harness.VideoBody(harness.TasksModel, "simulate: fail=broken\nfailed"), "generation_failed")
	before := c.Balance(t)
	for until := time.Now().Add(time.Second); time.Now().Before(until); time.Sleep(harness.PollInterval) {
		for _, o := range []map[string]any{done, failed} {
			if now := c.GetVideo(t, harness.TextMember(o, "id")); fmt.Sprint(now) != fmt.Sprint(o) {
				t.Fatalf("%v became %v", o, now)
			}
		}
	}
	if after := c.Balance(t); after != before || after.Held != 0 {
		t.Errorf("the balance moved from %+v to %+v", before, after)
	}
}

func movesForward(t *testing.T, v *films) {
	for _, id := range videoModels {
		for _, spec := range []string{"", "simulate: backwards\n", "simulate: unknown-status\n", "simulate: progress=250\n", "simulate: progress=99\n"} {
			o := v.CompleteVideo(t, harness.VideoBody(id, spec+"forward"))
			isDone(t, o)
		}
		v.FailVideo(t, harness.VideoBody(id, "guardrail-late: minors"), "moderation_blocked")
		o := v.FailVideo(t, harness.VideoBody(id, "simulate: fail=broken\nfails"), "generation_failed")
		if cost := harness.Member(o, "usage", "cost"); o["usage"] != nil && harness.Nanos(t, harness.Number(cost).String()) != 0 {
			t.Errorf("a failure cost %v", cost)
		}
	}
}

// pollingIsFree polls far more often than a client should, with the default limits.
func pollingIsFree(t *testing.T, v *films) {
	c := v.NewCustomer(t, "poller")
	id := harness.TextMember(c.CompleteVideo(t, harness.VideoBody(harness.VideosModel, "polled")), "id")
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 50 {
				if a := c.Call(t, "GET", harness.VideosPath+"/"+id, ""); a.Status != http.StatusOK {
					t.Errorf("%d %s", a.Status, a.Body)
					return
				}
			}
		})
	}
	all.Wait()
}

func remixesAt(root string) func(*testing.T, *films) {
	return func(t *testing.T, v *films) {
		for _, id := range videoModels {
			source := harness.TextMember(v.done[id], "id")
			path := root + "/" + source + "/remix"
			o := harness.DecodeVideo(t, v.Call(t, "POST", path, `{"prompt":"in the rain"}`))
			isNew(t, o)
			is(t, o, "remixed_from_video_id", source)
			is(t, o, "prompt", "in the rain")
			is(t, o, "model", id)
			is(t, o, "size", harness.TextMember(v.done[id], "size"))
			is(t, o, "seconds", harness.TextMember(v.done[id], "seconds"))
			o = harness.DecodeVideo(t, v.PostForm(t, path, harness.FormPart{Name: "prompt", Value: "by a form"}))
			is(t, o, "remixed_from_video_id", source)
			harness.CheckVideoError(t, v.Call(t, "POST", path, `{"prompt":"x"}`, "Content-Type", "text/plain"), 415, "unsupported_media_type", "")
		}
	}
}

func remixFields(t *testing.T, v *films) {
	for _, id := range videoModels {
		path := harness.VideosPath + "/" + harness.TextMember(v.done[id], "id") + "/remix"
		for _, body := range []string{`{}`, `{"prompt":null}`, `{"prompt":""}`, `{"prompt":" "}`, `{"prompt":7}`, `{"model":"` + id + `"}`,
			`{"prompt":` + harness.Quote(strings.Repeat("x", 32_001)) + `}`} {
			code := "invalid_value"
			if !strings.Contains(body, `"prompt"`) {
				code = "missing_required_parameter"
			}
			harness.CheckVideoError(t, v.Call(t, "POST", path, body), 400, code, "prompt")
		}
		is(t, harness.DecodeVideo(t, v.Call(t, "POST", path, `{"prompt":"x","model":"`+id+`","user":"u","metadata":{"a":"b"},"unknown":1}`)), "model", id)
		is(t, harness.DecodeVideo(t, v.Call(t, "POST", path, `{"prompt":"x","model":null}`)), "model", id)
		for _, model := range []string{`""`, `7`, `[]`} {
			harness.CheckVideoError(t, v.Call(t, "POST", path, `{"prompt":"x","model":`+model+`}`), 400, "invalid_value", "model")
		}
		for _, model := range []string{"unknown/nothing", harness.CheapModel, "tessera/canvas"} {
			harness.CheckVideoError(t, v.Call(t, "POST", path, `{"prompt":"x","model":"`+model+`"}`), 404, "model_not_found", "model")
		}
	}
	path := harness.VideosPath + "/" + harness.TextMember(v.done[harness.OperationsModel], "id") + "/remix"
	harness.CheckVideoError(t, v.Call(t, "POST", path, `{"prompt":"x","model":"`+harness.VideosModel+`"}`), 400, "invalid_value", "model")
}

func remixSources(t *testing.T, v *films) {
	c := harness.NewVideoCustomer(t, v.Gateway, "sources")
	foreign := harness.TextMember(v.done[harness.VideosModel], "id")
	failed := harness.TextMember(c.FailVideo(t, harness.VideoBody(harness.VideosModel, "simulate: fail=broken\nx"), "generation_failed"), "id")
	running := harness.TextMember(c.CreateVideo(t, harness.VideoBody(harness.VideosModel, "simulate: render=hold\nx")), "id")
	before := c.Balance(t)
	for _, root := range videoRoots {
		remix := func(id string) harness.Response { return c.Call(t, "POST", root+"/"+id+"/remix", `{"prompt":"x"}`) }
		for _, id := range []string{foreign, "video_00000000000000000000000000", "nonsense"} {
			harness.CheckVideoError(t, remix(id), 404, "video_not_found", "video_id")
		}
		for _, id := range []string{failed, running} {
			harness.CheckVideoError(t, remix(id), 400, "video_not_ready", "video_id")
		}
	}
	if after := c.Balance(t); after != before {
		t.Errorf("%+v became %+v", before, after)
	}
	isDeleted(t, c.Call(t, "DELETE", harness.VideosPath+"/"+running, ""), running)
}

// remixIsATask makes a remix of a remix with each style of upstream, which each cost what a video costs.
func remixIsATask(t *testing.T, v *films) {
	c := harness.NewVideoCustomer(t, v.Gateway, "remixes")
	for _, id := range []string{harness.VideosModel, harness.OperationsModel, harness.TasksModel} {
		before := c.Balance(t)
		source := c.CompleteVideo(t, harness.VideoBody(id, "first"))
		last, cost := source, harness.Number(harness.Member(source, "usage", "cost")).String()
		for _, prompt := range []string{"second", "third"} {
			made := harness.DecodeVideo(t, c.Call(t, "POST", harness.VideosPath+"/"+harness.TextMember(last, "id")+"/remix", `{"prompt":"`+prompt+`"}`))
			done := c.WaitVideo(t, harness.TextMember(made, "id"))
			isDone(t, done)
			is(t, done, "remixed_from_video_id", harness.TextMember(last, "id"))
			if got := harness.Number(harness.Member(done, "usage", "cost")).String(); got != cost {
				t.Errorf("%s: the remix cost %s, the source %s", id, got, cost)
			}
			old, changed := c.Call(t, "GET", harness.VideosPath+"/"+harness.TextMember(last, "id")+"/content", ""), c.Call(t, "GET", harness.VideosPath+"/"+harness.TextMember(done, "id")+"/content", "")
			if harness.ReadMP4(t, changed.Body) != harness.ReadMP4(t, old.Body) || changed.Body == old.Body {
				t.Errorf("%s: the remix is %+v of %+v", id, harness.ReadMP4(t, changed.Body), harness.ReadMP4(t, old.Body))
			}
			last = done
		}
		if after := c.Balance(t); before.Posted-after.Posted != 3*harness.Nanos(t, cost) || after.Held != 0 {
			t.Errorf("%s: three times %s is not what lies between %+v and %+v", id, cost, before, after)
		}
		if got := listVideos(t, c, "?remixed_from_video_id="+harness.TextMember(source, "id")); len(got) != 1 {
			t.Errorf("%s: the remixes of the source are %v", id, got)
		}
	}
}

func deletesEnded(t *testing.T, v *films) {
	c := harness.NewVideoCustomer(t, v.Gateway, "deletes")
	for _, root := range videoRoots {
		done := c.CompleteVideo(t, harness.VideoBody(harness.VideosModel, "deleted when done"))
		failed := c.FailVideo(t, harness.VideoBody(harness.VideosModel, "simulate: fail=broken\nx"), "generation_failed")
		before := c.Balance(t)
		for _, o := range []map[string]any{done, failed} {
			id := harness.TextMember(o, "id")
			isDeleted(t, c.Call(t, "DELETE", root+"/"+id, ""), id)
			isGone(t, c, id)
		}
		if after := c.Balance(t); after != before {
			t.Errorf("%+v became %+v", before, after)
		}
	}
	var kept int
	if err := c.DB(t).Get(&kept, `select count(*) from video_jobs where account_id = $1 and purged_at is null`, c.AccountID); err != nil || kept != 0 {
		t.Errorf("of %d deleted videos there is content: %v", kept, err)
	}
}

// isGone insists that nothing serves a video any more.
func isGone(t *testing.T, c harness.Customer, id string) {
	t.Helper()
	for _, root := range videoRoots {
		for _, e := range []endpoint{
			{"GET", root + "/" + id, "", ""}, {"DELETE", root + "/" + id, "", ""}, {"GET", root + "/" + id + "/content", "", ""},
			{"GET", root + "/" + id + "/content?variant=thumbnail", "", ""}, {"POST", root + "/" + id + "/remix", `{"prompt":"x"}`, ""},
		} {
			harness.CheckVideoError(t, c.Call(t, e.method, e.path, e.body), 404, "video_not_found", "video_id")
		}
	}
	if slices.Contains(listVideos(t, c, "?limit=100"), id) {
		t.Errorf("%s is listed", id)
	}
}

func deletesRunning(t *testing.T, v *films) {
	c := harness.NewVideoCustomer(t, v.Gateway, "deletes-running")
	before := c.Balance(t)
	for _, model := range []string{harness.VideosModel, harness.OperationsModel, harness.TasksModel} {
		mark := harness.UniqueName("called-off")
		id := harness.TextMember(c.CreateVideo(t, harness.VideoBody(model, "simulate: render=hold\n"+mark)), "id")
		if c.Balance(t).Held == 0 {
			t.Error("nothing is held for a running video")
		}
		isDeleted(t, c.Call(t, "DELETE", harness.VideosPath+"/"+id, ""), id)
		isGone(t, c, id)
		// An upstream that cannot cancel a video finishes it.
		v.CallSimulator(t, "POST", "/_control/finish?id="+mark, "")
	}
	for deadline := time.Now().Add(harness.JobTimeMax); c.Balance(t).Held != 0; time.Sleep(harness.PollInterval) {
		if time.Now().After(deadline) {
			t.Fatalf("still held: %+v", c.Balance(t))
		}
	}
	if after := c.Balance(t); before.Posted-after.Posted > 4*80_000_000+4*100_000_000+5*60_000_000 || after.Posted > before.Posted {
		t.Errorf("%+v became %+v", before, after)
	}
	c.CheckLedger(t)
}
