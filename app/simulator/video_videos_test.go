package simulator

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"umg/app/simulator/testvideo"
)

func TestVideoObjectHasEveryKey(t *testing.T) {
	t.Parallel()
	c := newClock()
	u := setup(t, Options{Now: c.Now, Render: time.Minute})
	_, v := u.json("POST", videosAt, object{"model": "reel-2", "prompt": "A <lighthouse>", "size": "1280x720", "seconds": "8"}, nil)
	id := text(v, "id")
	want := object{"id": id, "object": "video", "model": "reel-2", "status": "queued", "progress": 0.0, "created_at": float64(noon.Unix()),
		"completed_at": nil, "expires_at": nil, "prompt": "A <lighthouse>", "size": "1280x720", "seconds": "8",
		"remixed_from_video_id": nil, "error": nil}
	same(t, v, want)
	c.move(time.Hour)
	_, v = u.json("GET", videosAt+"/"+id, nil, nil)
	ended := noon.Add(time.Minute)
	want["status"], want["progress"] = "completed", 100.0
	want["completed_at"], want["expires_at"] = float64(ended.Unix()), float64(ended.Add(time.Hour).Unix())
	same(t, v, want)
	_, v = u.json("POST", videosAt+"/"+id+"/remix", object{"prompt": "At night"}, nil)
	if text(v, "remixed_from_video_id") != id || text(v, "size") != "1280x720" || text(v, "seconds") != "8" {
		t.Errorf("%v", v)
	}
	_, v = u.json("POST", videosAt, object{"model": "m", "prompt": "simulate: created\nx"}, nil)
	if _, has := v["created_at"]; has || v["created"] == nil || text(v, "size") != "720x1280" || text(v, "seconds") != "4" {
		t.Errorf("%v", v)
	}
}

func same(t *testing.T, got, want object) {
	t.Helper()
	g, err := json.Marshal(got)
	w, err2 := json.Marshal(want)
	if err != nil || err2 != nil || string(g) != string(w) {
		t.Errorf("\n%s, want\n%s", g, w)
	}
}

func TestVideoTakesAnImageOfItsOwnSize(t *testing.T) {
	t.Parallel()
	fields := map[string]string{"model": "reel-2", "prompt": "A lighthouse", "size": "1280x720", "seconds": "8"}
	right := still(t, "image/png", 1280, 720, "")
	for name, c := range map[string]struct {
		files []sent
		want  int
		words string
	}{
		"without a file":  {nil, 200, `"queued"`},
		"a PNG":           {[]sent{{formFile, "a.png", "image/png", right}}, 200, `"queued"`},
		"a JPEG":          {[]sent{{formFile, "a.jpg", "image/jpeg", still(t, "image/jpeg", 1280, 720, "")}}, 200, `"queued"`},
		"a WebP":          {[]sent{{formFile, "a.webp", "image/webp", webp(1280, 720)}}, 200, `"queued"`},
		"a wrong type":    {[]sent{{formFile, "a.png", "application/octet-stream", right}}, 400, "Unsupported mimetype"},
		"another size":    {[]sent{{formFile, "a.png", "image/png", still(t, "image/png", 720, 1280, "")}}, 400, "must match the requested"},
		"no image":        {[]sent{{formFile, "a.png", "image/png", []byte("hello")}}, 400, "could not be read"},
		"a face":          {[]sent{{formFile, "a.png", "image/png", still(t, "image/png", 1280, 720, "a face")}}, 400, "human face"},
		"two files":       {[]sent{{formFile, "a.png", "image/png", right}, {formFile, "b.png", "image/png", right}}, 400, "Duplicate"},
		"another file":    {[]sent{{"mask", "a.png", "image/png", right}}, 400, "Unknown parameter: 'mask'"},
		"a file as model": {[]sent{{"model", "a.png", "image/png", right}}, 400, "Duplicate"},
		"no file name":    {[]sent{{formFile, "", "image/png", right}}, 400, "file was expected"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := setup(t, Options{})
			if res := u.multi(videosAt, fields, c.files...); res.status != c.want || !strings.Contains(string(res.body), c.words) {
				t.Errorf("%d %s", res.status, res.body)
			}
		})
	}
	u := setup(t, Options{})
	late := map[string]string{"model": "reel-2", "prompt": "guardrail-late: faces", "size": "1280x720"}
	res := u.multi(videosAt, late, sent{formFile, "a.png", "image/png", still(t, "image/png", 1280, 720, "a face")})
	if res.status != 200 {
		t.Errorf("a face that is found late: %d %s", res.status, res.body)
	}
}

// webp is the head of a lossless WebP file.
func webp(w, h uint32) []byte {
	bits := (w - 1) | (h-1)<<14
	head := "RIFF\x20\x00\x00\x00WEBPVP8L\x0a\x00\x00\x00\x2f" + string([]byte{byte(bits), byte(bits >> 8), byte(bits >> 16), byte(bits >> 24)})
	return append([]byte(head), make([]byte, 16)...)
}

func TestPicturesAreMeasured(t *testing.T) {
	t.Parallel()
	lossy := "RIFF\x20\x00\x00\x00WEBPVP8 \x0a\x00\x00\x00\x00\x00\x00\x9d\x01\x2a\x00\x05\xd0\x02" + strings.Repeat("\x00", 8)
	extended := "RIFF\x20\x00\x00\x00WEBPVP8X\x0a\x00\x00\x00\x00\x00\x00\x00\xff\x04\x00\xcf\x02\x00" + strings.Repeat("\x00", 8)
	for name, data := range map[string][]byte{"image/webp lossy": []byte(lossy), "image/webp extended": []byte(extended),
		"image/webp lossless": webp(1280, 720), "image/png": still(t, "image/png", 1280, 720, ""), "image/jpeg": still(t, "image/jpeg", 1280, 720, "")} {
		p, ok := pictureOf(data)
		if !ok || p.width != 1280 || p.height != 720 || !strings.HasPrefix(name, p.kind) {
			t.Errorf("%s: %+v", name, p)
		}
	}
	for _, data := range []string{"", "GIF89a", strings.Replace(lossy, "\x9d", "\x00", 1), strings.Replace(lossy, "VP8 ", "ALPH", 1)} {
		if p, ok := pictureOf([]byte(data)); ok {
			t.Errorf("%q: %+v", data, p)
		}
	}
}

func TestVideoTakesAnImageInJSON(t *testing.T) {
	t.Parallel()
	u := setup(t, Options{})
	plain := base64.StdEncoding.EncodeToString(still(t, "image/png", 720, 1280, ""))
	for address, want := range map[string]int{"data:image/png;base64," + plain: 200, "data:image/jpeg;base64," + plain: 400,
		"data:image/png;base64,%%": 400, "https://example.com/a.png": 400, "": 400} {
		body := videoAsk("A lighthouse")
		body[formFile] = object{"image_url": address}
		if status, v := u.json("POST", videosAt, body, nil); status != want {
			t.Errorf("%.40s: %d %v", address, status, v)
		}
	}
}

func TestVideoValuesAreJudged(t *testing.T) {
	t.Parallel()
	u := setup(t, Options{})
	for _, c := range []struct {
		name  string
		value any
		words string
	}{
		{"size", "640x480", "Supported values are: '720x1280'"}, {"seconds", "7", "Supported values are: '4'"},
		{"seconds", 4, "expected a string"}, {"size", "", "Invalid value"}, {"model", "", "Missing required parameter: 'model'"},
		{"prompt", nil, "expected a string"}, {"user", "u", "Unknown parameter: 'user'"},
	} {
		body := videoAsk("A lighthouse")
		body[c.name] = c.value
		status, v := u.json("POST", videosAt, body, nil)
		if status != 400 || text(v, "error", "param") != c.name || text(v, "error", "type") != "invalid_request_error" {
			t.Errorf("%s: %d %v", c.name, status, v)
		}
		wantWords(t, c.name, v, c.words)
	}
	for _, contentType := range []string{"multipart/form-data", "multipart/form-data; boundary=x"} {
		if res := u.do("POST", videosAt, []byte("hello"), map[string]string{"Content-Type": contentType}); res.status != 415 && res.status != 400 {
			t.Errorf("%s: %d", contentType, res.status)
		}
	}
	if res := u.multi(videosAt, map[string]string{"model": "m", "prompt": "\xff"}); res.status != 400 {
		t.Errorf("no text: %d", res.status)
	}
	if res := u.do("GET", videosAt+"/x/other", nil, nil); res.status != 404 {
		t.Errorf("no route: %d", res.status)
	}
}

// TestMultipartIsRecordedReadably proves that a test can read the fields, and type and size of the file.
func TestMultipartIsRecordedReadably(t *testing.T) {
	t.Parallel()
	u := setup(t, Options{Control: true})
	data := still(t, "image/png", 720, 1280, "")
	u.multi(videosAt, map[string]string{"model": "reel-2", "prompt": "A lighthouse"}, sent{formFile, "a.png", "image/png", data})
	got := u.finished(1)[0]
	var body object
	if err := json.Unmarshal([]byte(got.Body), &body); err != nil {
		t.Fatalf("%q: %v", got.Body, err)
	}
	same(t, body, object{"model": "reel-2", "prompt": "A lighthouse",
		formFile: object{"filename": "a.png", "type": "image/png", "bytes": float64(len(data))}})
	if got.BodyBytes <= len(data) || got.Model != "reel-2" || got.Status != 200 {
		t.Errorf("%+v", got)
	}
	image := base64.StdEncoding.EncodeToString(append(data, make([]byte, recordBytesMax)...))
	u.json("POST", modelAt, object{"instances": []any{object{"image": object{"bytesBase64Encoded": image, "mimeType": "image/png"},
		"prompt": "A lighthouse"}}}, nil)
	if got := u.finished(2)[1]; !strings.Contains(got.Body, `"prompt":"A lighthouse"`) || len(got.Body) > 1000 || got.Status != 200 {
		t.Errorf("%d: %.500s", got.Status, got.Body)
	}
}

func TestVideosAreListedAPageAtATime(t *testing.T) {
	t.Parallel()
	u := setup(t, Options{})
	var ids []string
	for range 5 {
		_, v := u.json("POST", videosAt, videoAsk("A lighthouse"), nil)
		ids = append(ids, text(v, "id"))
	}
	u.json("POST", "/other/v1/videos", videoAsk("A lighthouse"), nil)
	_, v := u.json("GET", videosAt+"?limit=2", nil, nil)
	if text(v, "data", 0, "id") != ids[4] || text(v, "last_id") != ids[3] || text(v, "first_id") != ids[4] || v["has_more"] != true ||
		text(v, "data", 0, "status") != "completed" {
		t.Errorf("%v", v)
	}
	_, v = u.json("GET", videosAt+"?limit=100&order=asc&after="+ids[2], nil, nil)
	if text(v, "data", 0, "id") != ids[3] || text(v, "last_id") != ids[4] || v["has_more"] != false || text(v, "object") != "list" {
		t.Errorf("%v", v)
	}
	if _, v = u.json("GET", "/unknown/v1/videos", nil, nil); v["first_id"] != nil || v["data"] == nil {
		t.Errorf("%v", v)
	}
	for _, query := range []string{"limit=0", "limit=101", "limit=x", "order=up", "after=nothing"} {
		if status, v := u.json("GET", videosAt+"?"+query, nil, nil); status != 400 {
			t.Errorf("%s: %d %v", query, status, v)
		}
	}
}

func TestDeletedVideosAreGone(t *testing.T) {
	t.Parallel()
	u := setup(t, Options{Render: time.Hour})
	_, v := u.json("POST", videosAt, videoAsk("A lighthouse"), nil)
	at := videosAt + "/" + text(v, "id")
	status, v := u.json("DELETE", at, nil, nil)
	if status != 200 || v["deleted"] != true || text(v, "object") != "video.deleted" {
		t.Errorf("%d %v", status, v)
	}
	for _, path := range []string{at, at + "/content"} {
		if status, v := u.json("GET", path, nil, nil); status != 404 || text(v, "error", "code") != "video_not_found" {
			t.Errorf("%d %v", status, v)
		}
	}
	if status, _ := u.json("DELETE", at, nil, nil); status != 404 {
		t.Errorf("again: %d", status)
	}
}

func TestContentHasVariantsAndRanges(t *testing.T) {
	t.Parallel()
	u := setup(t, Options{Control: true})
	at := services[0].begin(u, "A lighthouse")
	for variant, mark := range map[string]string{"video": "ftyp", "thumbnail": "WEBP", "spritesheet": "\xff\xd8"} {
		res := u.do("GET", at+"/content?variant="+variant, nil, nil)
		if res.status != 200 || res.header.Get("Content-Type") != variants[variant].mime || !strings.Contains(string(res.body[:16]), mark) ||
			res.header.Get("Etag") == "" {
			t.Errorf("%s: %d %v", variant, res.status, res.header)
		}
	}
	whole := u.do("GET", at+"/content", nil, nil)
	part := u.do("GET", at+"/content", nil, map[string]string{"Range": "bytes=4-7"})
	if part.status != 206 || string(part.body) != "ftyp" || part.header.Get("Content-Range") == "" {
		t.Errorf("%d %q", part.status, part.body)
	}
	if res := u.do("GET", at+"/content", nil, map[string]string{"Range": "bytes=999999999-"}); res.status != 416 {
		t.Errorf("%d", res.status)
	}
	if res := u.do("GET", at+"/content", nil, map[string]string{"If-None-Match": whole.header.Get("Etag")}); res.status != 304 {
		t.Errorf("%d", res.status)
	}
	if res := u.do("GET", at+"/content?variant=sound", nil, nil); res.status != 400 {
		t.Errorf("%d", res.status)
	}
	if res := u.do("POST", at+"/content", nil, nil); res.status != 405 {
		t.Errorf("%d", res.status)
	}
	if got := u.finished(5)[4]; got.Status != 200 || got.BytesSent != len(whole.body) {
		t.Errorf("%+v", got)
	}
	held := services[0].begin(u, "simulate: render=hold\nHeld")
	if res := u.do("GET", held+"/content", nil, nil); res.status != 400 || !strings.Contains(string(res.body), "not ready") {
		t.Errorf("%d %s", res.status, res.body)
	}
}

func TestSameOrderGivesTheSameFilm(t *testing.T) {
	t.Parallel()
	u := setup(t, Options{})
	get := func(body object) string {
		_, v := u.json("POST", videosAt, body, nil)
		return string(u.do("GET", videosAt+"/"+text(v, "id")+"/content", nil, nil).body)
	}
	one := get(videoAsk("A lighthouse"))
	if one != get(videoAsk("A lighthouse")) || one != get(videoAsk("simulate: on=list;status=500\nA lighthouse")) || one == get(videoAsk("A mill")) {
		t.Error("films differ where they should not, or are the same where they should not be")
	}
	if n := u.sim.films.recent.Len(); n != 2 {
		t.Errorf("%d films are kept", n)
	}
}

func TestFilmsKeptAreBounded(t *testing.T) {
	t.Parallel()
	var c films
	for i := range filmsMax + 9 {
		key := filmKey{variant: "video"}
		key.spec.Seed = uint64(i)
		c.get(key, func(testvideo.Spec) []byte { return make([]byte, 10) })
	}
	if c.recent.Len() != filmsMax || len(c.byKey) != filmsMax || c.bytes != 10*filmsMax {
		t.Errorf("%d films, %d bytes", c.recent.Len(), c.bytes)
	}
	c.get(filmKey{variant: "thumbnail"}, func(testvideo.Spec) []byte { return make([]byte, filmBytesMax) })
	if c.recent.Len() != 1 || c.bytes != filmBytesMax {
		t.Errorf("%d films, %d bytes", c.recent.Len(), c.bytes)
	}
}
