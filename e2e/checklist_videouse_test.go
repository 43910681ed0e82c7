package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

var videoUseLines = []checkLine{
	{"H151 GET v1 videos id returns the task", filmed(showsTask)},
	{"H151 the status route answers conditions", filmed(statusConditions)},
	{"H152 GET v1 vendora videos id is identical", filmed(spellingsAgree("/v1/vendora/videos"))},
	{"H152 the alias is identical", filmed(spellingsAgree("/v1/openai/videos"))},
	{"H153 the status route shows created beside created_at, and takes either of an upstream", filmed(func(t *testing.T, v *films) {
		o := v.film(t, videoBody(reelModel, "simulate: created\nan upstream that says created"))
		if whole(t, o, "created") != whole(t, o, "created_at") || whole(t, o, "created") == 0 {
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
	{"H158 POST v1 videos id remix exists", filmed(remixesAt(videosPath))},
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
	created, completed, expires := whole(t, o, "created_at"), whole(t, o, "completed_at"), whole(t, o, "expires_at")
	if textAt(o, "status") != "completed" || o["error"] != nil || completed < created || expires <= completed || tokensAt(t, o, "progress") != 100 {
		t.Errorf("no completed task: %v", o)
	}
	if cost := number(at(o, "usage", "cost")).String(); nanos(t, cost) <= 0 || textAt(o, "usage", "currency") != "USD" {
		t.Errorf("the usage is %v", o["usage"])
	}
}

func showsTask(t *testing.T, v *films) {
	for id, made := range v.made {
		a := v.call(t, "GET", videosPath+"/"+textAt(made, "id"), "")
		o := taskOf(t, a)
		for _, name := range []string{"id", "object", "created_at", "created", "model", "prompt", "seconds", "size", "remixed_from_video_id"} {
			if o[name] != made[name] {
				t.Errorf("%s: %s was %v and is %v", id, name, made[name], o[name])
			}
		}
		if a.header.Get("Content-Type") != "application/json" || a.header.Get("Openai-Poll-After-Ms") != "" {
			t.Errorf("the headers of an ended task are %v", a.header)
		}
	}
}

func statusConditions(t *testing.T, v *films) {
	for _, root := range videoRoots {
		path := root + "/" + textAt(v.done[reelModel], "id")
		a := v.call(t, "GET", path, "")
		tag := a.header.Get("Etag")
		for _, sent := range []string{tag, "W/" + tag, `"other", ` + tag, "*"} {
			if b := v.call(t, "GET", path, "", "If-None-Match", sent); b.status != http.StatusNotModified || b.body != "" {
				t.Errorf("with %s: %d", sent, b.status)
			}
		}
		if b := v.call(t, "GET", path, "", "If-None-Match", `"other"`); b.status != http.StatusOK || b.body != a.body {
			t.Errorf("with another tag: %d", b.status)
		}
		if h := v.call(t, "HEAD", path, ""); h.status != http.StatusOK || h.body != "" || h.header.Get("Content-Length") != fmt.Sprint(len(a.body)) {
			t.Errorf("HEAD: %d %v", h.status, h.header)
		}
	}
	mark := once("conditions")
	id := textAt(v.makeVideo(t, videoBody(reelModel, "simulate: render=hold\n"+mark)), "id")
	running := v.call(t, "GET", videosPath+"/"+id, "")
	for _, name := range []string{"Openai-Poll-After-Ms", "Poll-Hint"} {
		if running.header.Get(name) != "5000" {
			t.Errorf("the header %s of a running task is %q", name, running.header.Get(name))
		}
	}
	v.simulator(t, "POST", "/_control/finish?id="+mark, "")
	v.ended(t, id)
	if a := v.call(t, "GET", videosPath+"/"+id, "", "If-None-Match", running.header.Get("Etag")); a.status != http.StatusOK || a.header.Get("Etag") == running.header.Get("Etag") {
		t.Errorf("an ended task has the tag of the running one: %d", a.status)
	}
}

// endsOnce lets an upstream change its mind after the end, and looks at the task and the money for a while.
func endsOnce(t *testing.T, v *films) {
	c := filmmaker(t, v.gateway, "terminal")
	done := c.film(t, videoBody(reelModel, "simulate: flip\ncompleted, then failed"))
	failed := c.flop(t, videoBody(swiftModel, "simulate: fail=broken\nfailed"), "generation_failed")
	before := c.money(t)
	for until := time.Now().Add(time.Second); time.Now().Before(until); time.Sleep(lookEvery) {
		for _, o := range []map[string]any{done, failed} {
			if now := c.task(t, textAt(o, "id")); fmt.Sprint(now) != fmt.Sprint(o) {
				t.Fatalf("%v became %v", o, now)
			}
		}
	}
	if after := c.money(t); after != before || after.Held != 0 {
		t.Errorf("the balance moved from %+v to %+v", before, after)
	}
}

func movesForward(t *testing.T, v *films) {
	for _, id := range videoModels {
		for _, spec := range []string{"", "simulate: backwards\n", "simulate: unknown-status\n", "simulate: progress=250\n", "simulate: progress=99\n"} {
			o := v.film(t, videoBody(id, spec+"forward"))
			isDone(t, o)
		}
		v.flop(t, videoBody(id, "guardrail-late: minors"), "moderation_blocked")
		o := v.flop(t, videoBody(id, "simulate: fail=broken\nfails"), "generation_failed")
		if cost := at(o, "usage", "cost"); o["usage"] != nil && nanos(t, number(cost).String()) != 0 {
			t.Errorf("a failure cost %v", cost)
		}
	}
}

// pollingIsFree polls far more often than a client should, with the default limits.
func pollingIsFree(t *testing.T, v *films) {
	c := v.newCustomer(t, "poller")
	id := textAt(c.film(t, videoBody(reelModel, "polled")), "id")
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 50 {
				if a := c.call(t, "GET", videosPath+"/"+id, ""); a.status != http.StatusOK {
					t.Errorf("%d %s", a.status, a.body)
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
			source := textAt(v.done[id], "id")
			path := root + "/" + source + "/remix"
			o := taskOf(t, v.call(t, "POST", path, `{"prompt":"in the rain"}`))
			isNew(t, o)
			is(t, o, "remixed_from_video_id", source)
			is(t, o, "prompt", "in the rain")
			is(t, o, "model", id)
			is(t, o, "size", textAt(v.done[id], "size"))
			is(t, o, "seconds", textAt(v.done[id], "seconds"))
			o = taskOf(t, v.postForm(t, path, formPart{name: "prompt", value: "by a form"}))
			is(t, o, "remixed_from_video_id", source)
			isRefused(t, v.call(t, "POST", path, `{"prompt":"x"}`, "Content-Type", "text/plain"), 415, "unsupported_media_type", "")
		}
	}
}

func remixFields(t *testing.T, v *films) {
	for _, id := range videoModels {
		path := videosPath + "/" + textAt(v.done[id], "id") + "/remix"
		for _, body := range []string{`{}`, `{"prompt":null}`, `{"prompt":""}`, `{"prompt":" "}`, `{"prompt":7}`, `{"model":"` + id + `"}`,
			`{"prompt":` + quoted(strings.Repeat("x", 32_001)) + `}`} {
			code := "invalid_value"
			if !strings.Contains(body, `"prompt"`) {
				code = "missing_required_parameter"
			}
			isRefused(t, v.call(t, "POST", path, body), 400, code, "prompt")
		}
		is(t, taskOf(t, v.call(t, "POST", path, `{"prompt":"x","model":"`+id+`","user":"u","metadata":{"a":"b"},"unknown":1}`)), "model", id)
		is(t, taskOf(t, v.call(t, "POST", path, `{"prompt":"x","model":null}`)), "model", id)
		for _, model := range []string{`""`, `7`, `[]`} {
			isRefused(t, v.call(t, "POST", path, `{"prompt":"x","model":`+model+`}`), 400, "invalid_value", "model")
		}
		for _, model := range []string{"nobody/nothing", cheapModel, "tessera/canvas"} {
			isRefused(t, v.call(t, "POST", path, `{"prompt":"x","model":"`+model+`"}`), 404, "model_not_found", "model")
		}
	}
	path := videosPath + "/" + textAt(v.done[fastModel], "id") + "/remix"
	isRefused(t, v.call(t, "POST", path, `{"prompt":"x","model":"`+reelModel+`"}`), 400, "invalid_value", "model")
}

func remixSources(t *testing.T, v *films) {
	c := filmmaker(t, v.gateway, "sources")
	foreign := textAt(v.done[reelModel], "id")
	failed := textAt(c.flop(t, videoBody(reelModel, "simulate: fail=broken\nx"), "generation_failed"), "id")
	running := textAt(c.makeVideo(t, videoBody(reelModel, "simulate: render=hold\nx")), "id")
	before := c.money(t)
	for _, root := range videoRoots {
		remix := func(id string) answer { return c.call(t, "POST", root+"/"+id+"/remix", `{"prompt":"x"}`) }
		for _, id := range []string{foreign, "video_00000000000000000000000000", "nonsense"} {
			isRefused(t, remix(id), 404, "video_not_found", "video_id")
		}
		for _, id := range []string{failed, running} {
			isRefused(t, remix(id), 400, "video_not_ready", "video_id")
		}
	}
	if after := c.money(t); after != before {
		t.Errorf("%+v became %+v", before, after)
	}
	isDeleted(t, c.call(t, "DELETE", videosPath+"/"+running, ""), running)
}

// remixIsATask makes a remix of a remix with each style of upstream, which each cost what a video costs.
func remixIsATask(t *testing.T, v *films) {
	c := filmmaker(t, v.gateway, "remixes")
	for _, id := range []string{reelModel, fastModel, swiftModel} {
		before := c.money(t)
		source := c.film(t, videoBody(id, "first"))
		last, cost := source, number(at(source, "usage", "cost")).String()
		for _, prompt := range []string{"second", "third"} {
			made := taskOf(t, c.call(t, "POST", videosPath+"/"+textAt(last, "id")+"/remix", `{"prompt":"`+prompt+`"}`))
			done := c.ended(t, textAt(made, "id"))
			isDone(t, done)
			is(t, done, "remixed_from_video_id", textAt(last, "id"))
			if got := number(at(done, "usage", "cost")).String(); got != cost {
				t.Errorf("%s: the remix cost %s, the source %s", id, got, cost)
			}
			old, changed := c.call(t, "GET", videosPath+"/"+textAt(last, "id")+"/content", ""), c.call(t, "GET", videosPath+"/"+textAt(done, "id")+"/content", "")
			if factsOf(t, changed.body) != factsOf(t, old.body) || changed.body == old.body {
				t.Errorf("%s: the remix is %+v of %+v", id, factsOf(t, changed.body), factsOf(t, old.body))
			}
			last = done
		}
		if after := c.money(t); before.Posted-after.Posted != 3*nanos(t, cost) || after.Held != 0 {
			t.Errorf("%s: three times %s is not what lies between %+v and %+v", id, cost, before, after)
		}
		if got := c.listVideos(t, "?remixed_from_video_id="+textAt(source, "id")); len(got) != 1 {
			t.Errorf("%s: the remixes of the source are %v", id, got)
		}
	}
}

func deletesEnded(t *testing.T, v *films) {
	c := filmmaker(t, v.gateway, "deletes")
	for _, root := range videoRoots {
		done := c.film(t, videoBody(reelModel, "deleted when done"))
		failed := c.flop(t, videoBody(reelModel, "simulate: fail=broken\nx"), "generation_failed")
		before := c.money(t)
		for _, o := range []map[string]any{done, failed} {
			id := textAt(o, "id")
			isDeleted(t, c.call(t, "DELETE", root+"/"+id, ""), id)
			c.isGone(t, id)
		}
		if after := c.money(t); after != before {
			t.Errorf("%+v became %+v", before, after)
		}
	}
	var kept int
	if err := c.db(t).Get(&kept, `select count(*) from video_jobs where account_id = $1 and purged_at is null`, c.accountID); err != nil || kept != 0 {
		t.Errorf("of %d deleted videos there is content: %v", kept, err)
	}
}

// isGone insists that nothing serves a video any more.
func (c customer) isGone(t *testing.T, id string) {
	t.Helper()
	for _, root := range videoRoots {
		for _, e := range []endpoint{
			{"GET", root + "/" + id, "", ""}, {"DELETE", root + "/" + id, "", ""}, {"GET", root + "/" + id + "/content", "", ""},
			{"GET", root + "/" + id + "/content?variant=thumbnail", "", ""}, {"POST", root + "/" + id + "/remix", `{"prompt":"x"}`, ""},
		} {
			isRefused(t, c.call(t, e.method, e.path, e.body), 404, "video_not_found", "video_id")
		}
	}
	if slices.Contains(c.listVideos(t, "?limit=100"), id) {
		t.Errorf("%s is listed", id)
	}
}

func deletesRunning(t *testing.T, v *films) {
	c := filmmaker(t, v.gateway, "deletes-running")
	before := c.money(t)
	for _, model := range []string{reelModel, fastModel, swiftModel} {
		mark := once("called-off")
		id := textAt(c.makeVideo(t, videoBody(model, "simulate: render=hold\n"+mark)), "id")
		if c.money(t).Held == 0 {
			t.Error("nothing is held for a running video")
		}
		isDeleted(t, c.call(t, "DELETE", videosPath+"/"+id, ""), id)
		c.isGone(t, id)
		// An upstream that cannot cancel a video finishes it.
		v.simulator(t, "POST", "/_control/finish?id="+mark, "")
	}
	for deadline := time.Now().Add(filmMax); c.money(t).Held != 0; time.Sleep(lookEvery) {
		if time.Now().After(deadline) {
			t.Fatalf("still held: %+v", c.money(t))
		}
	}
	if after := c.money(t); before.Posted-after.Posted > 4*80_000_000+4*100_000_000+5*60_000_000 || after.Posted > before.Posted {
		t.Errorf("%+v became %+v", before, after)
	}
	c.books(t)
}
