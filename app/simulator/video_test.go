package simulator

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestRenderGrowsWithTheClock(t *testing.T) {
	t.Parallel()
	eachService(t, func(t *testing.T, s service) {
		c := newClock()
		u := setup(t, Options{Now: c.Now, Render: 100 * time.Second})
		at := s.begin(u, "A lighthouse")
		if got, _ := s.look(u, at); got == "completed" || got == "failed" {
			t.Errorf("at once: %s", got)
		}
		c.move(50 * time.Second)
		got, v := s.look(u, at)
		if got != "in_progress" {
			t.Errorf("half way: %s", got)
		}
		if p, told := map[string]any{"videos": dig(v, "progress"), "operations": dig(v, "metadata", "progressPercent")}[s.name]; told && p != 50.0 {
			t.Errorf("half way: %v %%", p)
		}
		c.move(50 * time.Second)
		got, v = s.look(u, at)
		if got != "completed" {
			t.Fatalf("in the end: %v", v)
		}
		res := s.file(u, at, v)
		if res.status != 200 || res.header.Get("Content-Type") != "video/mp4" || !strings.Contains(string(res.body[:32]), "ftyp") {
			t.Errorf("the file: %d %v, %d bytes", res.status, res.header, len(res.body))
		}
	})
}

func TestRenderWithoutDurationEndsAtTheFirstLook(t *testing.T) {
	t.Parallel()
	eachService(t, func(t *testing.T, s service) {
		u := setup(t, Options{})
		if got, v := s.look(u, s.begin(u, "A lighthouse")); got != "completed" {
			t.Errorf("%s: %v", got, v)
		}
	})
}

// TestVideoKeysAreThoseOfTheService proves that a key in the wrong header is no key.
func TestVideoKeysAreThoseOfTheService(t *testing.T) {
	t.Parallel()
	right := map[string]map[string]string{"videos": {"Authorization": "Bearer k"}, "tasks": {"Authorization": "Bearer k"},
		"operations": {"X-Goog-Api-Key": "k"}}
	words := map[string]string{"videos": `"code":"invalid_api_key"`, "operations": `"status":"UNAUTHENTICATED"`, "tasks": `"code":1002`}
	eachService(t, func(t *testing.T, s service) {
		u := setup(t, Options{Key: "k"})
		for name, header := range right {
			status, v := u.json("POST", s.create, s.ask("A lighthouse"), header)
			fits := right[s.name]["Authorization"] == header["Authorization"]
			if fits && status != 200 || !fits && status != 401 {
				t.Errorf("with the key of %s: %d %v", name, status, v)
			}
		}
		_, v := u.json("POST", s.create, s.ask("A lighthouse"), map[string]string{"Authorization": "Bearer other"})
		wantWords(t, s.name, v, words[s.name])
	})
}

func TestGuardrailsRefuseAtOnceAndLate(t *testing.T) {
	t.Parallel()
	atOnce := map[string][]string{"videos": {`"code":"moderation_blocked"`, `"type":"invalid_request_error"`},
		"operations": {`"status":"INVALID_ARGUMENT"`, "violates the usage guidelines", "Support codes: "}, "tasks": {`"code":1301`, "content security policy"}}
	late := map[string][]string{"videos": {`"status":"failed"`, `"code":"moderation_blocked"`},
		"operations": {`"done":true`, `"raiMediaFilteredCount":1`, "Support codes: "}, "tasks": {`"task_status":"failed"`, "content policy"}}
	eachService(t, func(t *testing.T, s service) {
		u := setup(t, Options{})
		for _, g := range guardrails {
			status, v := u.json("POST", s.create, s.ask("A film, guardrail: "+g.kind), nil)
			if status != 400 {
				t.Errorf("%s: %d", g.kind, status)
			}
			wantWords(t, g.kind, v, append(atOnce[s.name], g.text)...)
			got, v := s.look(u, s.begin(u, "A film, guardrail-late: "+g.kind))
			if got != "failed" {
				t.Errorf("late %s: %s", g.kind, got)
			}
			wantWords(t, "late "+g.kind, v, append(late[s.name], g.text)...)
		}
		_, v := s.look(u, s.begin(u, "simulate: fail=moderation_blocked\nA film"))
		wantWords(t, "by directive", v, late[s.name]...)
		if made := u.sim.Renders(); len(made) != len(guardrails)+1 {
			t.Errorf("%d renders", len(made))
		}
	})
}

func TestVideoPromptsAreJudged(t *testing.T) {
	t.Parallel()
	eachService(t, func(t *testing.T, s service) {
		u := setup(t, Options{})
		for _, prompt := range []string{"", strings.Repeat("ü", videoPromptRunesMax+1)} {
			if status, v := u.json("POST", s.create, s.ask(prompt), nil); status != 400 {
				t.Errorf("%d characters: %d %v", len(prompt)/2, status, v)
			}
		}
		s.begin(u, strings.Repeat("ü", videoPromptRunesMax))
		body := s.ask("A lighthouse")
		body["surprise"] = 1
		if status, v := u.json("POST", s.create, body, nil); status != 400 || !strings.Contains(fmt.Sprint(v), "surprise") {
			t.Errorf("an unknown field: %d %v", status, v)
		}
		if res := u.do("POST", s.create, []byte("{"), nil); res.status != 400 {
			t.Errorf("no JSON: %d", res.status)
		}
		if res := u.do("POST", s.create, []byte("a=b"), map[string]string{"Content-Type": "text/plain"}); res.status != 415 {
			t.Errorf("plain text: %d", res.status)
		}
		if res := u.do("PUT", s.create, []byte("{}"), nil); res.status != 405 || res.header.Get("Allow") == "" {
			t.Errorf("PUT: %d", res.status)
		}
		at := s.at(object{"id": "x", "name": "models/pan-3/operations/x", "data": object{"task_id": "x"}})
		if status, _ := u.json("GET", at, nil, nil); status != 404 {
			t.Errorf("unknown: %d", status)
		}
		if res := u.do("PATCH", at, []byte("{}"), nil); res.status != 405 {
			t.Errorf("PATCH: %d", res.status)
		}
	})
}

func TestProvidersDoNotSeeEachOther(t *testing.T) {
	t.Parallel()
	eachService(t, func(t *testing.T, s service) {
		u := setup(t, Options{})
		at := s.begin(u, "A lighthouse")
		_, rest, _ := strings.Cut(strings.TrimPrefix(at, "/"), "/")
		if status, _ := u.json("GET", "/other/"+rest, nil, nil); status != 404 {
			t.Errorf("another provider: %d", status)
		}
		if status, _ := u.json("GET", "/"+rest, nil, nil); status != 404 {
			t.Errorf("no provider: %d", status)
		}
	})
}

// TestRemixHasTheLookOfItsSource proves that a remix of each style is a generation more with the same colours.
func TestRemixHasTheLookOfItsSource(t *testing.T) {
	t.Parallel()
	ask := map[string]func(u *upstream, at string, v object) (string, object){
		"videos": func(_ *upstream, at string, _ object) (string, object) {
			return at + "/remix", object{"prompt": "At night"}
		},
		"operations": func(_ *upstream, _ string, v object) (string, object) {
			uri := text(v, "response", "generateVideoResponse", "generatedSamples", 0, "video", "uri")
			return modelAt, object{"instances": []any{object{"prompt": "At night", "video": object{"uri": uri}}}}
		},
		"tasks": func(_ *upstream, _ string, v object) (string, object) {
			return "/kestrel/v1/videos/video-extend", object{"prompt": "At night",
				"video_id": text(v, "data", "task_result", "videos", 0, "id"), "external_task_id": "second"}
		},
	}
	eachService(t, func(t *testing.T, s service) {
		u := setup(t, Options{})
		at := s.begin(u, "A lighthouse")
		_, v := s.look(u, at)
		path, body := ask[s.name](u, at, v)
		status, v := u.json("POST", path, body, nil)
		all := u.sim.Renders()
		if status != 200 || len(all) != 2 || all[1].Generation != 1 || all[1].Seconds != all[0].Seconds || all[1].Width != all[0].Width ||
			all[1].Model != all[0].Model {
			t.Fatalf("%d %v: %+v", status, v, all)
		}
		kept := slices.Collect(u.sim.renders.oldest)
		first, second := kept[0], kept[1]
		if first.seed != second.seed || second.film().Title != "At night" || second.film().Generation != 1 {
			t.Errorf("%+v, %+v", first.film(), second.film())
		}
		body["surprise"] = true
		if status, _ := u.json("POST", path, body, nil); status != 400 {
			t.Errorf("an unknown field: %d", status)
		}
	})
}

func TestRemixNeedsAFinishedSource(t *testing.T) {
	t.Parallel()
	u := setup(t, Options{Render: time.Minute})
	_, v := u.json("POST", videosAt, videoAsk("A lighthouse"), nil)
	for path, want := range map[string]int{videosAt + "/" + text(v, "id") + "/remix": 400, videosAt + "/video_no/remix": 404} {
		if status, v := u.json("POST", path, object{"prompt": "At night"}, nil); status != want {
			t.Errorf("%s: %d %v", path, status, v)
		}
	}
	u.json("POST", modelAt, operationAsk("A lighthouse"), nil)
	uri := u.url + "/boreal/v1beta/files/" + u.sim.Renders()[1].ID + ":download?alt=media"
	body := object{"instances": []any{object{"prompt": "At night", "video": object{"uri": uri}}}}
	if status, v := u.json("POST", modelAt, body, nil); status != 400 {
		t.Errorf("operations: %d %v", status, v)
	}
	if status, v := u.json("POST", "/kestrel/v1/videos/video-extend", object{"prompt": "x", "video_id": "7"}, nil); status != 400 {
		t.Errorf("tasks: %d %v", status, v)
	}
	if res := u.do("GET", strings.TrimPrefix(uri, u.url), nil, nil); res.status != 302 {
		t.Errorf("the address of a file to come: %d", res.status)
	}
	if res := u.do("GET", "/boreal/v1beta/download/"+u.sim.Renders()[1].ID, nil, nil); res.status != 404 {
		t.Errorf("a file to come: %d", res.status)
	}
}

func TestRendersAreBounded(t *testing.T) {
	t.Parallel()
	var s renders
	now := noon
	add := func(i int, f *fault, prompt string) *render {
		r := &render{id: fmt.Sprint(i), created: now, fault: f, prompt: &prompt0, order: order{kind: "videos", text: prompt, external: fmt.Sprint("x", i)}}
		if !s.add(r, now) {
			t.Fatalf("render %d was refused", i)
		}
		return r
	}
	endless := add(0, &fault{videoFault: videoFault{never: true}}, "a")
	for i := 1; i <= rendersMax+5; i++ {
		add(i, &fault{}, "a")
	}
	kept := slices.Collect(s.oldest)
	if len(kept) != rendersMax || kept[0] != endless || kept[1].id != "7" || s.find("", "videos", "1") != nil || s.find("", "videos", "x7") == nil {
		t.Errorf("%d renders, %s", len(kept), kept[1].id)
	}
	if len(s.byID) != 2*rendersMax {
		t.Errorf("%d ids", len(s.byID))
	}
	add(rendersMax+9, &fault{}, strings.Repeat("a", renderPromptBytesMax-10))
	if s.bytes > renderPromptBytesMax || s.list.Len() > 11 {
		t.Errorf("%d renders with %d bytes", s.list.Len(), s.bytes)
	}
}

var prompt0 = prompt{}

func TestRendersCanBeFinishedByHand(t *testing.T) {
	t.Parallel()
	eachService(t, func(t *testing.T, s service) {
		u := setup(t, Options{Control: true})
		one, two, endless := s.begin(u, "simulate: render=hold\nOne"), s.begin(u, "simulate: render=hold\nTwo"), s.begin(u, "simulate: never\nThree")
		for _, at := range []string{one, two, endless} {
			if got, v := s.look(u, at); got != "in_progress" {
				t.Errorf("%s: %v", got, v)
			}
		}
		for _, query := range []string{"?id=One", ""} {
			if _, v := u.json("POST", "/_control/finish"+query, nil, nil); v["finished"] != 1.0 {
				t.Errorf("%q: %v", query, v)
			}
		}
		for at, want := range map[string]string{one: "completed", two: "completed", endless: "in_progress"} {
			if got, v := s.look(u, at); got != want {
				t.Errorf("%s: %v", got, v)
			}
		}
		_, v := u.json("GET", "/_control/renders?text=Two", nil, nil)
		if dig(v, "renders", 0, "status") != "completed" || dig(v, "renders", 1) != nil || dig(v, "made") != 3.0 || dig(v, "renders", 0, "looks") != 2.0 {
			t.Errorf("%v", v)
		}
		if _, v := u.json("GET", "/_control/renders?provider=unknown", nil, nil); dig(v, "renders", 0) != nil {
			t.Errorf("%v", v)
		}
	})
}
