package api

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	"umg/e2e/harness"
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
func spendsNothing(t *testing.T, v *films, name string, do func(c harness.Customer)) {
	t.Helper()
	c := harness.NewVideoCustomer(t, v.Gateway, name)
	before := c.Balance(t)
	do(c)
	if after := c.Balance(t); after != before {
		t.Errorf("the balance went from %+v to %+v", before, after)
	}
	if left := listVideos(t, c, "?limit=100"); len(left) != 0 {
		t.Errorf("these jobs are left: %v", left)
	}
}

// refusedAlike sends the same mistakes under every spelling of the route.
func refusedAlike(t *testing.T, v *films) {
	spendsNothing(t, v, "alike", func(c harness.Customer) {
		for _, root := range videoRoots {
			harness.CheckVideoError(t, c.Call(t, "POST", root, `{}`), 400, "missing_required_parameter", "model")
			harness.CheckVideoError(t, c.Call(t, "POST", root, harness.VideoBody(harness.VideosModel, "")), 400, "invalid_value", "prompt")
			harness.CheckVideoError(t, c.Call(t, "GET", root+"/video_x", ""), 404, "video_not_found", "video_id")
			harness.CheckVideoError(t, c.Call(t, "POST", root, harness.VideoBody("unknown/nothing", "x")), 404, "model_not_found", "model")
			harness.CheckVideoError(t, c.Call(t, "PUT", root, `{}`), 405, "method_not_allowed", "")
			harness.CheckVideoError(t, c.Call(t, "PATCH", root+"/video_x", `{}`), 405, "method_not_allowed", "")
			harness.CheckVideoError(t, c.Call(t, "GET", root+"/video_x/frames", ""), 404, "not_found", "")
		}
	})
}

func invalidVideos(t *testing.T, v *films) {
	spendsNothing(t, v, "invalid", func(c harness.Customer) {
		for _, id := range videoModels {
			for param, member := range map[string]string{
				"size": `"size":"1x1"`, "seconds": `"seconds":"7"`, "user": `"user":7`, "stream": `"stream":7`, "input_reference": `"input_reference":"x"`,
				"remix_video_id": `"remix_video_id":7`, "metadata": `"metadata":"x"`,
			} {
				r := harness.CheckVideoError(t, c.Call(t, "POST", harness.VideosPath, harness.VideoBody(id, "x", member)), 400, "invalid_value", param)
				if r.Type != "invalid_request_error" || !strings.Contains(r.Message, param) {
					t.Errorf("%s: %+v", member, r)
				}
			}
		}
		a := c.Call(t, "POST", harness.VideosPath, harness.VideoBody(harness.VideosModel, "x"), "X-Dry-Run", "maybe")
		harness.CheckVideoError(t, a, 400, "invalid_value", "X-Dry-Run")
	})
}

func videosDemandKeyFor(method, path string) func(*testing.T, *films) {
	return func(t *testing.T, v *films) {
		for _, root := range videoRoots {
			for _, headers := range [][]string{{"Authorization", ""}, harness.BearerHeader("sk-umg-nonsense"), harness.BearerHeader(v.APIKey + "x")} {
				a := v.Call(t, method, root+path, map[string]string{"POST": `{"prompt":"x"}`}[method], headers...)
				if r := harness.CheckVideoError(t, a, 401, "invalid_api_key", ""); r.Type != "authentication_error" {
					t.Errorf("%s %s: %+v", method, root+path, r)
				}
			}
		}
	}
}

// isLimited insists on a failure for a limit, which says when to come again.
func isLimited(t *testing.T, a harness.Response) {
	t.Helper()
	r := harness.CheckVideoError(t, a, 429, "rate_limit_exceeded", "")
	wait, err := strconv.Atoi(a.Header.Get("Retry-After"))
	if r.Type != "rate_limit_error" || err != nil || wait < 1 || wait > 60 {
		t.Errorf("%+v, Retry-After %q", r, a.Header.Get("Retry-After"))
	}
}

// runningLimit has as many videos on their way as the models page says, and one more; a second account is not concerned,
// another model neither, and a deleted video makes room.
func runningLimit(t *testing.T, v *films) {
	c := v.NewCustomer(t, "running")
	c.SetAvailable(t, 1_000_000_000_000)
	for model, most := range map[string]int{harness.VideosModel: 4, harness.OperationsProModel: 2} {
		var ids []string
		body := harness.VideoBody(model, "simulate: render=hold\nx")
		for range most {
			ids = append(ids, harness.TextMember(c.CreateVideo(t, body), "id"))
		}
		before := c.Balance(t)
		isLimited(t, c.Call(t, "POST", harness.VideosPath, body))
		if after := c.Balance(t); after != before {
			t.Errorf("%+v became %+v", before, after)
		}
		isNew(t, v.CreateVideo(t, harness.VideoBody(model, "another account")))
		isDeleted(t, c.Call(t, "DELETE", harness.VideosPath+"/"+ids[0], ""), ids[0])
		v.WaitFor(t, "room for one more", func() bool { return c.Call(t, "POST", harness.VideosPath, body).Status == http.StatusOK })
	}
}

// dayLimit lets a day of videos have been made, by making the newest look like all of them.
func dayLimit(t *testing.T, v *films) {
	c := v.NewCustomer(t, "day")
	c.SetAvailable(t, 1_000_000_000_000)
	id := harness.TextMember(c.CompleteVideo(t, harness.VideoBody(harness.TasksModel, "x")), "id")
	c.DB(t).MustExec(`insert into video_jobs select (jsonb_populate_record(j, jsonb_build_object('id', j.id || n, 'upstream_id', null, 'callback_token', null))).*
		from video_jobs j, generate_series(1, 99) n where j.id = $1`, id)
	before := c.Balance(t)
	isLimited(t, c.Call(t, "POST", harness.VideosPath, harness.VideoBody(harness.TasksModel, "one too many")))
	if after := c.Balance(t); after != before {
		t.Errorf("%+v became %+v", before, after)
	}
	isNew(t, c.CreateVideo(t, harness.VideoBody(harness.VideosModel, "another model")))
	c.DB(t).MustExec(`update video_jobs set created_at = created_at - interval '25 hours' where account_id = $1 and id <> $2 and model = $3`, c.AccountID, id, harness.TasksModel)
	isNew(t, c.CreateVideo(t, harness.VideoBody(harness.TasksModel, "the next day")))
	c.DB(t).MustExec(`delete from video_jobs where account_id = $1 and length(id) > $2`, c.AccountID, len(id))
}

// minuteLimit makes calls until the minute is used up; none of the refused ones costs or makes anything.
func minuteLimit(t *testing.T, v *films) {
	c := v.NewCustomer(t, "minute")
	c.SetAvailable(t, 1_000_000_000_000)
	for range 11 {
		a := c.Call(t, "POST", harness.VideosPath, harness.VideoBody(harness.TasksModel, "guardrail: minors"))
		if a.Status == http.StatusTooManyRequests {
			isLimited(t, a)
			if c.Balance(t).Held != 0 {
				t.Errorf("%+v", c.Balance(t))
			}
			return
		}
		harness.CheckVideoError(t, a, 400, "content_policy_violation", "prompt")
		if a.Header.Get("X-Ratelimit-Limit-Requests") != "10" {
			t.Errorf("the headers are %v", a.Header)
		}
	}
	t.Error("eleven calls fit into a minute of ten")
}

func unfundedVideos(t *testing.T, v *films) {
	c := v.NewCustomerWithoutCredit(t, "unfunded")
	// This is the price of four seconds.
	c.SetAvailable(t, 320_000_000)
	source := harness.TextMember(c.CompleteVideo(t, harness.VideoBody(harness.VideosModel, "x")), "id")
	for _, id := range videoModels {
		isUnfunded(t, c, harness.VideosPath, harness.VideoBody(id, "no credit for this"))
	}
	isUnfunded(t, c, harness.VideosPath+"/"+source+"/remix", `{"prompt":"no credit for this"}`)
	if got := v.UpstreamBodies(t, "no credit for this"); got != "" {
		t.Errorf("a provider got %s", got)
	}
	// This is one nano-dollar less than the price.
	c.SetAvailable(t, 320_000_000-1)
	isUnfunded(t, c, harness.VideosPath, harness.VideoBody(harness.VideosModel, "x"))
	c.SetAvailable(t, 320_000_000)
	o := c.CompleteVideo(t, harness.VideoBody(harness.VideosModel, "to the last"))
	if cost := harness.Nanos(t, harness.Number(harness.Member(o, "usage", "cost")).String()); cost != 320_000_000 || c.Balance(t) != (harness.Balance{}) {
		t.Errorf("cost %d, left %+v", cost, c.Balance(t))
	}
	c.CheckLedger(t)
}

func isUnfunded(t *testing.T, c harness.Customer, path, body string) {
	t.Helper()
	before := c.Balance(t)
	a := c.Call(t, "POST", path, body)
	if r := harness.CheckVideoError(t, a, 402, "insufficient_quota", ""); r.Type != "insufficient_quota" || a.Header.Get("X-Should-Retry") != "false" || c.Balance(t) != before {
		t.Errorf("%+v %v %+v", r, a.Header, c.Balance(t))
	}
}

func modelsWithoutVideos(t *testing.T, v *films) {
	spendsNothing(t, v, "no-videos", func(c harness.Customer) {
		for _, id := range []string{"unknown/nothing", harness.CheapModel, "tessera/canvas", "meridian/cadence", strings.ToUpper(harness.VideosModel), " " + harness.VideosModel} {
			r := harness.CheckVideoError(t, c.Call(t, "POST", harness.VideosPath, harness.VideoBody(id, "x")), 404, "model_not_found", "model")
			if !strings.Contains(r.Message, harness.VideosModel) && !strings.Contains(r.Message, "/v1/models") {
				t.Errorf("the message does not help: %s", r.Message)
			}
		}
	})
	c := v.NewCustomer(t, "narrow")
	allowModels(t, c, harness.VideosModel)
	harness.CheckVideoError(t, c.Call(t, "POST", harness.VideosPath, harness.VideoBody(harness.OperationsModel, "x")), 403, "model_not_allowed", "model")
	isNew(t, c.CreateVideo(t, harness.VideoBody(harness.VideosModel, "x")))
}

func invalidJSONOfVideos(t *testing.T, v *films) {
	spendsNothing(t, v, "json", func(c harness.Customer) {
		for _, root := range videoRoots {
			for _, body := range []string{`{`, ``, `[]`, `"x"`, `null`, `{"model":"` + harness.VideosModel + `","prompt":"x"`, `{"model":}`, `model=x&prompt=y`, "{\"prompt\":\"\xff\"}",
				harness.VideoBody(harness.VideosModel, "x") + "x", `{"model":"` + harness.VideosModel + `","prompt":"x","prompt":"y"}`} {
				r := harness.OpenAIError(t, c.Call(t, "POST", root, body))
				if r.Type != "invalid_request_error" || r.Code != "invalid_json" && r.Param != "model" && r.Param != "prompt" {
					t.Errorf("%q: %+v", body, r)
				}
			}
			a := c.Call(t, "POST", root+"/"+harness.TextMember(v.done[harness.VideosModel], "id")+"/remix", `{`)
			harness.CheckVideoError(t, a, 400, "invalid_json", "")
		}
	})
}

func invalidForms(t *testing.T, v *films) {
	picture := harness.PNG(t, 720, 1280, false)
	model, prompt := harness.FormPart{Name: "model", Value: harness.VideosModel}, harness.FormPart{Name: "prompt", Value: "x"}
	spendsNothing(t, v, "forms", func(c harness.Customer) {
		for _, root := range videoRoots {
			whole, contentType := harness.FormBody(t, model, prompt)
			for body, media := range map[string]string{
				whole: "multipart/form-data", whole + " ": "multipart/form-data; boundary=other", whole[:len(whole)/2]: contentType, "": contentType, "x": contentType,
			} {
				a := c.Call(t, "POST", root, body, "Content-Type", media)
				if r := harness.OpenAIError(t, a); a.Status != 400 || r.Type != "invalid_request_error" {
					t.Errorf("%s with %q: %d %+v", media, body, a.Status, r)
				}
			}
			for param, parts := range map[string][]harness.FormPart{
				"model": {prompt}, "prompt": {model}, "": {model, prompt, {Value: "without a name"}},
				"other":           {model, prompt, {Name: "other", File: "a.png", MediaType: "image/png", Value: picture}},
				"input_reference": {model, prompt, {Name: "input_reference", File: "a.png", MediaType: "image/png", Value: picture}, {Name: "input_reference", File: "b.png", MediaType: "image/png", Value: picture}},
				"seconds":         {model, prompt, {Name: "seconds", Value: "eight"}}, "size": {model, prompt, {Name: "size", Value: "big"}},
				"stream": {model, prompt, {Name: "stream", Value: "yes"}},
			} {
				a := c.PostForm(t, root, parts...)
				if r := harness.OpenAIError(t, a); a.Status != 400 || r.Type != "invalid_request_error" || r.Param != param {
					t.Errorf("%q: %d %+v", param, a.Status, r)
				}
			}
		}
	})
}

// sameKeySameJob repeats requests with one key: the same answer, another body refused, and one job of many at once.
func sameKeySameJob(t *testing.T, v *films) {
	c := harness.NewVideoCustomer(t, v.Gateway, "idempotent")
	body, key := harness.VideoBody(harness.VideosModel, "once"), harness.UniqueName("key")
	first := c.Call(t, "POST", harness.VideosPath, body, "Idempotency-Key", key)
	for range 3 {
		again := c.Call(t, "POST", harness.VideosPath, body, "Idempotency-Key", key)
		if again.Status != http.StatusOK || again.Body != first.Body || again.Header.Get("Idempotency-Replayed") != "true" || first.Header.Get("Idempotency-Replayed") != "" {
			t.Errorf("%d %s after %s", again.Status, again.Body, first.Body)
		}
	}
	harness.CheckVideoError(t, c.Call(t, "POST", harness.VideosPath, harness.VideoBody(harness.VideosModel, "another"), "Idempotency-Key", key), 422, "idempotency_error", "Idempotency-Key")
	for _, wrong := range []string{strings.Repeat("k", 300), "ü"} {
		harness.CheckVideoError(t, c.Call(t, "POST", harness.VideosPath, body, "Idempotency-Key", wrong), 400, "invalid_value", "Idempotency-Key")
	}
	isNew(t, harness.DecodeVideo(t, harness.NewVideoCustomer(t, v.Gateway, "other").Call(t, "POST", harness.VideosPath, harness.VideoBody(harness.VideosModel, "another"), "Idempotency-Key", key)))
	source := harness.TextMember(c.WaitVideo(t, harness.TextMember(harness.DecodeVideo(t, first), "id")), "id")
	remix := func() harness.Response {
		return c.Call(t, "POST", harness.VideosPath+"/"+source+"/remix", `{"prompt":"x"}`, "Idempotency-Key", key)
	}
	if a, b := remix(), remix(); a.Body != b.Body || harness.TextMember(harness.DecodeVideo(t, a), "id") == source {
		t.Errorf("%s and %s", a.Body, b.Body)
	}
	key = harness.UniqueName("together")
	ids, mu := map[string]bool{}, sync.Mutex{}
	var all sync.WaitGroup
	ctx, cancel := context.WithTimeout(context.Background(), harness.CallTimeMax)
	defer cancel()
	for range 8 {
		all.Go(func() {
			a, err := c.TryCall(ctx, "POST", harness.VideosPath, harness.VideoBody(harness.TasksModel, "together"), "Idempotency-Key", key)
			mu.Lock()
			defer mu.Unlock()
			if err != nil || a.Status != http.StatusOK && a.Status != http.StatusConflict {
				t.Errorf("%v: %d %s", err, a.Status, a.Body)
			} else if a.Status == http.StatusOK {
				ids[harness.TextMember(harness.DecodeObject(t, a.Body), "id")] = true
			}
		})
	}
	all.Wait()
	if left := listVideos(t, c, "?limit=100"); len(ids) != 1 || len(left) != 3 {
		t.Errorf("%v were answered, %v are listed", ids, left)
	}
	// A request that makes no video releases its key.
	refused := harness.UniqueName("refused")
	harness.CheckVideoError(t, c.Call(t, "POST", harness.VideosPath, harness.VideoBody(harness.VideosModel, "guardrail: minors"), "Idempotency-Key", refused), 400, "content_policy_violation", "prompt")
	isNew(t, harness.DecodeVideo(t, c.Call(t, "POST", harness.VideosPath, harness.VideoBody(harness.VideosModel, "milder"), "Idempotency-Key", refused)))
}
