package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// upstreamCreateFails lets every kind of upstream refuse a job in several ways: an error, nothing charged, no job.
func upstreamCreateFails(t *testing.T, v *films) {
	spendsNothing(t, v, "create-fails", func(c customer) {
		for _, id := range []string{reelModel, fastModel, swiftModel} {
			for _, f := range []struct {
				spec, code, kind string
				status           int
			}{
				{"status=503", "upstream_error", "server_error", 502}, {"status=401", "upstream_error", "server_error", 502},
				{"status=429", "rate_limit_exceeded", "rate_limit_error", 429}, {"status=400", "invalid_value", "invalid_request_error", 400},
			} {
				a := c.call(t, "POST", videosPath, videoBody(id, "simulate: "+f.spec+"\nx"))
				if r := openAIRefusal(t, a); a.status != f.status || r.code != f.code || r.kind != f.kind {
					t.Errorf("%s with %s: %d %s", id, f.spec, a.status, a.body)
				}
				if c.money(t).Held != 0 {
					t.Errorf("%s with %s: %+v", id, f.spec, c.money(t))
				}
			}
		}
	})
}

// notAskedTwice lets upstreams make a job and break off before they say so: the client gets the job all the same, it is
// found again, and there is one render.
func notAskedTwice(t *testing.T, v *films) {
	c := filmmaker(t, v.gateway, "not-twice")
	for _, id := range []string{reelModel, swiftModel} {
		mark := once("twice")
		before := c.money(t)
		o := c.film(t, videoBody(id, "simulate: late-create;reset\n"+mark))
		if cost := nanos(t, number(at(o, "usage", "cost")).String()); before.Posted-c.money(t).Posted != cost || cost == 0 {
			t.Errorf("%s: cost %d, %+v became %+v", id, cost, before, c.money(t))
		}
		renders := parse[struct{ Renders []struct{ ID string } }](t, v.simulator(t, "GET", "/_control/renders?text="+mark, ""))
		if calls := v.upstreamCalls(t, mark); len(renders.Renders) != 1 || len(calls) != 1 {
			t.Errorf("%s: %d calls made %+v", id, len(calls), renders)
		}
	}
}

func upstreamRemixFails(t *testing.T, v *films) {
	c := filmmaker(t, v.gateway, "remix-fails")
	for _, id := range []string{reelModel, fastModel, swiftModel} {
		source := textAt(c.film(t, videoBody(id, "x")), "id")
		before := c.money(t)
		for _, root := range videoRoots {
			for spec, status := range map[string]int{"status=503": 502, "status=400": 400, "status=429": 429} {
				prompt := "simulate: " + spec + ";on=create,remix\\nx"
				a := c.call(t, "POST", root+"/"+source+"/remix", `{"prompt":"`+prompt+`"}`)
				if r := openAIRefusal(t, a); a.status != status || r.kind == "" {
					t.Errorf("%s with %s: %d %s", id, spec, a.status, a.body)
				}
			}
			isRefused(t, c.call(t, "POST", root+"/"+source+"/remix", `{"prompt":"guardrail: copyright"}`), 400, "content_policy_violation", "prompt")
		}
		if after := c.money(t); after != before || len(c.listVideos(t, "?remixed_from_video_id="+source)) != 0 {
			t.Errorf("%+v became %+v", before, after)
		}
	}
}

// statusOutlivesFaults lets the looks at a job fail in every way: the API still shows the last known state, and the task ends.
func statusOutlivesFaults(t *testing.T, v *films) {
	c := filmmaker(t, v.gateway, "status-fails")
	for _, id := range []string{reelModel, fastModel, swiftModel} {
		for _, spec := range []string{"status=500", "status=429;retry-after=1", "reset", "html", "empty", "truncated-json"} {
			o := c.film(t, videoBody(id, "simulate: "+spec+";on=status;times=1\nx"))
			isDone(t, o)
		}
	}
}

func missingIDs(t *testing.T, v *films) {
	for _, root := range videoRoots {
		for _, e := range []endpoint{{"GET", root + "/", "", ""}, {"DELETE", root + "/", "", ""}, {"POST", root + "//remix", `{"prompt":"x"}`, ""}, {"GET", root + "//content", "", ""}} {
			r := isRefused(t, v.call(t, e.method, e.path, e.body), 400, "missing_required_parameter", "video_id")
			if r.kind != "invalid_request_error" {
				t.Errorf("%s %s: %+v", e.method, e.path, r)
			}
		}
	}
}

// foreignAndUnknown insists that another account's video, a deleted one, one that never was and no id at all are the same
// to every operation, byte for byte.
func foreignAndUnknown(t *testing.T, v *films) {
	c := filmmaker(t, v.gateway, "stranger")
	deleted := textAt(c.film(t, videoBody(reelModel, "x")), "id")
	isDeleted(t, c.call(t, "DELETE", videosPath+"/"+deleted, ""), deleted)
	before := c.money(t)
	foreign := textAt(v.done[reelModel], "id")
	for _, root := range videoRoots {
		for _, e := range []endpoint{
			{"GET", root + "/%s", "", ""}, {"DELETE", root + "/%s", "", ""}, {"GET", root + "/%s/content", "", ""}, {"GET", root + "/%s/content?variant=thumbnail", "", ""},
			{"POST", root + "/%s/remix", `{"prompt":"x"}`, ""}, {"POST", root, videoBody(reelModel, "x", `"remix_video_id":"%s"`), ""},
		} {
			body := ""
			for _, id := range []string{foreign, deleted, "video_00000000000000000000000000", "video_", "x", strings.Repeat("y", 60)} {
				fill := func(form string) string {
					if strings.Contains(form, "%s") {
						return fmt.Sprintf(form, id)
					}
					return form
				}
				a := c.call(t, e.method, fill(e.path), fill(e.body))
				param := "video_id"
				if strings.Contains(e.body, "remix_video_id") {
					param = "remix_video_id"
				}
				isRefused(t, a, 404, "video_not_found", param)
				if body == "" {
					body = a.body
				}
				if a.body != body {
					t.Errorf("%s %s of %s tells it from others: %s", e.method, e.path, id, a.body)
				}
			}
		}
	}
	if got := c.call(t, "GET", videosPath+"?after="+foreign, ""); got.status != http.StatusOK || strings.Contains(got.body, `"object":"video"`) {
		t.Errorf("a foreign cursor: %d %s", got.status, got.body)
	}
	if got := c.listVideos(t, "?remixed_from_video_id="+foreign); len(got) != 0 {
		t.Errorf("remixes of a foreign video: %v", got)
	}
	if after := c.money(t); after != before {
		t.Errorf("%+v became %+v", before, after)
	}
	v.task(t, foreign)
}

// guardrail insists that a kind of content is rejected when it is asked for, and when an upstream finds it later.
func guardrail(kind string) func(*testing.T, *films) {
	return func(t *testing.T, v *films) {
		source := map[string]string{}
		for _, id := range videoModels {
			source[id] = textAt(v.done[id], "id")
		}
		spendsNothing(t, v, "guard-"+kind, func(c customer) {
			for _, id := range videoModels {
				for _, root := range videoRoots {
					r := isRefused(t, c.call(t, "POST", root, videoBody(id, "guardrail: "+kind)), 400, "content_policy_violation", "prompt")
					if r.kind != "invalid_request_error" {
						t.Errorf("%s: %+v", id, r)
					}
				}
				a := c.postForm(t, videosPath, formPart{name: "model", value: id}, formPart{name: "prompt", value: "guardrail: " + kind})
				isRefused(t, a, 400, "content_policy_violation", "prompt")
			}
		})
		c := filmmaker(t, v.gateway, "late-"+kind)
		before := c.money(t)
		for _, id := range videoModels {
			isRefused(t, v.call(t, "POST", videosPath+"/"+source[id]+"/remix", `{"prompt":"guardrail: `+kind+`"}`), 400, "content_policy_violation", "prompt")
			o := c.flop(t, videoBody(id, "guardrail-late: "+kind), "moderation_blocked")
			if o["expires_at"] != nil || nanos(t, number(at(o, "usage", "cost")).String()) != 0 {
				t.Errorf("%s: %v", id, o)
			}
			isRefused(t, c.call(t, "GET", videosPath+"/"+textAt(o, "id")+"/content", ""), 400, "video_not_ready", "video_id")
		}
		if after := c.money(t); after != before {
			t.Errorf("%+v became %+v", before, after)
		}
	}
}

// facesAreRejected sends pictures with a face in every form, rejected at once and late.
func facesAreRejected(t *testing.T, v *films) {
	c := filmmaker(t, v.gateway, "faces")
	before := c.money(t)
	face := pngOf(t, 1280, 720, true)
	for _, id := range []string{reelModel, fastModel, swiftModel} {
		upload := func(prompt string) answer {
			return c.postForm(t, videosPath, formPart{name: "model", value: id}, formPart{name: "prompt", value: prompt}, formPart{name: "size", value: "1280x720"},
				formPart{"input_reference", "a.png", "image/png", face})
		}
		for _, a := range []answer{
			upload("a portrait"),
			c.call(t, "POST", videosPath, videoBody(id, "x", `"size":"1280x720"`, `"input_reference":{"image_url":"`+dataURL("image/png", face)+`"}`)),
		} {
			isRefused(t, a, 400, "content_policy_violation", "input_reference")
		}
		o := c.ended(t, textAt(taskOf(t, upload("guardrail-late: faces")), "id"))
		if textAt(o, "status") != "failed" || textAt(o, "error", "code") != "moderation_blocked" {
			t.Errorf("%s: %v", id, o)
		}
	}
	if after := c.money(t); after != before {
		t.Errorf("%+v became %+v", before, after)
	}
}

// quotesHold compares what dry runs say with what the videos cost then.
func quotesHold(t *testing.T, v *films) {
	c := filmmaker(t, v.gateway, "quotes")
	for _, id := range videoModels {
		for i, size := range videoSizes[id] {
			seconds := videoLengths[id][i%len(videoLengths[id])]
			body := videoBody(id, "quoted", fmt.Sprintf(`"size":%q,"seconds":%d`, size, seconds))
			before := c.money(t)
			var said string
			for _, root := range videoRoots {
				a := c.call(t, "POST", root, body, "X-Dry-Run", []string{"1", "true"}[i%2])
				q := object(t, a.body)
				is(t, q, "object", "video.quote")
				said = number(q["cost"]).String()
				if number(q["cost_min"]).String() != "0" || number(q["cost_max"]).String() != said || textAt(q, "currency") != "USD" ||
					nanos(t, said) != nanos(t, number(q["price_per_second"]).String())*int64(seconds) {
					t.Errorf("the quote is %s", a.body)
				}
			}
			if c.money(t) != before {
				t.Errorf("a quote moved %+v to %+v", before, c.money(t))
			}
			if i > 1 && i < len(videoSizes[id])-1 {
				continue
			}
			o := c.film(t, body)
			after := c.money(t)
			if shown := number(at(o, "usage", "cost")).String(); nanos(t, shown) != nanos(t, said) || before.Posted-after.Posted != nanos(t, said) || after.Held != 0 {
				t.Errorf("%s: quoted %s, shown %s, gone %d", id, said, shown, before.Posted-after.Posted)
			}
		}
		source := textAt(v.done[id], "id")
		q := object(t, v.call(t, "POST", videosPath+"/"+source+"/remix", `{"prompt":"x"}`, "X-Dry-Run", "1").body)
		if want := number(at(v.done[id], "usage", "cost")).String(); number(q["cost"]).String() != want {
			t.Errorf("%s: the remix is quoted %v, the source cost %s", id, q, want)
		}
	}
	if a := c.quote(t, videoBody(reelModel, "x", `"size":"1x1"`)); a.status != 400 {
		t.Errorf("a wrong quote: %d", a.status)
	}
	c.books(t)
}
