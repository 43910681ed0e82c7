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

const assetsPath = "/v1/files/vendorx/assets"

// assetLines are the lines I168 to I184, K232 to K246 and L247.
var assetLines = []checkLine{
	{"I168 all asset routes take POST and JSON", filmed(assetRoutes)},
	{"I169 I173 I174 create answers the asset, which is created", filmed(assetCreated)},
	{"I170 K232 asset_type is required, and one of three words", filmed(assetTypes)},
	{"I171 K233 url is required, and reachable by the public", filmed(assetURLs)},
	{"I172 name is an optional string", filmed(assetNames)},
	{"I175 get answers the asset with created_at, and follows it until it is active or has failed", filmed(assetFollowed)},
	{"I176 I177 I179 K243 list pages through the caller's assets, newest first", filmed(assetsListed)},
	{"I178 I179 delete takes an asset away at once, here and upstream", filmed(assetDeleted)},
	{"I180 I182 K240 K241 another account's asset is like one that never was", filmed(assetsApart)},
	{"I181 assets lie in the resource group of the catalog", filmed(assetGroup)},
	{"I183 what else the upstream says passes through, and replaces nothing", filmed(assetExtras)},
	{"I184 an asset is used by a video, at the upstream that holds it", filmed(assetUsed)},
	{"K234 K244 invalid JSON is refused", filmed(assetJSON)},
	{"K235 K239 K245 every asset route demands a key", filmed(assetKeys)},
	{"K236 an upstream that does not take an asset leaves nothing behind", filmed(assetCreateFails)},
	{"K238 asset_id is required", filmed(assetIDs)},
	{"K242 get reports an upstream that cannot be reached", filmed(assetGetFails)},
	{"K246 list needs no upstream", filmed(assetListNeedsNoUpstream)},
	{"L247 an account has 10,000 assets and not one more", filmed(assetLimit)},
	{"L247 an Idempotency-Key makes one asset of one request that is sent again", filmed(assetOnce)},
}

// source is the address of a sample that the simulated internet has.
func (g *gateway) source(name string) string { return g.SimulatorURL + "/media/samples/" + name }

func assetBody(kind, url, name string) string {
	return fmt.Sprintf(`{"asset_type":%q,"url":%q,"name":%q}`, kind, url, name)
}

func (c customer) assets(t *testing.T, verb, body string, headers ...string) answer {
	t.Helper()
	return c.call(t, http.MethodPost, assetsPath+verb, body, headers...)
}

// makeAsset registers a sample and returns what create answers.
func (c customer) makeAsset(t *testing.T, kind, sample, name string) map[string]any {
	t.Helper()
	a := c.assets(t, "", assetBody(kind, c.source(sample), name))
	o := object(t, a.body)
	if a.status != http.StatusOK || !strings.HasPrefix(textAt(o, "asset_id"), "asset_") {
		t.Fatalf("no asset: %d %s", a.status, a.body)
	}
	return o
}

// settled asks for an asset until it has one of the states.
func (c customer) settled(t *testing.T, id string, states ...string) map[string]any {
	t.Helper()
	for deadline := time.Now().Add(callTimeMax); ; time.Sleep(20 * time.Millisecond) {
		a := c.assets(t, "/get", `{"asset_id":"`+id+`"}`)
		o := object(t, a.body)
		if a.status == http.StatusOK && slices.Contains(states, textAt(o, "status")) {
			return o
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s is not %v: %d %s", id, states, a.status, a.body)
		}
	}
}

// keptUpstream are the ids that the upstream has of what a text names.
func (c customer) keptUpstream(t *testing.T, text string) (groups []string) {
	t.Helper()
	found := parse[struct {
		Assets []struct {
			Group string `json:"group_id"`
		}
	}](t, c.simulator(t, "GET", "/_control/assets?text="+text, ""))
	for _, a := range found.Assets {
		groups = append(groups, a.Group)
	}
	return groups
}

// goneUpstream waits until the upstream has nothing left that the text names.
func (c customer) goneUpstream(t *testing.T, text string) {
	t.Helper()
	for deadline := time.Now().Add(callTimeMax); len(c.keptUpstream(t, text)) > 0; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the upstream still keeps %s", text)
		}
	}
}

func (c customer) assetCount(t *testing.T) int64 {
	t.Helper()
	return whole(t, object(t, c.assets(t, "/list", `{}`).body), "total")
}

var assetVerbs = []string{"", "/get", "/list", "/delete"}

func assetRoutes(t *testing.T, v *films) {
	c := filmmaker(t, v.gateway, "asset-routes")
	for _, verb := range assetVerbs {
		for _, method := range []string{"GET", "PUT", "PATCH", "DELETE"} {
			if a := c.call(t, method, assetsPath+verb, ""); a.status != 405 || a.header.Get("Allow") != "OPTIONS, POST" && a.header.Get("Allow") != "POST" {
				t.Errorf("%s %s: %d %q", method, verb, a.status, a.header.Get("Allow"))
			}
		}
		isRefused(t, c.assets(t, verb, `{}`, "Content-Type", "text/plain"), 415, "unsupported_media_type", "")
	}
	if a := c.assets(t, "/list", `{}`, "Content-Type", "application/json; charset=utf-8"); a.status != 200 {
		t.Errorf("with a charset: %d %s", a.status, a.body)
	}
}

func assetCreated(t *testing.T, v *films) {
	for _, one := range [][2]string{
		{"image", "picture.png"}, {"image", "picture.jpg"}, {"image", "picture.webp"}, {"video", "film.mp4"}, {"audio", "sound.wav"},
		{"audio", "sound.mp3"}, {"image", "unnamed"}, {"image", "wrong-type.png"}, {"image", "no-head.png"}, {"image", "no-range.png"},
	} {
		o := v.makeAsset(t, one[0], one[1], "harbour at dusk")
		is(t, o, "asset_type", one[0])
		is(t, o, "url", v.source(one[1]))
		is(t, o, "name", "harbour at dusk")
		is(t, o, "status", "created")
	}
}

func assetTypes(t *testing.T, v *films) {
	c := filmmaker(t, v.gateway, "asset-types")
	url := c.source("picture.png")
	isRefused(t, c.assets(t, "", `{"url":"`+url+`"}`), 400, "missing_required_parameter", "asset_type")
	for _, bad := range []string{`""`, `"hologram"`, `"Image"`, `7`, `null`, `["image"]`} {
		a := c.assets(t, "", `{"asset_type":`+bad+`,"url":"`+url+`"}`)
		if r := openAIRefusal(t, a); a.status != 400 || r.param != "asset_type" {
			t.Errorf("%s: %d %s", bad, a.status, a.body)
		}
	}
	for kind, sample := range map[string]string{"video": "picture.png", "audio": "film.mp4", "image": "sound.wav"} {
		isRefused(t, c.assets(t, "", assetBody(kind, c.source(sample), "x")), 400, "invalid_value", "url")
	}
	if n := c.assetCount(t); n != 0 {
		t.Errorf("%d assets are left", n)
	}
}

func assetURLs(t *testing.T, v *films) {
	c := filmmaker(t, v.gateway, "asset-urls")
	isRefused(t, c.assets(t, "", `{"asset_type":"image"}`), 400, "missing_required_parameter", "url")
	for _, sample := range []string{"text.png", "film.png", "wide.png", "empty.png", "huge.png", "moved.png", "inside.png", "gone.png", "closed.png", "broken.png"} {
		a := c.assets(t, "", assetBody("image", c.source(sample), "x"))
		if r := openAIRefusal(t, a); a.status != 400 || r.param != "url" {
			t.Errorf("%s: %d %s", sample, a.status, a.body)
		}
	}
	for _, url := range []string{
		"", "x", "ftp://example.com/a.png", "file:///etc/passwd", "http://example.com/a.png", "https://user@example.com/a.png", "https://127.0.0.1/a.png",
		"https://[::1]/a.png", "https://169.254.169.254/latest", "https://2130706433/a.png", "https://localhost/a.png", "data:image/png;base64,AAAA",
	} {
		a := c.assets(t, "", assetBody("image", url, "x"))
		if r := openAIRefusal(t, a); a.status != 400 || r.param != "url" {
			t.Errorf("%s: %d %s", url, a.status, a.body)
		}
	}
	if n := c.assetCount(t); n != 0 {
		t.Errorf("%d assets are left", n)
	}
}

func assetNames(t *testing.T, v *films) {
	o := object(t, v.assets(t, "", `{"asset_type":"image","url":"`+v.source("picture.png")+`"}`).body)
	is(t, o, "name", "picture.png")
	hostile := `<img src=x onerror=alert(1)>" '; drop table assets; --`
	o = v.makeAsset(t, "image", "picture.png", hostile)
	is(t, v.settled(t, textAt(o, "asset_id"), "active", "processing", "created"), "name", hostile)
	for _, bad := range []string{`7`, `["x"]`, `"` + strings.Repeat("n", 201) + `"`, `"a\u0000b"`, `"a\nb"`} {
		a := v.assets(t, "", `{"asset_type":"image","url":"`+v.source("picture.png")+`","name":`+bad+`}`)
		if r := openAIRefusal(t, a); a.status != 400 || r.param != "name" {
			t.Errorf("%.20s: %d %s", bad, a.status, a.body)
		}
	}
}

func assetFollowed(t *testing.T, v *films) {
	o := v.makeAsset(t, "image", "picture.png", "a picture")
	done := v.settled(t, textAt(o, "asset_id"), "active")
	if age := time.Now().Unix() - whole(t, done, "created_at"); age < 0 || age > 300 {
		t.Errorf("created %d s ago", age)
	}
	o = v.makeAsset(t, "image", "picture.png", "simulate: fail=bad_source")
	failed := v.settled(t, textAt(o, "asset_id"), "failed")
	if !strings.Contains(textAt(failed, "error", "message")+textAt(failed, "error", "code"), "bad_source") {
		t.Errorf("it does not say why: %v", failed)
	}
	// The gateway passes the upstream's own status through when it has no word for it.
	o = v.makeAsset(t, "image", "picture.png", "simulate: unknown-status;render=1h")
	v.settled(t, textAt(o, "asset_id"), "transcoding")
}

func assetsListed(t *testing.T, v *films) {
	c := filmmaker(t, v.gateway, "asset-list")
	var ids []string
	for range 5 {
		ids = append(ids, textAt(c.makeAsset(t, "image", "picture.png", "x"), "asset_id"))
	}
	slices.Reverse(ids)
	var walked []string
	for page := 1; page <= 4; page++ {
		o := object(t, c.assets(t, "/list", fmt.Sprintf(`{"page":%d,"page_size":2}`, page)).body)
		if whole(t, o, "page") != int64(page) || whole(t, o, "page_size") != 2 || whole(t, o, "total") != 5 {
			t.Errorf("page %d: %v", page, o)
		}
		for _, one := range o["data"].([]any) {
			walked = append(walked, textAt(one.(map[string]any), "asset_id"))
		}
	}
	if !slices.Equal(walked, ids) {
		t.Errorf("walked %v, not %v", walked, ids)
	}
	o := object(t, c.assets(t, "/list", ``).body)
	if whole(t, o, "page") != 1 || whole(t, o, "page_size") != 20 || len(o["data"].([]any)) != 5 {
		t.Errorf("without a body: %v", o)
	}
	for _, bad := range []string{`{"page":0}`, `{"page":-1}`, `{"page":1.5}`, `{"page":"1"}`, `{"page_size":0}`, `{"page_size":101}`, `{"page_size":"x"}`, `{"page":9223372036854775808}`} {
		a := c.assets(t, "/list", bad)
		param, _, _ := strings.Cut(strings.TrimPrefix(bad, `{"`), `"`)
		if r := openAIRefusal(t, a); a.status != 400 || r.param != param {
			t.Errorf("%s: %d %s", bad, a.status, a.body)
		}
	}
}

func assetDeleted(t *testing.T, v *films) {
	c := filmmaker(t, v.gateway, "asset-delete")
	name := once("to-delete")
	id := textAt(c.makeAsset(t, "image", "picture.png", name), "asset_id")
	c.settled(t, id, "active")
	a := c.assets(t, "/delete", `{"asset_id":"`+id+`"}`)
	o := object(t, a.body)
	if a.status != 200 || textAt(o, "asset_id") != id || o["deleted"] != true {
		t.Errorf("delete: %d %s", a.status, a.body)
	}
	if n := c.assetCount(t); n != 0 {
		t.Errorf("%d assets are left", n)
	}
	isRefused(t, c.assets(t, "/get", `{"asset_id":"`+id+`"}`), 404, "asset_not_found", "asset_id")
	isRefused(t, c.assets(t, "/delete", `{"asset_id":"`+id+`"}`), 404, "asset_not_found", "asset_id")
	c.goneUpstream(t, name)
	// An upstream that fails to delete is asked again.
	stubborn := once("stubborn")
	id = textAt(c.makeAsset(t, "image", "picture.png", "simulate: on=asset-delete;status=503;times=1 "+stubborn), "asset_id")
	c.assets(t, "/delete", `{"asset_id":"`+id+`"}`)
	c.goneUpstream(t, stubborn)
}

func assetsApart(t *testing.T, v *films) {
	mine, theirs := filmmaker(t, v.gateway, "asset-mine"), filmmaker(t, v.gateway, "asset-theirs")
	id := textAt(theirs.makeAsset(t, "image", "picture.png", "theirs"), "asset_id")
	const unknown = "asset_00000000000000000000000000"
	for _, verb := range []string{"/get", "/delete"} {
		foreign, absent := mine.assets(t, verb, `{"asset_id":"`+id+`"}`), mine.assets(t, verb, `{"asset_id":"`+unknown+`"}`)
		isRefused(t, foreign, 404, "asset_not_found", "asset_id")
		if withoutRequestID(foreign) != withoutRequestID(absent) {
			t.Errorf("%s tells them apart:\n%s\n%s", verb, foreign.body, absent.body)
		}
	}
	body := videoBody(swiftModel, "x", `"asset_ids":["`+id+`"]`)
	if a := mine.call(t, "POST", videosPath, body); a.status != 404 || mine.money(t).Held != 0 {
		t.Errorf("a video with another's asset: %d %s", a.status, a.body)
	}
	if mine.assetCount(t) != 0 || theirs.assetCount(t) != 1 {
		t.Error("the lists are not apart")
	}
}

// withoutRequestID is what an answer says apart from its own id.
func withoutRequestID(a answer) string { return requestIDs.ReplaceAllString(a.body, "") }

func assetGroup(t *testing.T, v *films) {
	name := once("grouped")
	v.makeAsset(t, "image", "picture.png", name)
	if groups := v.keptUpstream(t, name); !slices.Equal(groups, []string{"umg"}) {
		t.Errorf("kept in %v", groups)
	}
}

func assetExtras(t *testing.T, v *films) {
	id := textAt(v.makeAsset(t, "image", "picture.png", "simulate: members"), "asset_id")
	o := v.settled(t, id, "active")
	is(t, o, "asset_id", id)
	is(t, o, "asset_type", "image")
	is(t, o, "note", "<b>kept cold</b>")
	if o["deleted"] == true || o["labels"] == nil || textAt(o, "upstream_asset_id") == "" {
		t.Errorf("the upstream's members: %v", o)
	}
}

// assetUsed walks the whole way: create, processing, active, used by a video, deleted.
func assetUsed(t *testing.T, v *films) {
	c := filmmaker(t, v.gateway, "asset-use")
	mark := once("used")
	slow := textAt(c.makeAsset(t, "image", "picture.png", "simulate: render=1h"), "asset_id")
	isRefused(t, c.call(t, "POST", videosPath, videoBody(swiftModel, mark, `"asset_ids":["`+slow+`"]`)), 400, "asset_not_ready", "asset_ids[0]")
	picture := textAt(c.makeAsset(t, "image", "picture.png", "a picture"), "asset_id")
	sound := textAt(c.makeAsset(t, "audio", "sound.wav", "a sound"), "asset_id")
	c.settled(t, picture, "active")
	c.settled(t, sound, "active")
	c.film(t, videoBody(swiftModel, mark, `"asset_ids":["`+picture+`","`+sound+`"]`))
	if seen := c.simulator(t, "GET", "/_control/renders?text="+mark, ""); !strings.Contains(seen, `"kestrel"`) || strings.Count(seen, "asst_") != 2 {
		t.Errorf("the render: %s", seen)
	}
	for _, bad := range []string{`["` + picture + `","` + picture + `"]`, `[]`, `"` + picture + `"`, `[7]`, `[` + strings.Repeat(`"`+picture+`",`, 4) + `"` + sound + `"]`} {
		if a := c.call(t, "POST", videosPath, videoBody(swiftModel, "x", `"asset_ids":`+bad)); a.status != 400 || !strings.HasPrefix(openAIRefusal(t, a).param, "asset_ids") {
			t.Errorf("%.60s: %d %s", bad, a.status, a.body)
		}
	}
	a := c.call(t, "POST", videosPath, videoBody(reelModel, "x", `"asset_ids":["`+picture+`"]`))
	if a.status != 400 || openAIRefusal(t, a).param != "asset_ids" {
		t.Errorf("a model without assets: %d %s", a.status, a.body)
	}
	for _, id := range []string{picture, sound} {
		if a := c.assets(t, "/delete", `{"asset_id":"`+id+`"}`); a.status != 200 {
			t.Errorf("delete: %d %s", a.status, a.body)
		}
	}
	isRefused(t, c.call(t, "POST", videosPath, videoBody(swiftModel, "x", `"asset_ids":["`+picture+`"]`)), 404, "asset_not_found", "asset_ids[0]")
}

func assetJSON(t *testing.T, v *films) {
	for _, verb := range assetVerbs {
		for _, bad := range []string{`{`, `[]`, `"x"`, `{"page":1}x`, `{"page":1,"page":2}`, "\xff"} {
			if a := v.assets(t, verb, bad); a.status != 400 || openAIRefusal(t, a).kind != "invalid_request_error" {
				t.Errorf("%s %q: %d %s", verb, bad, a.status, a.body)
			}
		}
	}
}

func assetKeys(t *testing.T, v *films) {
	for _, verb := range assetVerbs {
		for _, key := range []string{"", "Bearer sk-umg-wrong"} {
			a := v.assets(t, verb, `{}`, "Authorization", key)
			if r := openAIRefusal(t, a); a.status != 401 || r.kind != "authentication_error" || a.header.Get("WWW-Authenticate") != "Bearer" {
				t.Errorf("%s %q: %d %s", verb, key, a.status, a.body)
			}
		}
	}
}

func assetIDs(t *testing.T, v *films) {
	for _, verb := range []string{"/get", "/delete"} {
		isRefused(t, v.assets(t, verb, `{}`), 400, "missing_required_parameter", "asset_id")
		isRefused(t, v.assets(t, verb, `{"asset_id":"asset_x"}`), 404, "asset_not_found", "asset_id")
		for _, bad := range []string{`7`, `null`, `""`, `["x"]`} {
			a := v.assets(t, verb, `{"asset_id":`+bad+`}`)
			if r := openAIRefusal(t, a); a.status != 400 || r.param != "asset_id" {
				t.Errorf("%s %s: %d %s", verb, bad, a.status, a.body)
			}
		}
	}
}

func assetCreateFails(t *testing.T, v *films) {
	c := filmmaker(t, v.gateway, "asset-fails")
	for _, fault := range []string{"status=500", "status=503", "status=401", "reset", "late-create;reset", "late-create;status=503"} {
		name := once("fails")
		a := c.assets(t, "", assetBody("image", c.source("picture.png"), "simulate: "+fault+" "+name))
		if fault == "late-create;reset" || fault == "late-create;status=503" {
			// The gateway finds the asset by its reference, and it belongs to the account.
			if a.status == 200 {
				c.assets(t, "/delete", `{"asset_id":"`+textAt(object(t, a.body), "asset_id")+`"}`)
			}
			c.goneUpstream(t, name)
			continue
		}
		if r := openAIRefusal(t, a); a.status != 502 || r.code != "upstream_error" {
			t.Errorf("%s: %d %s", fault, a.status, a.body)
		}
		c.goneUpstream(t, name)
	}
	if n := c.assetCount(t); n != 0 {
		t.Errorf("%d assets are left", n)
	}
	db := c.db(t)
	for deadline := time.Now().Add(callTimeMax); ; time.Sleep(50 * time.Millisecond) {
		var live int
		if err := db.Get(&live, `select coalesce((select live from asset_counts where account_id = $1), 0)`, c.accountID); err != nil {
			t.Fatal(err)
		}
		if live == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d assets count that no account has", live)
		}
	}
}

func assetGetFails(t *testing.T, v *films) {
	id := textAt(v.makeAsset(t, "image", "picture.png", "simulate: on=asset-get;status=500"), "asset_id")
	a := v.assets(t, "/get", `{"asset_id":"`+id+`"}`)
	if r := openAIRefusal(t, a); a.status != 502 || r.code != "upstream_error" {
		t.Errorf("get: %d %s", a.status, a.body)
	}
}

func assetListNeedsNoUpstream(t *testing.T, v *films) {
	c := filmmaker(t, v.gateway, "asset-alone")
	c.makeAsset(t, "image", "picture.png", "simulate: on=asset-get,asset-list;status=500")
	if a := c.assets(t, "/list", `{}`); a.status != 200 || c.assetCount(t) != 1 {
		t.Errorf("list: %d %s", a.status, a.body)
	}
}

// assetLimit fills an account up to one below its limit, as far as the books of assets tell, and lets 200 calls race for the
// last place.
func assetLimit(t *testing.T, v *films) {
	c := filmmaker(t, v.gateway, "asset-limit")
	first := textAt(c.makeAsset(t, "image", "picture.png", "the first"), "asset_id")
	c.db(t).MustExec(`update asset_counts set live = 9999 where account_id = $1`, c.accountID)
	var mu sync.Mutex
	var wg sync.WaitGroup
	made, body := 0, assetBody("image", c.source("picture.png"), "the last")
	for range 200 {
		wg.Go(func() {
			a := c.assets(t, "", body)
			mu.Lock()
			defer mu.Unlock()
			if a.status == 200 {
				made++
				return
			}
			isRefused(t, a, 403, "asset_limit_reached", "")
			if a.header.Get("X-Should-Retry") != "false" || !strings.Contains(a.body, "10,000") {
				t.Errorf("the refusal: %v %s", a.header, a.body)
			}
		})
	}
	wg.Wait()
	if made != 1 {
		t.Errorf("%d of 200 were made for one place", made)
	}
	c.assets(t, "/delete", `{"asset_id":"`+first+`"}`)
	if a := c.assets(t, "", body); a.status != 200 {
		t.Errorf("after one was deleted: %d %s", a.status, a.body)
	}
	if a := c.assets(t, "", body); a.status != 403 {
		t.Errorf("beyond the limit again: %d %s", a.status, a.body)
	}
}

func assetOnce(t *testing.T, v *films) {
	c := filmmaker(t, v.gateway, "asset-once")
	key, body := once("key"), assetBody("image", c.source("picture.png"), "once")
	first := c.assets(t, "", body, "Idempotency-Key", key)
	again := c.assets(t, "", body, "Idempotency-Key", key)
	if first.status != 200 || again.status != 200 || first.body != again.body || again.header.Get("Idempotency-Replayed") != "true" || c.assetCount(t) != 1 {
		t.Errorf("%d %s\n%d %s", first.status, first.body, again.status, again.body)
	}
	other := c.assets(t, "", assetBody("image", c.source("picture.png"), "other"), "Idempotency-Key", key)
	if r := openAIRefusal(t, other); other.status != 422 || r.code != "idempotency_error" {
		t.Errorf("another body: %d %s", other.status, other.body)
	}
}
