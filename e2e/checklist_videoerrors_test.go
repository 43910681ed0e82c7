package e2e

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
)

var videoErrorLines = []checkLine{
	{"K201 failures of video routes are non-2xx with a standard error object", filmed(refusedAlike)},
	{"K202 the type invalid_request_error is for invalid and missing parameters", filmed(invalidVideos)},
	{"K203 the type authentication_error is for a missing or invalid key", filmed(videosDemandKey)},
	{"K204 the type rate_limit_error is for jobs beyond what may run at once", filmed(runningLimit)},
	{"K204 the type rate_limit_error is for jobs beyond what may be made in a day", filmed(dayLimit)},
	{"K204 the type rate_limit_error is for calls beyond those of a minute", filmed(minuteLimit)},
	{"K205 insufficient_quota is for credit that does not suffice", filmed(unfundedVideos)},
	{"K206 model_not_found is for a model that is not available", filmed(modelsWithoutVideos)},
	{"K207 create video: missing or invalid model", filmed(createNeedsModel)},
	{"K208 create video: missing prompt", filmed(createNeedsPrompt)},
	{"K209 create video: invalid JSON payload", filmed(invalidJSONOfVideos)},
	{"K210 create video: invalid multipart payload", filmed(invalidForms)},
	{"K211 create video: authentication failure", filmed(videosDemandKeyFor("POST", ""))},
	{"K212 create video: upstream task creation failure", filmed(upstreamCreateFails)},
	{"K212 create video: an upstream that may have taken a job is not asked again", filmed(notAskedTwice)},
	{"K213 get status: missing task_id", filmed(missingIDs)},
	{"K214 get status: authentication failure", filmed(videosDemandKeyFor("GET", "/x"))},
	{"K215 get status: task not found", filmed(foreignAndUnknown)},
	{"K216 get status: upstream status query failure", filmed(statusOutlivesFaults)},
	{"K217 remix: missing video_id", filmed(missingIDs)},
	{"K218 remix: missing prompt", filmed(remixFields)},
	{"K219 remix: authentication failure", filmed(videosDemandKeyFor("POST", "/x/remix"))},
	{"K220 remix: original video not found", filmed(foreignAndUnknown)},
	{"K221 remix: original video not yet completed", filmed(remixSources)},
	{"K222 remix: upstream remix creation failure", filmed(upstreamRemixFails)},
	{"K223 guardrail: content unsuitable for audiences under 18 is rejected", filmed(guardrail("minors"))},
	{"K224 guardrail: copyrighted characters or music are rejected", filmed(guardrail("copyright"))},
	{"K225 guardrail: real people including public figures are rejected", filmed(guardrail("likeness"))},
	{"K226 guardrail: input images showing human faces are rejected", filmed(facesAreRejected)},
	{"K205 a dry run says what a video costs, and costs nothing itself", filmed(quotesHold)},
	{"K212 an Idempotency-Key makes one job of one request that is sent again", filmed(sameKeySameJob)},
}

// spendsNothing insists that what is done neither moves nor holds money, and leaves no job behind.
func spendsNothing(t *testing.T, v *films, name string, do func(c customer)) {
	t.Helper()
	c := filmmaker(t, v.gateway, name)
	before := c.money(t)
	do(c)
	if after := c.money(t); after != before {
		t.Errorf("the balance went from %+v to %+v", before, after)
	}
	if left := c.listVideos(t, "?limit=100"); len(left) != 0 {
		t.Errorf("these jobs are left: %v", left)
	}
}

// refusedAlike sends the same mistakes under every spelling of the route.
func refusedAlike(t *testing.T, v *films) {
	spendsNothing(t, v, "alike", func(c customer) {
		for _, root := range videoRoots {
			isRefused(t, c.call(t, "POST", root, `{}`), 400, "missing_required_parameter", "model")
			isRefused(t, c.call(t, "POST", root, videoBody(reelModel, "")), 400, "invalid_value", "prompt")
			isRefused(t, c.call(t, "GET", root+"/video_x", ""), 404, "video_not_found", "video_id")
			isRefused(t, c.call(t, "POST", root, videoBody("nobody/nothing", "x")), 404, "model_not_found", "model")
			isRefused(t, c.call(t, "PUT", root, `{}`), 405, "method_not_allowed", "")
			isRefused(t, c.call(t, "PATCH", root+"/video_x", `{}`), 405, "method_not_allowed", "")
			isRefused(t, c.call(t, "GET", root+"/video_x/frames", ""), 404, "not_found", "")
		}
	})
}

func invalidVideos(t *testing.T, v *films) {
	spendsNothing(t, v, "invalid", func(c customer) {
		for _, id := range videoModels {
			for param, member := range map[string]string{
				"size": `"size":"1x1"`, "seconds": `"seconds":"7"`, "user": `"user":7`, "stream": `"stream":7`, "input_reference": `"input_reference":"x"`,
				"remix_video_id": `"remix_video_id":7`, "metadata": `"metadata":"x"`,
			} {
				r := isRefused(t, c.call(t, "POST", videosPath, videoBody(id, "x", member)), 400, "invalid_value", param)
				if r.kind != "invalid_request_error" || !strings.Contains(r.message, param) {
					t.Errorf("%s: %+v", member, r)
				}
			}
		}
		a := c.call(t, "POST", videosPath, videoBody(reelModel, "x"), "X-Dry-Run", "maybe")
		isRefused(t, a, 400, "invalid_value", "X-Dry-Run")
	})
}

func videosDemandKeyFor(method, path string) func(*testing.T, *films) {
	return func(t *testing.T, v *films) {
		for _, root := range videoRoots {
			for _, headers := range [][]string{{"Authorization", ""}, bearer("sk-umg-nonsense"), bearer(v.APIKey + "x")} {
				a := v.call(t, method, root+path, map[string]string{"POST": `{"prompt":"x"}`}[method], headers...)
				if r := isRefused(t, a, 401, "invalid_api_key", ""); r.kind != "authentication_error" {
					t.Errorf("%s %s: %+v", method, root+path, r)
				}
			}
		}
	}
}

// isLimited insists on a failure for a limit, which says when to come again.
func isLimited(t *testing.T, a answer) {
	t.Helper()
	r := isRefused(t, a, 429, "rate_limit_exceeded", "")
	wait, err := strconv.Atoi(a.header.Get("Retry-After"))
	if r.kind != "rate_limit_error" || err != nil || wait < 1 || wait > 60 {
		t.Errorf("%+v, Retry-After %q", r, a.header.Get("Retry-After"))
	}
}

// runningLimit has as many videos on their way as the models page says, and one more; a second account is not concerned,
// another model neither, and a deleted video makes room.
func runningLimit(t *testing.T, v *films) {
	c := v.newCustomer(t, "running")
	c.setAvailable(t, 1_000_000_000_000)
	for model, most := range map[string]int{reelModel: 4, proModel: 2} {
		var ids []string
		body := videoBody(model, "simulate: render=hold\nx")
		for range most {
			ids = append(ids, textAt(c.makeVideo(t, body), "id"))
		}
		before := c.money(t)
		isLimited(t, c.call(t, "POST", videosPath, body))
		if after := c.money(t); after != before {
			t.Errorf("%+v became %+v", before, after)
		}
		isNew(t, v.makeVideo(t, videoBody(model, "another account")))
		isDeleted(t, c.call(t, "DELETE", videosPath+"/"+ids[0], ""), ids[0])
		v.waitFor(t, "room for one more", func() bool { return c.call(t, "POST", videosPath, body).status == http.StatusOK })
	}
}

// dayLimit lets a day of videos have been made, by making the newest look like all of them.
func dayLimit(t *testing.T, v *films) {
	c := v.newCustomer(t, "day")
	c.setAvailable(t, 1_000_000_000_000)
	id := textAt(c.film(t, videoBody(swiftModel, "x")), "id")
	c.db(t).MustExec(`insert into video_jobs select (jsonb_populate_record(j, jsonb_build_object('id', j.id || n, 'upstream_id', null, 'callback_token', null))).*
		from video_jobs j, generate_series(1, 99) n where j.id = $1`, id)
	before := c.money(t)
	isLimited(t, c.call(t, "POST", videosPath, videoBody(swiftModel, "one too many")))
	if after := c.money(t); after != before {
		t.Errorf("%+v became %+v", before, after)
	}
	isNew(t, c.makeVideo(t, videoBody(reelModel, "another model")))
	c.db(t).MustExec(`update video_jobs set created_at = created_at - interval '25 hours' where account_id = $1 and id <> $2 and model = $3`, c.accountID, id, swiftModel)
	isNew(t, c.makeVideo(t, videoBody(swiftModel, "the next day")))
	c.db(t).MustExec(`delete from video_jobs where account_id = $1 and length(id) > $2`, c.accountID, len(id))
}

// minuteLimit makes calls until the minute is used up; none of the refused ones costs or makes anything.
func minuteLimit(t *testing.T, v *films) {
	c := v.newCustomer(t, "minute")
	c.setAvailable(t, 1_000_000_000_000)
	for range 11 {
		a := c.call(t, "POST", videosPath, videoBody(swiftModel, "guardrail: minors"))
		if a.status == http.StatusTooManyRequests {
			isLimited(t, a)
			if c.money(t).Held != 0 {
				t.Errorf("%+v", c.money(t))
			}
			return
		}
		isRefused(t, a, 400, "content_policy_violation", "prompt")
		if a.header.Get("X-Ratelimit-Limit-Requests") != "10" {
			t.Errorf("the headers are %v", a.header)
		}
	}
	t.Error("eleven calls fit into a minute of ten")
}

func unfundedVideos(t *testing.T, v *films) {
	c := v.newPauper(t, "unfunded")
	// This is the price of four seconds.
	c.setAvailable(t, 320_000_000)
	source := textAt(c.film(t, videoBody(reelModel, "x")), "id")
	for _, id := range videoModels {
		c.isUnfunded(t, videosPath, videoBody(id, "no credit for this"))
	}
	c.isUnfunded(t, videosPath+"/"+source+"/remix", `{"prompt":"no credit for this"}`)
	if got := v.received(t, "no credit for this"); got != "" {
		t.Errorf("a provider got %s", got)
	}
	// This is one nano-dollar less than the price.
	c.setAvailable(t, 320_000_000-1)
	c.isUnfunded(t, videosPath, videoBody(reelModel, "x"))
	c.setAvailable(t, 320_000_000)
	o := c.film(t, videoBody(reelModel, "to the last"))
	if cost := nanos(t, number(at(o, "usage", "cost")).String()); cost != 320_000_000 || c.money(t) != (balance{}) {
		t.Errorf("cost %d, left %+v", cost, c.money(t))
	}
	c.books(t)
}

func (c customer) isUnfunded(t *testing.T, path, body string) {
	t.Helper()
	before := c.money(t)
	a := c.call(t, "POST", path, body)
	if r := isRefused(t, a, 402, "insufficient_quota", ""); r.kind != "insufficient_quota" || a.header.Get("X-Should-Retry") != "false" || c.money(t) != before {
		t.Errorf("%+v %v %+v", r, a.header, c.money(t))
	}
}

func modelsWithoutVideos(t *testing.T, v *films) {
	spendsNothing(t, v, "no-videos", func(c customer) {
		for _, id := range []string{"nobody/nothing", cheapModel, "tessera/canvas", "meridian/cadence", strings.ToUpper(reelModel), " " + reelModel} {
			r := isRefused(t, c.call(t, "POST", videosPath, videoBody(id, "x")), 404, "model_not_found", "model")
			if !strings.Contains(r.message, reelModel) && !strings.Contains(r.message, "/v1/models") {
				t.Errorf("the message does not help: %s", r.message)
			}
		}
	})
	c := v.newCustomer(t, "narrow")
	c.allow(t, reelModel)
	isRefused(t, c.call(t, "POST", videosPath, videoBody(fastModel, "x")), 403, "model_not_allowed", "model")
	isNew(t, c.makeVideo(t, videoBody(reelModel, "x")))
}

func invalidJSONOfVideos(t *testing.T, v *films) {
	spendsNothing(t, v, "json", func(c customer) {
		for _, root := range videoRoots {
			for _, body := range []string{`{`, ``, `[]`, `"x"`, `null`, `{"model":"` + reelModel + `","prompt":"x"`, `{"model":}`, `model=x&prompt=y`, "{\"prompt\":\"\xff\"}",
				videoBody(reelModel, "x") + "x", `{"model":"` + reelModel + `","prompt":"x","prompt":"y"}`} {
				r := openAIRefusal(t, c.call(t, "POST", root, body))
				if r.kind != "invalid_request_error" || r.code != "invalid_json" && r.param != "model" && r.param != "prompt" {
					t.Errorf("%q: %+v", body, r)
				}
			}
			a := c.call(t, "POST", root+"/"+textAt(v.done[reelModel], "id")+"/remix", `{`)
			isRefused(t, a, 400, "invalid_json", "")
		}
	})
}

func invalidForms(t *testing.T, v *films) {
	picture := pngOf(t, 720, 1280, false)
	model, prompt := formPart{name: "model", value: reelModel}, formPart{name: "prompt", value: "x"}
	spendsNothing(t, v, "forms", func(c customer) {
		for _, root := range videoRoots {
			whole, contentType := form(t, model, prompt)
			for body, media := range map[string]string{
				whole: "multipart/form-data", whole + " ": "multipart/form-data; boundary=other", whole[:len(whole)/2]: contentType, "": contentType, "x": contentType,
			} {
				a := c.call(t, "POST", root, body, "Content-Type", media)
				if r := openAIRefusal(t, a); a.status != 400 || r.kind != "invalid_request_error" {
					t.Errorf("%s with %q: %d %+v", media, body, a.status, r)
				}
			}
			for param, parts := range map[string][]formPart{
				"model": {prompt}, "prompt": {model}, "": {model, prompt, {value: "without a name"}},
				"other":           {model, prompt, {"other", "a.png", "image/png", picture}},
				"input_reference": {model, prompt, {"input_reference", "a.png", "image/png", picture}, {"input_reference", "b.png", "image/png", picture}},
				"seconds":         {model, prompt, {name: "seconds", value: "eight"}}, "size": {model, prompt, {name: "size", value: "big"}},
				"stream": {model, prompt, {name: "stream", value: "yes"}},
			} {
				a := c.postForm(t, root, parts...)
				if r := openAIRefusal(t, a); a.status != 400 || r.kind != "invalid_request_error" || r.param != param {
					t.Errorf("%q: %d %+v", param, a.status, r)
				}
			}
		}
	})
}

// sameKeySameJob repeats requests with one key: the same answer, another body refused, and one job of many at once.
func sameKeySameJob(t *testing.T, v *films) {
	c := filmmaker(t, v.gateway, "idempotent")
	body, key := videoBody(reelModel, "once"), once("key")
	first := c.call(t, "POST", videosPath, body, "Idempotency-Key", key)
	for range 3 {
		again := c.call(t, "POST", videosPath, body, "Idempotency-Key", key)
		if again.status != http.StatusOK || again.body != first.body || again.header.Get("Idempotency-Replayed") != "true" || first.header.Get("Idempotency-Replayed") != "" {
			t.Errorf("%d %s after %s", again.status, again.body, first.body)
		}
	}
	isRefused(t, c.call(t, "POST", videosPath, videoBody(reelModel, "another"), "Idempotency-Key", key), 422, "idempotency_error", "Idempotency-Key")
	for _, wrong := range []string{strings.Repeat("k", 300), "ü"} {
		isRefused(t, c.call(t, "POST", videosPath, body, "Idempotency-Key", wrong), 400, "invalid_value", "Idempotency-Key")
	}
	isNew(t, taskOf(t, filmmaker(t, v.gateway, "other").call(t, "POST", videosPath, videoBody(reelModel, "another"), "Idempotency-Key", key)))
	source := textAt(c.ended(t, textAt(taskOf(t, first), "id")), "id")
	remix := func() answer {
		return c.call(t, "POST", videosPath+"/"+source+"/remix", `{"prompt":"x"}`, "Idempotency-Key", key)
	}
	if a, b := remix(), remix(); a.body != b.body || textAt(taskOf(t, a), "id") == source {
		t.Errorf("%s and %s", a.body, b.body)
	}
	key = once("together")
	ids, mu := map[string]bool{}, sync.Mutex{}
	var all sync.WaitGroup
	ctx, cancel := context.WithTimeout(context.Background(), callTimeMax)
	defer cancel()
	for range 8 {
		all.Go(func() {
			a, err := c.tryCall(ctx, "POST", videosPath, videoBody(swiftModel, "together"), "Idempotency-Key", key)
			mu.Lock()
			defer mu.Unlock()
			if err != nil || a.status != http.StatusOK && a.status != http.StatusConflict {
				t.Errorf("%v: %d %s", err, a.status, a.body)
			} else if a.status == http.StatusOK {
				ids[textAt(object(t, a.body), "id")] = true
			}
		})
	}
	all.Wait()
	if left := c.listVideos(t, "?limit=100"); len(ids) != 1 || len(left) != 3 {
		t.Errorf("%v were answered, %v are listed", ids, left)
	}
	// A request that makes no video releases its key.
	refused := once("refused")
	isRefused(t, c.call(t, "POST", videosPath, videoBody(reelModel, "guardrail: minors"), "Idempotency-Key", refused), 400, "content_policy_violation", "prompt")
	isNew(t, taskOf(t, c.call(t, "POST", videosPath, videoBody(reelModel, "milder"), "Idempotency-Key", refused)))
}
