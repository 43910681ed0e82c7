package simulator

import (
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"
)

const assetsAt = "/kestrel/v1/assets"

// assetAsk is the smallest right request, with changes.
func assetAsk(changes object) object {
	ask := object{"group_id": "umg", "type": "image", "url": "https://example.com/a.png", "name": "A"}
	maps.Copy(ask, changes)
	return ask
}

// register keeps an asset and returns its id.
func (u *upstream) register(changes object) string {
	u.t.Helper()
	status, v := u.json("POST", assetsAt, assetAsk(changes), nil)
	if status != 200 || text(v, "id") == "" {
		u.t.Fatalf("%d %v", status, v)
	}
	return text(v, "id")
}

// kept is what the control routes list.
func (u *upstream) kept(query string) []Asset {
	u.t.Helper()
	return decode[struct{ Assets []Asset }](u.t, u.do("GET", "/_control/assets"+query, nil, nil).body).Assets
}

func TestAssetsAreProcessedByTheClock(t *testing.T) {
	t.Parallel()
	c := newClock()
	u := setup(t, Options{Now: c.Now, Render: 10 * time.Second})
	status, v := u.json("POST", assetsAt, assetAsk(object{"reference": "asset_1", "type": "audio"}), nil)
	want := object{"group_id": "umg", "type": "audio", "url": "https://example.com/a.png", "name": "A", "reference": "asset_1", "status": "processing"}
	for name, value := range want {
		if v[name] != value {
			t.Errorf("%s is %v, not %v", name, v[name], value)
		}
	}
	if status != 200 || v["error"] != nil || dig(v, "created_at") != float64(noon.Unix()) {
		t.Errorf("%d %v", status, v)
	}
	at := assetsAt + "/" + text(v, "id")
	if _, v = u.json("GET", at, nil, nil); v["status"] != "processing" {
		t.Errorf("at once: %v", v)
	}
	c.move(10 * time.Second)
	if _, v = u.json("GET", at, nil, nil); v["status"] != "active" || dig(v, "updated_at") != float64(noon.Add(10*time.Second).Unix()) {
		t.Errorf("in the end: %v", v)
	}
	if status, v = u.json("DELETE", at, nil, nil); status != 200 || v["deleted"] != true || v["id"] == nil {
		t.Errorf("delete: %d %v", status, v)
	}
	for _, method := range []string{"GET", "DELETE"} {
		if status, v = u.json(method, at, nil, nil); status != 404 || text(v, "error", "code") != "asset_not_found" {
			t.Errorf("%s of what is gone: %d %v", method, status, v)
		}
	}
}

func TestAssetsOfOneReferenceAreOne(t *testing.T) {
	t.Parallel()
	u := setup(t, Options{Control: true})
	first := u.register(object{"reference": "r"})
	if again := u.register(object{"reference": "r", "name": "B"}); again != first {
		t.Errorf("%s and %s", first, again)
	}
	if other := u.register(object{"reference": "r", "group_id": "other"}); other == first {
		t.Error("two groups share an asset")
	}
	if one, two := u.register(nil), u.register(nil); one == two {
		t.Error("assets without reference are one")
	}
	_, v := u.json("GET", assetsAt+"?group_id=umg&reference=r", nil, nil)
	if dig(v, "total") != 1.0 || text(v, "data", 0, "id") != first {
		t.Errorf("by reference: %v", v)
	}
	_, v = u.json("GET", assetsAt+"?group_id=umg&page=2&page_size=2", nil, nil)
	if dig(v, "total") != 3.0 || text(v, "data", 0, "id") != first || dig(v, "data", 1) != nil {
		t.Errorf("the second page: %v", v)
	}
	if status, _ := u.json("GET", "/meridian/v1/assets/"+first, nil, nil); status != 404 {
		t.Errorf("another provider has it: %d", status)
	}
	u.json("DELETE", assetsAt+"/"+first, nil, nil)
	if again := u.register(object{"reference": "r"}); again == first {
		t.Error("what was deleted came back")
	}
	if kept := u.kept("?provider=kestrel&group_id=umg&text=r"); len(kept) != 1 || kept[0].Reference != "r" || kept[0].Status != "active" {
		t.Errorf("%+v", kept)
	}
}

func TestAssetRequestsAreJudged(t *testing.T) {
	t.Parallel()
	u := setup(t, Options{Key: "k"})
	right := map[string]string{"Authorization": "Bearer k"}
	for param, changes := range map[string]object{
		"group_id": {"group_id": ""}, "type": {"type": "hologram"}, "url": {"url": "ftp://example.com/a"},
		"name": {"name": strings.Repeat("ü", assetNameRunesMax+1)}, "reference": {"reference": strings.Repeat("r", assetWordBytesMax+1)},
	} {
		if status, v := u.json("POST", assetsAt, assetAsk(changes), right); status != 400 || text(v, "error", "param") != param {
			t.Errorf("%s: %d %v", param, status, v)
		}
	}
	if status, v := u.json("POST", assetsAt, assetAsk(object{"colour": "red"}), right); status != 400 || !strings.Contains(fmt.Sprint(v), "colour") {
		t.Errorf("an unknown member: %d %v", status, v)
	}
	for _, query := range []string{"", "?group_id=umg&page=0", "?group_id=umg&page_size=101", "?group_id=umg&page=x"} {
		if status, _ := u.json("GET", assetsAt+query, nil, right); status != 400 {
			t.Errorf("%q: %d", query, status)
		}
	}
	if status, v := u.json("POST", assetsAt, assetAsk(nil), nil); status != 401 || text(v, "error", "code") != "invalid_api_key" {
		t.Errorf("without a key: %d %v", status, v)
	}
	if res := u.do("PUT", assetsAt+"/x", nil, right); res.status != 405 || res.header.Get("Allow") != "GET, DELETE" {
		t.Errorf("PUT: %d %v", res.status, res.header)
	}
	if res := u.do("DELETE", assetsAt, nil, right); res.status != 405 || res.header.Get("Allow") != "GET, POST" {
		t.Errorf("DELETE of all: %d %v", res.status, res.header)
	}
}

func TestAGroupOfAssetsGetsFull(t *testing.T) {
	t.Parallel()
	u := setup(t, Options{Control: true})
	if res := u.do("PUT", "/_control/assets?group_max=2", nil, nil); res.status != 204 {
		t.Fatalf("%d", res.status)
	}
	first := u.register(object{"reference": "r"})
	u.register(nil)
	if status, v := u.json("POST", assetsAt, assetAsk(nil), nil); status != 403 || text(v, "error", "code") != "group_full" {
		t.Errorf("a third: %d %v", status, v)
	}
	if again := u.register(object{"reference": "r"}); again != first {
		t.Error("one that is there already finds no room")
	}
	u.register(object{"group_id": "other"})
	u.json("DELETE", assetsAt+"/"+first, nil, nil)
	u.register(nil)
	lost := u.do("DELETE", "/_control/assets?id="+first, nil, nil)
	if !strings.Contains(string(lost.body), `"lost":0`) {
		t.Errorf("%s", lost.body)
	}
	if lost = u.do("DELETE", "/_control/assets", nil, nil); !strings.Contains(string(lost.body), `"lost":3`) || len(u.kept("")) != 0 {
		t.Errorf("%s", lost.body)
	}
}

// TestAssetsGoWrongOnDemand goes through the faults of an asset's own name.
func TestAssetsGoWrongOnDemand(t *testing.T) {
	t.Parallel()
	u := setup(t, Options{Control: true})
	u.sim.options.StallMax = time.Millisecond
	try := func(method, at, name string) answered {
		if method == "POST" {
			return u.do("POST", assetsAt, mustJSON(t, assetAsk(object{"name": name, "reference": name})), nil)
		}
		return u.do(method, at, nil, nil)
	}
	for name, status := range map[string]int{"simulate: status=400;code=bad_source": 400, "simulate: status=429;retry-after=3": 429,
		"simulate: status=500": 500, "simulate: status=503;times=1": 503, "simulate: nonsense": 400, "simulate: html": 200, "simulate: empty": 200} {
		if res := try("POST", "", name); res.status != status {
			t.Errorf("%s: %d %s", name, res.status, res.body)
		}
	}
	if res := try("POST", "", "simulate: status=503;times=1"); res.status != 200 {
		t.Errorf("after one time: %d", res.status)
	}
	if kept := u.kept(""); len(kept) != 1 {
		t.Fatalf("%d are kept of those that were refused", len(kept)-1)
	}
	for _, name := range []string{"simulate: late-create;reset", "simulate: code=alone;late-create", "simulate: truncated-json", "simulate: reset-after=0"} {
		res := try("POST", "", name)
		if res.failed == nil && res.err == nil && strings.HasSuffix(string(res.body), "}") {
			t.Errorf("%s: %d %s", name, res.status, res.body)
		}
		if kept := u.kept("?text=" + strings.NewReplacer(" ", "%20", ";", "%3B").Replace(name)); len(kept) != 1 {
			t.Errorf("%s: %d are kept", name, len(kept))
		}
	}
}

func TestAssetsGoWrongLaterOnDemand(t *testing.T) {
	t.Parallel()
	u := setup(t, Options{Control: true})
	at := func(name string) string { return assetsAt + "/" + u.register(object{"name": name}) }
	if _, v := u.json("GET", at("simulate: fail=bad_source"), nil, nil); v["status"] != "failed" || text(v, "error", "code") != "bad_source" {
		t.Errorf("fail: %v", v)
	}
	if status, _ := u.json("GET", at("simulate: vanish"), nil, nil); status != 404 {
		t.Errorf("vanish: %d", status)
	}
	odd := at("simulate: unknown-status")
	for _, want := range []string{"transcoding", "active"} {
		if _, v := u.json("GET", odd, nil, nil); v["status"] != want {
			t.Errorf("unknown-status: %v, not %s", v, want)
		}
	}
	if _, v := u.json("GET", at("simulate: members"), nil, nil); v["asset_id"] != "asset_of_another" || v["labels"] == nil {
		t.Errorf("members: %v", v)
	}
	held := at("simulate: render=hold")
	if _, v := u.json("GET", held, nil, nil); v["status"] != "processing" {
		t.Errorf("held: %v", v)
	}
	if n := u.sim.Finish("render=hold"); n != 1 {
		t.Errorf("%d are finished", n)
	}
	if _, v := u.json("GET", held, nil, nil); v["status"] != "active" {
		t.Errorf("finished: %v", v)
	}
	stubborn := at("simulate: on=asset-delete;status=503;times=2 and a name")
	for i, want := range []int{503, 503, 200, 404} {
		if status, _ := u.json("DELETE", stubborn, nil, nil); status != want {
			t.Errorf("delete %d: %d", i, status)
		}
	}
	if status, _ := u.json("GET", at("simulate: on=asset-get;status=500"), nil, nil); status != 500 {
		t.Errorf("get: %d", status)
	}
	late := at("simulate: on=asset-delete;late-create;reset;times=1")
	if res := u.do("DELETE", late, nil, nil); res.failed == nil {
		t.Errorf("a late delete: %d", res.status)
	}
	if status, _ := u.json("GET", late, nil, nil); status != 404 {
		t.Errorf("after a late delete: %d", status)
	}
	u.do("PUT", "/_control/faults", mustJSON(t, object{"provider": "kestrel", "model": "assets", "spec": "on=asset-list;status=502"}), nil)
	if status, _ := u.json("GET", assetsAt+"?group_id=umg", nil, nil); status != 502 {
		t.Errorf("by the table: %d", status)
	}
	u.register(nil)
}

func TestTasksNameAssetsOfTheirProvider(t *testing.T) {
	t.Parallel()
	c := newClock()
	u := setup(t, Options{Now: c.Now, Control: true})
	picture, sound := u.register(nil), u.register(object{"type": "audio"})
	held := u.register(object{"name": "simulate: render=hold"})
	task := func(named ...object) (int, object) {
		ask := taskAsk("A harbour")
		ask["assets"] = named
		return u.json("POST", tasksAt, ask, nil)
	}
	if status, v := task(object{"id": picture, "type": "image"}, object{"id": sound, "type": "audio"}); status != 200 {
		t.Fatalf("%d %v", status, v)
	}
	made := decode[struct{ Renders []Render }](t, u.do("GET", "/_control/renders", nil, nil).body).Renders
	if len(made) != 1 || len(made[0].Assets) != 2 || made[0].Assets[0] != picture || made[0].Assets[1] != sound {
		t.Errorf("%+v", made)
	}
	for name, named := range map[string][]object{
		"unknown": {{"id": "asst_none", "type": "image"}}, "another type": {{"id": picture, "type": "video"}},
		"not active": {{"id": held, "type": "image"}}, "twice": {{"id": picture, "type": "image"}, {"id": picture, "type": "image"}},
		"too many": make([]object, taskAssetsMax+1), "an odd member": {{"id": picture, "type": "image", "weight": 1}},
	} {
		if status, v := task(named...); status != 400 {
			t.Errorf("%s: %d %v", name, status, v)
		}
	}
	ask := taskAsk("A harbour")
	ask["assets"] = []object{{"id": picture, "type": "image"}}
	if status, _ := u.json("POST", strings.Replace(tasksAt, "kestrel", "other", 1), ask, nil); status != 400 {
		t.Errorf("an asset of another provider: %d", status)
	}
	if len(u.sim.Renders()) != 1 {
		t.Errorf("%d renders", len(u.sim.Renders()))
	}
}

func TestVideosOfOthersComeInWhatTheseMake(t *testing.T) {
	t.Parallel()
	u := setup(t, Options{})
	for model, want := range map[string]int{"kestrel/swift": http.StatusOK, "reel-2": http.StatusBadRequest, "fault/times=1": http.StatusBadRequest} {
		ask := object{"model": model, "prompt": "A harbour", "size": "960x960", "seconds": "5"}
		if status, v := u.json("POST", "/crossroads/v1/videos", ask, nil); status != want {
			t.Errorf("%s: %d %v", model, status, v)
		}
	}
}
