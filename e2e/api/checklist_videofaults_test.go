package api

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"umg/e2e/harness"
)

// upstreamCreateFails lets every kind of upstream refuse a job in several ways: an error, nothing charged, no job.
func upstreamCreateFails(t *testing.T, v *films) {
	spendsNothing(t, v, "create-fails", func(c harness.Customer) {
		for _, id := range []string{harness.VideosModel, harness.OperationsModel, harness.TasksModel} {
			for _, f := range []struct {
				spec, code, kind string
				status           int
			}{
				{"status=503", "upstream_error", "server_error", 502}, {"status=401", "upstream_error", "server_error", 502},
				{"status=429", "rate_limit_exceeded", "rate_limit_error", 429}, {"status=400", "invalid_value", "invalid_request_error", 400},
			} {
				a := c.Call(t, "POST", harness.VideosPath, harness.VideoBody(id, "simulate: "+f.spec+"\nx"))
				if r := harness.OpenAIError(t, a); a.Status != f.status || r.Code != f.code || r.Type != f.kind {
					t.Errorf("%s with %s: %d %s", id, f.spec, a.Status, a.Body)
				}
				if c.Balance(t).Held != 0 {
					t.Errorf("%s with %s: %+v", id, f.spec, c.Balance(t))
				}
			}
		}
	})
}

// notAskedTwice lets upstreams make a job and break off before they say so: the client gets the job all the same, it is
// found again, and there is one render.
func notAskedTwice(t *testing.T, v *films) {
	c := harness.NewVideoCustomer(t, v.Gateway, "not-twice")
	for _, id := range []string{harness.VideosModel, harness.TasksModel} {
		mark := harness.UniqueName("twice")
		before := c.Balance(t)
		o := c.CompleteVideo(t, harness.VideoBody(id, "simulate: late-create;reset\n"+mark))
		if cost := harness.Nanos(t, harness.Number(harness.Member(o, "usage", "cost")).String()); before.Posted-c.Balance(t).Posted != cost || cost == 0 {
			t.Errorf("%s: cost %d, %+v became %+v", id, cost, before, c.Balance(t))
		}
		renders := harness.DecodeJSON[struct{ Renders []struct{ ID string } }](t, v.CallSimulator(t, "GET", "/_control/renders?text="+mark, ""))
		if calls := upstreamCalls(t, v.Gateway, mark); len(renders.Renders) != 1 || len(calls) != 1 {
			t.Errorf("%s: %d calls made %+v", id, len(calls), renders)
		}
	}
}

func upstreamRemixFails(t *testing.T, v *films) {
	c := harness.NewVideoCustomer(t, v.Gateway, "remix-fails")
	for _, id := range []string{harness.VideosModel, harness.OperationsModel, harness.TasksModel} {
		source := harness.TextMember(c.CompleteVideo(t, harness.VideoBody(id, "x")), "id")
		before := c.Balance(t)
		for _, root := range videoRoots {
			for spec, status := range map[string]int{"status=503": 502, "status=400": 400, "status=429": 429} {
				prompt := "simulate: " + spec + ";on=create,remix\\nx"
				a := c.Call(t, "POST", root+"/"+source+"/remix", `{"prompt":"`+prompt+`"}`)
				if r := harness.OpenAIError(t, a); a.Status != status || r.Type == "" {
					t.Errorf("%s with %s: %d %s", id, spec, a.Status, a.Body)
				}
			}
			harness.CheckVideoError(t, c.Call(t, "POST", root+"/"+source+"/remix", `{"prompt":"guardrail: copyright"}`), 400, "content_policy_violation", "prompt")
		}
		if after := c.Balance(t); after != before || len(listVideos(t, c, "?remixed_from_video_id="+source)) != 0 {
			t.Errorf("%+v became %+v", before, after)
		}
	}
}

// statusOutlivesFaults lets the looks at a job fail in every way: the API still shows the last known state, and the task ends.
func statusOutlivesFaults(t *testing.T, v *films) {
	c := harness.NewVideoCustomer(t, v.Gateway, "status-fails")
	for _, id := range []string{harness.VideosModel, harness.OperationsModel, harness.TasksModel} {
		for _, spec := range []string{"status=500", "status=429;retry-after=1", "reset", "html", "empty", "truncated-json"} {
			o := c.CompleteVideo(t, harness.VideoBody(id, "simulate: "+spec+";on=status;times=1\nx"))
			isDone(t, o)
		}
	}
}

func missingIDs(t *testing.T, v *films) {
	for _, root := range videoRoots {
		for _, e := range []endpoint{{"GET", root + "/", "", ""}, {"DELETE", root + "/", "", ""}, {"POST", root + "//remix", `{"prompt":"x"}`, ""}, {"GET", root + "//content", "", ""}} {
			r := harness.CheckVideoError(t, v.Call(t, e.method, e.path, e.body), 400, "missing_required_parameter", "video_id")
			if r.Type != "invalid_request_error" {
				t.Errorf("%s %s: %+v", e.method, e.path, r)
			}
		}
	}
}

// foreignAndUnknown insists that another account's video, a deleted one, one that never was and no id at all are the same
// to every operation, byte for byte.
func foreignAndUnknown(t *testing.T, v *films) {
	c := harness.NewVideoCustomer(t, v.Gateway, "stranger")
	deleted := harness.TextMember(c.CompleteVideo(t, harness.VideoBody(harness.VideosModel, "x")), "id")
	isDeleted(t, c.Call(t, "DELETE", harness.VideosPath+"/"+deleted, ""), deleted)
	before := c.Balance(t)
	foreign := harness.TextMember(v.done[harness.VideosModel], "id")
	for _, root := range videoRoots {
		for _, e := range []endpoint{
			{"GET", root + "/%s", "", ""}, {"DELETE", root + "/%s", "", ""}, {"GET", root + "/%s/content", "", ""}, {"GET", root + "/%s/content?variant=thumbnail", "", ""},
			{"POST", root + "/%s/remix", `{"prompt":"x"}`, ""}, {"POST", root, harness.VideoBody(harness.VideosModel, "x", `"remix_video_id":"%s"`), ""},
		} {
			body := ""
			for _, id := range []string{foreign, deleted, "video_00000000000000000000000000", "video_", "x", strings.Repeat("y", 60)} {
				fill := func(form string) string {
					if strings.Contains(form, "%s") {
						return fmt.Sprintf(form, id)
					}
					return form
				}
				a := c.Call(t, e.method, fill(e.path), fill(e.body))
				param := "video_id"
				if strings.Contains(e.body, "remix_video_id") {
					param = "remix_video_id"
				}
				harness.CheckVideoError(t, a, 404, "video_not_found", param)
				if body == "" {
					body = a.Body
				}
				if a.Body != body {
					t.Errorf("%s %s of %s tells it from others: %s", e.method, e.path, id, a.Body)
				}
			}
		}
	}
	if got := c.Call(t, "GET", harness.VideosPath+"?after="+foreign, ""); got.Status != http.StatusOK || strings.Contains(got.Body, `"object":"video"`) {
		t.Errorf("a foreign cursor: %d %s", got.Status, got.Body)
	}
	if got := listVideos(t, c, "?remixed_from_video_id="+foreign); len(got) != 0 {
		t.Errorf("remixes of a foreign video: %v", got)
	}
	if after := c.Balance(t); after != before {
		t.Errorf("%+v became %+v", before, after)
	}
	v.GetVideo(t, foreign)
}

// guardrail insists that a kind of content is rejected when it is asked for, and when an upstream finds it later.
func guardrail(kind string) func(*testing.T, *films) {
	return func(t *testing.T, v *films) {
		source := map[string]string{}
		for _, id := range videoModels {
			source[id] = harness.TextMember(v.done[id], "id")
		}
		spendsNothing(t, v, "guard-"+kind, func(c harness.Customer) {
			for _, id := range videoModels {
				for _, root := range videoRoots {
					r := harness.CheckVideoError(t, c.Call(t, "POST", root, harness.VideoBody(id, "guardrail: "+kind)), 400, "content_policy_violation", "prompt")
					if r.Type != "invalid_request_error" {
						t.Errorf("%s: %+v", id, r)
					}
				}
				a := c.PostForm(t, harness.VideosPath, harness.FormPart{Name: "model", Value: id}, harness.FormPart{Name: "prompt", Value: "guardrail: " + kind})
				harness.CheckVideoError(t, a, 400, "content_policy_violation", "prompt")
			}
		})
		c := harness.NewVideoCustomer(t, v.Gateway, "late-"+kind)
		before := c.Balance(t)
		for _, id := range videoModels {
			harness.CheckVideoError(t, v.Call(t, "POST", harness.VideosPath+"/"+source[id]+"/remix", `{"prompt":"guardrail: `+kind+`"}`), 400, "content_policy_violation", "prompt")
			o := c.FailVideo(t, harness.VideoBody(id, "guardrail-late: "+kind), "moderation_blocked")
			if o["expires_at"] != nil || harness.Nanos(t, harness.Number(harness.Member(o, "usage", "cost")).String()) != 0 {
				t.Errorf("%s: %v", id, o)
			}
			harness.CheckVideoError(t, c.Call(t, "GET", harness.VideosPath+"/"+harness.TextMember(o, "id")+"/content", ""), 400, "video_not_ready", "video_id")
		}
		if after := c.Balance(t); after != before {
			t.Errorf("%+v became %+v", before, after)
		}
	}
}

// facesAreRejected sends pictures with a face in every form, rejected at once and late.
func facesAreRejected(t *testing.T, v *films) {
	c := harness.NewVideoCustomer(t, v.Gateway, "faces")
	before := c.Balance(t)
	face := harness.PNG(t, 1280, 720, true)
	for _, id := range []string{harness.VideosModel, harness.OperationsModel, harness.TasksModel} {
		upload := func(prompt string) harness.Response {
			return c.PostForm(t, harness.VideosPath, harness.FormPart{Name: "model", Value: id}, harness.FormPart{Name: "prompt", Value: prompt}, harness.FormPart{Name: "size", Value: "1280x720"},
				harness.FormPart{Name: "input_reference", File: "a.png", MediaType: "image/png", Value: face})
		}
		for _, a := range []harness.Response{
			upload("a portrait"),
			c.Call(t, "POST", harness.VideosPath, harness.VideoBody(id, "x", `"size":"1280x720"`, `"input_reference":{"image_url":"`+harness.DataURL("image/png", face)+`"}`)),
		} {
			harness.CheckVideoError(t, a, 400, "content_policy_violation", "input_reference")
		}
		o := c.WaitVideo(t, harness.TextMember(harness.DecodeVideo(t, upload("guardrail-late: faces")), "id"))
		if harness.TextMember(o, "status") != "failed" || harness.TextMember(o, "error", "code") != "moderation_blocked" {
			t.Errorf("%s: %v", id, o)
		}
	}
	if after := c.Balance(t); after != before {
		t.Errorf("%+v became %+v", before, after)
	}
}

// quotesHold compares what dry runs say with what the videos cost then.
func quotesHold(t *testing.T, v *films) {
	c := harness.NewVideoCustomer(t, v.Gateway, "quotes")
	for _, id := range videoModels {
		for i, size := range videoSizes[id] {
			seconds := videoLengths[id][i%len(videoLengths[id])]
			body := harness.VideoBody(id, "quoted", fmt.Sprintf(`"size":%q,"seconds":%d`, size, seconds))
			before := c.Balance(t)
			var said string
			for _, root := range videoRoots {
				a := c.Call(t, "POST", root, body, "X-Dry-Run", []string{"1", "true"}[i%2])
				q := harness.DecodeObject(t, a.Body)
				is(t, q, "object", "video.quote")
				said = harness.Number(q["cost"]).String()
				if harness.Number(q["cost_min"]).String() != "0" || harness.Number(q["cost_max"]).String() != said || harness.TextMember(q, "currency") != "USD" ||
					harness.Nanos(t, said) != harness.Nanos(t, harness.Number(q["price_per_second"]).String())*int64(seconds) {
					t.Errorf("the quote is %s", a.Body)
				}
			}
			if c.Balance(t) != before {
				t.Errorf("a quote moved %+v to %+v", before, c.Balance(t))
			}
			if i > 1 && i < len(videoSizes[id])-1 {
				continue
			}
			o := c.CompleteVideo(t, body)
			after := c.Balance(t)
			if shown := harness.Number(harness.Member(o, "usage", "cost")).String(); harness.Nanos(t, shown) != harness.Nanos(t, said) || before.Posted-after.Posted != harness.Nanos(t, said) || after.Held != 0 {
				t.Errorf("%s: quoted %s, shown %s, gone %d", id, said, shown, before.Posted-after.Posted)
			}
		}
		source := harness.TextMember(v.done[id], "id")
		q := harness.DecodeObject(t, v.Call(t, "POST", harness.VideosPath+"/"+source+"/remix", `{"prompt":"x"}`, "X-Dry-Run", "1").Body)
		if want := harness.Number(harness.Member(v.done[id], "usage", "cost")).String(); harness.Number(q["cost"]).String() != want {
			t.Errorf("%s: the remix is quoted %v, the source cost %s", id, q, want)
		}
	}
	if a := getQuote(t, c, harness.VideoBody(harness.VideosModel, "x", `"size":"1x1"`)); a.Status != 400 {
		t.Errorf("a wrong quote: %d", a.Status)
	}
	c.CheckLedger(t)
}
