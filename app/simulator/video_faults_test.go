package simulator

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestVideoFaultsStrikeTheCallTheyName(t *testing.T) {
	t.Parallel()
	eachService(t, func(t *testing.T, s service) {
		u := setup(t, Options{})
		if status, _ := u.json("POST", s.create, s.ask("simulate: status=503\nA lighthouse"), nil); status != 503 || len(u.sim.Renders()) != 0 {
			t.Errorf("create: %d, %d renders", status, len(u.sim.Renders()))
		}
		one := s.begin(u, "simulate: on=status;status=500;times=2\nA lighthouse")
		two := s.begin(u, "simulate: on=status;status=500;times=2\nA lighthouse")
		for _, at := range []string{one, two} {
			for _, want := range []int{500, 500, 200} {
				if status, v := u.json("GET", at, nil, nil); status != want {
					t.Errorf("%d, want %d: %v", status, want, v)
				}
			}
		}
		at := s.begin(u, "simulate: on=content;status=404;times=1\nA lighthouse")
		_, v := s.look(u, at)
		if first, then := s.file(u, at, v), s.file(u, at, v); first.status != 404 || then.status != 200 {
			t.Errorf("%d, %d", first.status, then.status)
		}
		if status, _ := u.json("GET", at, nil, map[string]string{"X-Simulate": "status=529"}); status != 529 {
			t.Errorf("by header: %d", status)
		}
		if status, _ := u.json("GET", at, nil, map[string]string{"X-Simulate": "on=list;status=529"}); status != 200 {
			t.Errorf("by header, for a list: %d", status)
		}
		if status, v := u.json("POST", s.create, s.ask("simulate: on=breakfast\nA lighthouse"), nil); status != 400 || !strings.Contains(string(mustJSON(t, v)), "breakfast") {
			t.Errorf("%d %v", status, v)
		}
	})
}

func TestVideoFaultsOfTheTable(t *testing.T) {
	t.Parallel()
	u := setup(t, Options{Control: true})
	put := func(provider, model, spec string) {
		if res := u.do("PUT", "/_control/faults", mustJSON(t, faultEntry{Provider: provider, Model: model, Spec: spec}), nil); res.status != 204 {
			t.Fatalf("%d %s", res.status, res.body)
		}
	}
	put("meridian", "", "on=list,cancel;status=500;times=2")
	put("meridian", "reel-2", "on=remix;status=429;code=busy;retry-after=7")
	at := services[0].begin(u, "A lighthouse")
	for method, path := range map[string]string{"GET": videosAt, "DELETE": at} {
		if status, v := u.json(method, path, nil, nil); status != 500 {
			t.Errorf("%s: %d %v", method, status, v)
		}
	}
	if status, _ := u.json("GET", videosAt, nil, nil); status != 200 {
		t.Errorf("a third time: %d", status)
	}
	res := u.do("POST", at+"/remix", []byte(`{"prompt":"At night"}`), nil)
	if res.status != 429 || res.header.Get("Retry-After") != "7" || !strings.Contains(string(res.body), `"busy"`) {
		t.Errorf("%d %s", res.status, res.body)
	}
	put("kestrel", "", "fail=oops;times=1")
	for _, want := range []string{"failed", "completed"} {
		if got, v := services[2].look(u, services[2].begin(u, "A lighthouse")); got != want {
			t.Errorf("%s: %v", got, v)
		}
	}
	put("", "", "on=status;status=500")
	if status, _ := u.json("POST", "/v1/chat/completions", raw(`{"model":"m","messages":[{"role":"user","content":"echo: x"}]}`), nil); status != 200 {
		t.Errorf("a text call: %d", status)
	}
}

func TestRendersGoWrongAsTold(t *testing.T) {
	t.Parallel()
	for spec, want := range map[string][]string{
		"fail=oops":                       {"failed", "failed"},
		"flip":                            {"completed", "failed", "failed"},
		"vanish":                          {"", ""},
		"render=hold":                     {"in_progress", "in_progress"},
		"never":                           {"in_progress", "in_progress"},
		"backwards":                       {"in_progress", "queued", "in_progress", "completed"},
		"progress=150":                    {"in_progress", "completed"},
		"unknown-status":                  {"postprocessing", "completed"},
		"render=1ns":                      {"queued"},
		"fail=oops;on=status;status=500":  {""},
		"key=k;on=create;fail=oops":       {"failed"},
		"skip=1;fail=oops":                {"completed"},
		"progress=-1;render=10s":          {"in_progress"},
		"late-create;slow-first=1ms":      {"completed"},
		"on=remix;fail=oops":              {"failed"},
		"created;no-stills;short-film=2":  {"completed"},
		"render=0s;callback=none;fail=no": {"failed"},
	} {
		t.Run(spec, func(t *testing.T) {
			t.Parallel()
			eachService(t, func(t *testing.T, s service) {
				u := setup(t, Options{})
				at := s.begin(u, "simulate: "+spec+"\nA lighthouse")
				for i, w := range want {
					got, v := s.look(u, at)
					switch {
					case s.name == "operations" && (w == "queued" || w == "postprocessing"):
						w = "in_progress" // The style has no words for these states.
					case w == "postprocessing" && s.name == "tasks":
						got = text(v, "data", "task_status")
					}
					if failed := s.name == "operations" && w == "" && v["error"] != nil; got != w && !failed {
						t.Errorf("look %d: %q, want %q: %v", i, got, w, v)
					}
				}
			})
		})
	}
	u := setup(t, Options{})
	for spec, want := range map[string]float64{"progress=150": 150, "progress=-1": -1, "backwards": 80} {
		if _, v := u.json("GET", services[0].begin(u, "simulate: "+spec+"\nx"), nil, nil); v["progress"] != want {
			t.Errorf("%s: %v", spec, v)
		}
	}
	_, v := u.json("GET", services[0].begin(u, "simulate: fail=oops\nx"), nil, nil)
	if text(v, "error", "code") != "oops" {
		t.Errorf("%v", v)
	}
}

func TestLateCreateMakesTheRender(t *testing.T) {
	t.Parallel()
	for spec, want := range map[string]int{"late-create": 0, "late-create;reset": 0, "late-create;status=504": 504, "late-create;slow-first=1ms": 200,
		"late-create;truncated-json": 200} {
		t.Run(spec, func(t *testing.T) {
			t.Parallel()
			eachService(t, func(t *testing.T, s service) {
				u := setup(t, Options{StallMax: 20 * time.Millisecond})
				res := u.do("POST", s.create, mustJSON(t, s.ask("simulate: "+spec+"\nA lighthouse")), nil)
				made := u.sim.Renders()
				if res.status != want || len(made) != 1 {
					t.Fatalf("%d %v, %d renders", res.status, res.failed, len(made))
				}
				if got := made[0]; got.Prompt != "simulate: "+spec+"\nA lighthouse" || got.Status != "completed" {
					t.Errorf("%+v", got)
				}
			})
		})
	}
	u := setup(t, Options{})
	if res := u.do("POST", videosAt, mustJSON(t, videoAsk("simulate: reset\nx")), nil); res.failed == nil || len(u.sim.Renders()) != 0 {
		t.Errorf("a reset without late-create: %d, %d renders", res.status, len(u.sim.Renders()))
	}
}

func TestContentGoesWrongAsTold(t *testing.T) {
	t.Parallel()
	eachService(t, func(t *testing.T, s service) {
		u := setup(t, Options{})
		fetch := func(spec string) answered {
			at := s.begin(u, "simulate: "+spec+"\nA lighthouse")
			_, v := s.look(u, at)
			return s.file(u, at, v)
		}
		whole := fetch("times=1")
		if got := fetch("content=short"); got.status != 200 || got.err == nil || len(got.body) != len(whole.body)/2 {
			t.Errorf("short: %d, %d bytes, %v", got.status, len(got.body), got.err)
		}
		if got := fetch("content=empty"); got.status != 200 || len(got.body) != 0 || got.header.Get("Content-Type") != "video/mp4" {
			t.Errorf("empty: %+v", got)
		}
		if got := fetch("content=html"); got.status != 200 || !strings.HasPrefix(string(got.body), "<!doctype html>") {
			t.Errorf("html: %s", got.body)
		}
		if got := fetch("content=wrong-type"); got.header.Get("Content-Type") != "text/plain; charset=utf-8" || string(got.body) != string(whole.body) {
			t.Errorf("wrong-type: %v", got.header)
		}
		if got := fetch("content=slow;slow-drip=1us"); string(got.body) != string(whole.body) {
			t.Errorf("slow: %d bytes", len(got.body))
		}
		if got := fetch("on=content;reset-after=1"); got.err == nil || len(got.body) >= len(whole.body) {
			t.Errorf("reset: %d bytes, %v", len(got.body), got.err)
		}
		if got := fetch("on=content;redirect=http://127.0.0.1:1/"); got.status != 302 {
			t.Errorf("redirect: %d", got.status)
		}
		if got := fetch("on=content;gzip=1000"); got.header.Get("Content-Encoding") != "gzip" {
			t.Errorf("gzip: %v", got.header)
		}
		if short := fetch("short-film=1"); len(short.body) >= len(whole.body) || len(short.body) == 0 {
			t.Errorf("short film: %d of %d bytes", len(short.body), len(whole.body))
		}
	})
	u := setup(t, Options{})
	at := services[0].begin(u, "simulate: no-stills\nx")
	if thumb, video := u.do("GET", at+"/content?variant=thumbnail", nil, nil), u.do("GET", at+"/content", nil, nil); thumb.status != 404 || video.status != 200 {
		t.Errorf("%d, %d", thumb.status, video.status)
	}
	at = services[0].begin(u, "simulate: content=slow;slow-drip=10m\nx")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.url+at+"/content", nil)
	if err != nil {
		t.Fatal(err)
	}
	if res, err := u.client.Do(req); err == nil {
		_ = res.Body.Close() // The client leaves, and the simulator stops sending.
	}
}

func TestFileAddressesCanBeElsewhereAndExpire(t *testing.T) {
	t.Parallel()
	for _, s := range services[1:] {
		c := newClock()
		u := setup(t, Options{Now: c.Now})
		at := s.begin(u, "simulate: files=https://files.example.com/x\nA lighthouse")
		if _, v := s.look(u, at); !strings.Contains(string(mustJSON(t, v)), `"https://files.example.com/x/v1`) {
			t.Errorf("%s: %v", s.name, v)
		}
		at = s.begin(u, "simulate: file-expiry=1m\nA lighthouse")
		_, old := s.look(u, at)
		c.move(time.Minute)
		if res := s.file(u, at, old); res.status != 200 {
			t.Errorf("%s, in time: %d", s.name, res.status)
		}
		c.move(time.Second)
		if res := s.file(u, at, old); res.status != 403 {
			t.Errorf("%s, too late: %d", s.name, res.status)
		}
		_, fresh := s.look(u, at)
		if res := s.file(u, at, fresh); res.status != 200 {
			t.Errorf("%s, a fresh one: %d", s.name, res.status)
		}
	}
}

// TestHoldKeepsVideoCalls proves that the gate stands before every call of a video service.
func TestHoldKeepsVideoCalls(t *testing.T) {
	t.Parallel()
	u := setup(t, Options{Control: true})
	at := services[0].begin(u, "A lighthouse")
	u.do("POST", "/_control/hold?provider=meridian", nil, nil)
	done := make(chan int, 1)
	go func() { done <- u.do("GET", at, nil, nil).status }()
	if _, v := u.json("GET", "/_control/waiting?at_least=1", nil, nil); v["count"] != 1.0 {
		t.Errorf("%v", v)
	}
	u.do("POST", "/_control/release", nil, nil)
	if status := <-done; status != 200 {
		t.Errorf("%d", status)
	}
}

func TestVideoDirectivesAreJudged(t *testing.T) {
	t.Parallel()
	for _, spec := range []string{"on=", "on=create,lunch", "content=odd", "render=x", "render=25h", "progress=x", "progress=9999999", "fail=", "never=1",
		"short-film=0", "short-film=61", "callback=x", "files=", "file-expiry=x", "late-create=1"} {
		if f, err := parseFault(spec); err == nil {
			t.Errorf("%s: %+v", spec, f)
		}
	}
}
