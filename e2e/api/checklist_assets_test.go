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

// waitForAsset asks for an asset until it has one of the states.
func waitForAsset(t *testing.T, c harness.Customer, id string, states ...string) map[string]any {
	t.Helper()
	for deadline := time.Now().Add(harness.CallTimeMax); ; time.Sleep(20 * time.Millisecond) {
		a := c.CallAssets(t, "/get", `{"asset_id":"`+id+`"}`)
		o := harness.DecodeObject(t, a.Body)
		if a.Status == http.StatusOK && slices.Contains(states, harness.TextMember(o, "status")) {
			return o
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s is not %v: %d %s", id, states, a.Status, a.Body)
		}
	}
}

// keptUpstream are the ids that the upstream has of what a text names.
func keptUpstream(t *testing.T, c harness.Customer, text string) (groups []string) {
	t.Helper()
	found := harness.DecodeJSON[struct {
		Assets []struct {
			Group string `json:"group_id"`
		}
	}](t, c.CallSimulator(t, "GET", "/_control/assets?text="+text, ""))
	for _, a := range found.Assets {
		groups = append(groups, a.Group)
	}
	return groups
}

// goneUpstream waits until the upstream has nothing left that the text names.
func goneUpstream(t *testing.T, c harness.Customer, text string) {
	t.Helper()
	for deadline := time.Now().Add(harness.CallTimeMax); len(keptUpstream(t, c, text)) > 0; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the upstream still keeps %s", text)
		}
	}
}

var assetVerbs = []string{"", "/get", "/list", "/delete"}

func assetRoutes(t *testing.T, v *films) {
	c := harness.NewVideoCustomer(t, v.Gateway, "asset-routes")
	for _, verb := range assetVerbs {
		for _, method := range []string{"GET", "PUT", "PATCH", "DELETE"} {
			if a := c.Call(t, method, harness.AssetsPath+verb, ""); a.Status != 405 || a.Header.Get("Allow") != "OPTIONS, POST" && a.Header.Get("Allow") != "POST" {
				t.Errorf("%s %s: %d %q", method, verb, a.Status, a.Header.Get("Allow"))
			}
		}
		harness.CheckVideoError(t, c.CallAssets(t, verb, `{}`, "Content-Type", "text/plain"), 415, "unsupported_media_type", "")
	}
	if a := c.CallAssets(t, "/list", `{}`, "Content-Type", "application/json; charset=utf-8"); a.Status != 200 {
		t.Errorf("with a charset: %d %s", a.Status, a.Body)
	}
}

func assetCreated(t *testing.T, v *films) {
	for _, one := range [][2]string{
		{"image", "picture.png"}, {"image", "picture.jpg"}, {"image", "picture.webp"}, {"video", "film.mp4"}, {"audio", "sound.wav"},
		{"audio", "sound.mp3"}, {"image", "unnamed"}, {"image", "wrong-type.png"}, {"image", "no-head.png"}, {"image", "no-range.png"},
	} {
		o := v.CreateAsset(t, one[0], one[1], "harbour at dusk")
		is(t, o, "asset_type", one[0])
		is(t, o, "url", v.SampleURL(one[1]))
		is(t, o, "name", "harbour at dusk")
		is(t, o, "status", "created")
	}
}

func assetTypes(t *testing.T, v *films) {
	c := harness.NewVideoCustomer(t, v.Gateway, "asset-types")
	url := c.SampleURL("picture.png")
	harness.CheckVideoError(t, c.CallAssets(t, "", `{"url":"`+url+`"}`), 400, "missing_required_parameter", "asset_type")
	for _, bad := range []string{`""`, `"hologram"`, `"Image"`, `7`, `null`, `["image"]`} {
		a := c.CallAssets(t, "", `{"asset_type":`+bad+`,"url":"`+url+`"}`)
		if r := harness.OpenAIError(t, a); a.Status != 400 || r.Param != "asset_type" {
			t.Errorf("%s: %d %s", bad, a.Status, a.Body)
		}
	}
	for kind, sample := range map[string]string{"video": "picture.png", "audio": "film.mp4", "image": "sound.wav"} {
		harness.CheckVideoError(t, c.CallAssets(t, "", harness.AssetBody(kind, c.SampleURL(sample), "x")), 400, "invalid_value", "url")
	}
	if n := c.AssetCount(t); n != 0 {
		t.Errorf("%d assets are left", n)
	}
}

func assetURLs(t *testing.T, v *films) {
	c := harness.NewVideoCustomer(t, v.Gateway, "asset-urls")
	harness.CheckVideoError(t, c.CallAssets(t, "", `{"asset_type":"image"}`), 400, "missing_required_parameter", "url")
	for _, sample := range []string{"text.png", "film.png", "wide.png", "empty.png", "huge.png", "moved.png", "inside.png", "gone.png", "closed.png", "broken.png"} {
		a := c.CallAssets(t, "", harness.AssetBody("image", c.SampleURL(sample), "x"))
		if r := harness.OpenAIError(t, a); a.Status != 400 || r.Param != "url" {
			t.Errorf("%s: %d %s", sample, a.Status, a.Body)
		}
	}
	for _, url := range []string{
		"", "x", "ftp://example.com/a.png", "file:///etc/passwd", "http://example.com/a.png", "https://user@example.com/a.png", "https://127.0.0.1/a.png",
		"https://[::1]/a.png", "https://169.254.169.254/latest", "https://2130706433/a.png", "https://localhost/a.png", "data:image/png;base64,AAAA",
	} {
		a := c.CallAssets(t, "", harness.AssetBody("image", url, "x"))
		if r := harness.OpenAIError(t, a); a.Status != 400 || r.Param != "url" {
			t.Errorf("%s: %d %s", url, a.Status, a.Body)
		}
	}
	if n := c.AssetCount(t); n != 0 {
		t.Errorf("%d assets are left", n)
	}
}

func assetNames(t *testing.T, v *films) {
	o := harness.DecodeObject(t, v.CallAssets(t, "", `{"asset_type":"image","url":"`+v.SampleURL("picture.png")+`"}`).Body)
	is(t, o, "name", "picture.png")
	hostile := `<img src=x onerror=alert(1)>" '; drop table assets; --`
	o = v.CreateAsset(t, "image", "picture.png", hostile)
	is(t, waitForAsset(t, v.Customer, harness.TextMember(o, "asset_id"), "active", "processing", "created"), "name", hostile)
	for _, bad := range []string{`7`, `["x"]`, `"` + strings.Repeat("n", 201) + `"`, `"a\u0000b"`, `"a\nb"`} {
		a := v.CallAssets(t, "", `{"asset_type":"image","url":"`+v.SampleURL("picture.png")+`","name":`+bad+`}`)
		if r := harness.OpenAIError(t, a); a.Status != 400 || r.Param != "name" {
			t.Errorf("%.20s: %d %s", bad, a.Status, a.Body)
		}
	}
}

func assetFollowed(t *testing.T, v *films) {
	o := v.CreateAsset(t, "image", "picture.png", "a picture")
	done := waitForAsset(t, v.Customer, harness.TextMember(o, "asset_id"), "active")
	if age := time.Now().Unix() - harness.IntMember(t, done, "created_at"); age < 0 || age > 300 {
		t.Errorf("created %d s ago", age)
	}
	o = v.CreateAsset(t, "image", "picture.png", "simulate: fail=bad_source")
	failed := waitForAsset(t, v.Customer, harness.TextMember(o, "asset_id"), "failed")
	if !strings.Contains(harness.TextMember(failed, "error", "message")+harness.TextMember(failed, "error", "code"), "bad_source") {
		t.Errorf("it does not say why: %v", failed)
	}
	// The gateway passes the upstream's own status through when it has no word for it.
	o = v.CreateAsset(t, "image", "picture.png", "simulate: unknown-status;render=1h")
	waitForAsset(t, v.Customer, harness.TextMember(o, "asset_id"), "transcoding")
}

func assetsListed(t *testing.T, v *films) {
	c := harness.NewVideoCustomer(t, v.Gateway, "asset-list")
	var ids []string
	for range 5 {
		ids = append(ids, harness.TextMember(c.CreateAsset(t, "image", "picture.png", "x"), "asset_id"))
	}
	slices.Reverse(ids)
	var walked []string
	for page := 1; page <= 4; page++ {
		o := harness.DecodeObject(t, c.CallAssets(t, "/list", fmt.Sprintf(`{"page":%d,"page_size":2}`, page)).Body)
		if harness.IntMember(t, o, "page") != int64(page) || harness.IntMember(t, o, "page_size") != 2 || harness.IntMember(t, o, "total") != 5 {
			t.Errorf("page %d: %v", page, o)
		}
		for _, one := range o["data"].([]any) {
			walked = append(walked, harness.TextMember(one.(map[string]any), "asset_id"))
		}
	}
	if !slices.Equal(walked, ids) {
		t.Errorf("walked %v, not %v", walked, ids)
	}
	o := harness.DecodeObject(t, c.CallAssets(t, "/list", ``).Body)
	if harness.IntMember(t, o, "page") != 1 || harness.IntMember(t, o, "page_size") != 20 || len(o["data"].([]any)) != 5 {
		t.Errorf("without a body: %v", o)
	}
	for _, bad := range []string{`{"page":0}`, `{"page":-1}`, `{"page":1.5}`, `{"page":"1"}`, `{"page_size":0}`, `{"page_size":101}`, `{"page_size":"x"}`, `{"page":9223372036854775808}`} {
		a := c.CallAssets(t, "/list", bad)
		param, _, _ := strings.Cut(strings.TrimPrefix(bad, `{"`), `"`)
		if r := harness.OpenAIError(t, a); a.Status != 400 || r.Param != param {
			t.Errorf("%s: %d %s", bad, a.Status, a.Body)
		}
	}
}

func assetDeleted(t *testing.T, v *films) {
	c := harness.NewVideoCustomer(t, v.Gateway, "asset-delete")
	name := harness.UniqueName("to-delete")
	id := harness.TextMember(c.CreateAsset(t, "image", "picture.png", name), "asset_id")
	waitForAsset(t, c, id, "active")
	a := c.CallAssets(t, "/delete", `{"asset_id":"`+id+`"}`)
	o := harness.DecodeObject(t, a.Body)
	if a.Status != 200 || harness.TextMember(o, "asset_id") != id || o["deleted"] != true {
		t.Errorf("delete: %d %s", a.Status, a.Body)
	}
	if n := c.AssetCount(t); n != 0 {
		t.Errorf("%d assets are left", n)
	}
	harness.CheckVideoError(t, c.CallAssets(t, "/get", `{"asset_id":"`+id+`"}`), 404, "asset_not_found", "asset_id")
	harness.CheckVideoError(t, c.CallAssets(t, "/delete", `{"asset_id":"`+id+`"}`), 404, "asset_not_found", "asset_id")
	goneUpstream(t, c, name)
	// An upstream that fails to delete is asked again.
	stubborn := harness.UniqueName("stubborn")
	id = harness.TextMember(c.CreateAsset(t, "image", "picture.png", "simulate: on=asset-delete;status=503;times=1 "+stubborn), "asset_id")
	c.CallAssets(t, "/delete", `{"asset_id":"`+id+`"}`)
	goneUpstream(t, c, stubborn)
}

func assetsApart(t *testing.T, v *films) {
	mine, theirs := harness.NewVideoCustomer(t, v.Gateway, "asset-mine"), harness.NewVideoCustomer(t, v.Gateway, "asset-theirs")
	id := harness.TextMember(theirs.CreateAsset(t, "image", "picture.png", "theirs"), "asset_id")
	const unknown = "asset_00000000000000000000000000"
	for _, verb := range []string{"/get", "/delete"} {
		foreign, absent := mine.CallAssets(t, verb, `{"asset_id":"`+id+`"}`), mine.CallAssets(t, verb, `{"asset_id":"`+unknown+`"}`)
		harness.CheckVideoError(t, foreign, 404, "asset_not_found", "asset_id")
		if withoutRequestID(foreign) != withoutRequestID(absent) {
			t.Errorf("%s tells them apart:\n%s\n%s", verb, foreign.Body, absent.Body)
		}
	}
	body := harness.VideoBody(harness.TasksModel, "x", `"asset_ids":["`+id+`"]`)
	if a := mine.Call(t, "POST", harness.VideosPath, body); a.Status != 404 || mine.Balance(t).Held != 0 {
		t.Errorf("a video with another's asset: %d %s", a.Status, a.Body)
	}
	if mine.AssetCount(t) != 0 || theirs.AssetCount(t) != 1 {
		t.Error("the lists are not apart")
	}
}

// withoutRequestID is what an answer says apart from its own id.
func withoutRequestID(a harness.Response) string {
	return harness.RequestIDPattern.ReplaceAllString(a.Body, "")
}

func assetGroup(t *testing.T, v *films) {
	name := harness.UniqueName("grouped")
	v.CreateAsset(t, "image", "picture.png", name)
	if groups := keptUpstream(t, v.Customer, name); !slices.Equal(groups, []string{"umg"}) {
		t.Errorf("kept in %v", groups)
	}
}

func assetExtras(t *testing.T, v *films) {
	id := harness.TextMember(v.CreateAsset(t, "image", "picture.png", "simulate: members"), "asset_id")
	o := waitForAsset(t, v.Customer, id, "active")
	is(t, o, "asset_id", id)
	is(t, o, "asset_type", "image")
	is(t, o, "note", "<b>kept cold</b>")
	if o["deleted"] == true || o["labels"] == nil || harness.TextMember(o, "upstream_asset_id") == "" {
		t.Errorf("the upstream's members: %v", o)
	}
}

// assetUsed walks the whole way: create, processing, active, used by a video, deleted.
func assetUsed(t *testing.T, v *films) {
	c := harness.NewVideoCustomer(t, v.Gateway, "asset-use")
	mark := harness.UniqueName("used")
	slow := harness.TextMember(c.CreateAsset(t, "image", "picture.png", "simulate: render=1h"), "asset_id")
	harness.CheckVideoError(t, c.Call(t, "POST", harness.VideosPath, harness.VideoBody(harness.TasksModel, mark, `"asset_ids":["`+slow+`"]`)), 400, "asset_not_ready", "asset_ids[0]")
	picture := harness.TextMember(c.CreateAsset(t, "image", "picture.png", "a picture"), "asset_id")
	sound := harness.TextMember(c.CreateAsset(t, "audio", "sound.wav", "a sound"), "asset_id")
	waitForAsset(t, c, picture, "active")
	waitForAsset(t, c, sound, "active")
	c.CompleteVideo(t, harness.VideoBody(harness.TasksModel, mark, `"asset_ids":["`+picture+`","`+sound+`"]`))
	if seen := c.CallSimulator(t, "GET", "/_control/renders?text="+mark, ""); !strings.Contains(seen, `"kestrel"`) || strings.Count(seen, "asst_") != 2 {
		t.Errorf("the render: %s", seen)
	}
	for _, bad := range []string{`["` + picture + `","` + picture + `"]`, `[]`, `"` + picture + `"`, `[7]`, `[` + strings.Repeat(`"`+picture+`",`, 4) + `"` + sound + `"]`} {
		if a := c.Call(t, "POST", harness.VideosPath, harness.VideoBody(harness.TasksModel, "x", `"asset_ids":`+bad)); a.Status != 400 || !strings.HasPrefix(harness.OpenAIError(t, a).Param, "asset_ids") {
			t.Errorf("%.60s: %d %s", bad, a.Status, a.Body)
		}
	}
	a := c.Call(t, "POST", harness.VideosPath, harness.VideoBody(harness.VideosModel, "x", `"asset_ids":["`+picture+`"]`))
	if a.Status != 400 || harness.OpenAIError(t, a).Param != "asset_ids" {
		t.Errorf("a model without assets: %d %s", a.Status, a.Body)
	}
	for _, id := range []string{picture, sound} {
		if a := c.CallAssets(t, "/delete", `{"asset_id":"`+id+`"}`); a.Status != 200 {
			t.Errorf("delete: %d %s", a.Status, a.Body)
		}
	}
	harness.CheckVideoError(t, c.Call(t, "POST", harness.VideosPath, harness.VideoBody(harness.TasksModel, "x", `"asset_ids":["`+picture+`"]`)), 404, "asset_not_found", "asset_ids[0]")
}

func assetJSON(t *testing.T, v *films) {
	for _, verb := range assetVerbs {
		for _, bad := range []string{`{`, `[]`, `"x"`, `{"page":1}x`, `{"page":1,"page":2}`, "\xff"} {
			if a := v.CallAssets(t, verb, bad); a.Status != 400 || harness.OpenAIError(t, a).Type != "invalid_request_error" {
				t.Errorf("%s %q: %d %s", verb, bad, a.Status, a.Body)
			}
		}
	}
}

func assetKeys(t *testing.T, v *films) {
	for _, verb := range assetVerbs {
		for _, key := range []string{"", "Bearer sk-umg-wrong"} {
			a := v.CallAssets(t, verb, `{}`, "Authorization", key)
			if r := harness.OpenAIError(t, a); a.Status != 401 || r.Type != "authentication_error" || a.Header.Get("WWW-Authenticate") != "Bearer" {
				t.Errorf("%s %q: %d %s", verb, key, a.Status, a.Body)
			}
		}
	}
}

func assetIDs(t *testing.T, v *films) {
	for _, verb := range []string{"/get", "/delete"} {
		harness.CheckVideoError(t, v.CallAssets(t, verb, `{}`), 400, "missing_required_parameter", "asset_id")
		harness.CheckVideoError(t, v.CallAssets(t, verb, `{"asset_id":"asset_x"}`), 404, "asset_not_found", "asset_id")
		for _, bad := range []string{`7`, `null`, `""`, `["x"]`} {
			a := v.CallAssets(t, verb, `{"asset_id":`+bad+`}`)
			if r := harness.OpenAIError(t, a); a.Status != 400 || r.Param != "asset_id" {
				t.Errorf("%s %s: %d %s", verb, bad, a.Status, a.Body)
			}
		}
	}
}

func assetCreateFails(t *testing.T, v *films) {
	c := harness.NewVideoCustomer(t, v.Gateway, "asset-fails")
	for _, fault := range []string{"status=500", "status=503", "status=401", "reset", "late-create;reset", "late-create;status=503"} {
		name := harness.UniqueName("fails")
		a := c.CallAssets(t, "", harness.AssetBody("image", c.SampleURL("picture.png"), "simulate: "+fault+" "+name))
		if fault == "late-create;reset" || fault == "late-create;status=503" {
			// The gateway finds the asset by its reference, and it belongs to the account.
			if a.Status == 200 {
				c.CallAssets(t, "/delete", `{"asset_id":"`+harness.TextMember(harness.DecodeObject(t, a.Body), "asset_id")+`"}`)
			}
			goneUpstream(t, c, name)
			continue
		}
		if r := harness.OpenAIError(t, a); a.Status != 502 || r.Code != "upstream_error" {
			t.Errorf("%s: %d %s", fault, a.Status, a.Body)
		}
		goneUpstream(t, c, name)
	}
	if n := c.AssetCount(t); n != 0 {
		t.Errorf("%d assets are left", n)
	}
	db := c.DB(t)
	for deadline := time.Now().Add(harness.CallTimeMax); ; time.Sleep(50 * time.Millisecond) {
		var live int
		if err := db.Get(&live, `select coalesce((select live from asset_counts where account_id = $1), 0)`, c.AccountID); err != nil {
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
	id := harness.TextMember(v.CreateAsset(t, "image", "picture.png", "simulate: on=asset-get;status=500"), "asset_id")
	a := v.CallAssets(t, "/get", `{"asset_id":"`+id+`"}`)
	if r := harness.OpenAIError(t, a); a.Status != 502 || r.Code != "upstream_error" {
		t.Errorf("get: %d %s", a.Status, a.Body)
	}
}

func assetListNeedsNoUpstream(t *testing.T, v *films) {
	c := harness.NewVideoCustomer(t, v.Gateway, "asset-alone")
	c.CreateAsset(t, "image", "picture.png", "simulate: on=asset-get,asset-list;status=500")
	if a := c.CallAssets(t, "/list", `{}`); a.Status != 200 || c.AssetCount(t) != 1 {
		t.Errorf("list: %d %s", a.Status, a.Body)
	}
}

// assetLimit fills an account up to one below its limit, as far as the books of assets tell, and lets 200 calls race for the
// last place.
func assetLimit(t *testing.T, v *films) {
	c := harness.NewVideoCustomer(t, v.Gateway, "asset-limit")
	first := harness.TextMember(c.CreateAsset(t, "image", "picture.png", "the first"), "asset_id")
	c.DB(t).MustExec(`update asset_counts set live = 9999 where account_id = $1`, c.AccountID)
	var mu sync.Mutex
	var wg sync.WaitGroup
	made, body := 0, harness.AssetBody("image", c.SampleURL("picture.png"), "the last")
	for range 200 {
		wg.Go(func() {
			a := c.CallAssets(t, "", body)
			mu.Lock()
			defer mu.Unlock()
			if a.Status == 200 {
				made++
				return
			}
			harness.CheckVideoError(t, a, 403, "asset_limit_reached", "")
			if a.Header.Get("X-Should-Retry") != "false" || !strings.Contains(a.Body, "10,000") {
				t.Errorf("the refusal: %v %s", a.Header, a.Body)
			}
		})
	}
	wg.Wait()
	if made != 1 {
		t.Errorf("%d of 200 were made for one place", made)
	}
	c.CallAssets(t, "/delete", `{"asset_id":"`+first+`"}`)
	if a := c.CallAssets(t, "", body); a.Status != 200 {
		t.Errorf("after one was deleted: %d %s", a.Status, a.Body)
	}
	if a := c.CallAssets(t, "", body); a.Status != 403 {
		t.Errorf("beyond the limit again: %d %s", a.Status, a.Body)
	}
}

func assetOnce(t *testing.T, v *films) {
	c := harness.NewVideoCustomer(t, v.Gateway, "asset-once")
	key, body := harness.UniqueName("key"), harness.AssetBody("image", c.SampleURL("picture.png"), "once")
	first := c.CallAssets(t, "", body, "Idempotency-Key", key)
	again := c.CallAssets(t, "", body, "Idempotency-Key", key)
	if first.Status != 200 || again.Status != 200 || first.Body != again.Body || again.Header.Get("Idempotency-Replayed") != "true" || c.AssetCount(t) != 1 {
		t.Errorf("%d %s\n%d %s", first.Status, first.Body, again.Status, again.Body)
	}
	other := c.CallAssets(t, "", harness.AssetBody("image", c.SampleURL("picture.png"), "other"), "Idempotency-Key", key)
	if r := harness.OpenAIError(t, other); other.Status != 422 || r.Code != "idempotency_error" {
		t.Errorf("another body: %d %s", other.Status, other.Body)
	}
}
