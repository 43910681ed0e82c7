package e2e

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// videoCalls are all operations on videos at one spelling of their route, with an id of a film.
func videoCalls(root, id string) []endpoint {
	return []endpoint{
		{"POST", root, videoBody(reelModel, "x"), ""}, {"GET", root, "", ""}, {"GET", root + "/" + id, "", ""}, {"DELETE", root + "/" + id, "", ""},
		{"POST", root + "/" + id + "/remix", `{"prompt":"x"}`, ""}, {"GET", root + "/" + id + "/content", "", ""},
		{"HEAD", root + "/" + id + "/content", "", ""}, {"HEAD", root + "/" + id, "", ""}, {"HEAD", root, "", ""},
		{"GET", root + "/", "", ""}, {"DELETE", root + "/", "", ""}, {"POST", root + "/edits", `{}`, ""},
	}
}

func videosDemandKey(t *testing.T, v *films) {
	id := textAt(v.done[reelModel], "id")
	for _, root := range videoRoots {
		for _, e := range videoCalls(root, id) {
			for _, headers := range [][]string{{"Authorization", ""}, bearer("sk-umg-nonsense"), bearer("sk-umg-" + strings.Repeat("0", 32) + "2wjyrI"), {"Authorization", v.APIKey}} {
				a := v.call(t, e.method, e.path, e.body, headers...)
				if a.status != http.StatusUnauthorized || a.header.Get("Www-Authenticate") != "Bearer" || a.header.Get("X-Error-Code") != "invalid_api_key" {
					t.Errorf("%s %s with %q: %d %v", e.method, e.path, headers, a.status, a.header)
				}
				if e.method == http.MethodHead {
					continue
				}
				if r := isRefused(t, a, 401, "invalid_api_key", ""); r.kind != "authentication_error" {
					t.Errorf("%s %s: %+v", e.method, e.path, r)
				}
			}
		}
	}
	v.task(t, id)
}

// spellingsAgree holds every operation at one spelling against the same at the first.
func spellingsAgree(root string) func(*testing.T, *films) {
	return func(t *testing.T, v *films) {
		c := filmmaker(t, v.gateway, "spelling")
		source := textAt(c.film(t, videoBody(reelModel, "the source")), "id")
		for _, path := range []string{"/" + source, "", "?limit=1&order=asc", "/" + source + "/content", "/" + source + "/content?variant=thumbnail",
			"/video_00000000000000000000000000", "/", "/" + source + "/content?variant=other", "?limit=no"} {
			for _, method := range []string{http.MethodGet, http.MethodHead} {
				a, b := c.call(t, method, videosPath+path, ""), c.call(t, method, root+path, "")
				if a.status != b.status || a.body != b.body || a.header.Get("Content-Type") != b.header.Get("Content-Type") || a.header.Get("Etag") != b.header.Get("Etag") {
					t.Errorf("%s %s is %d, and %d under %s: %.300s", method, path, a.status, b.status, root, b.body)
				}
			}
		}
		made := taskOf(t, c.call(t, "POST", root, videoBody(reelModel, "made elsewhere")))
		remade := taskOf(t, c.call(t, "POST", root+"/"+source+"/remix", `{"prompt":"changed elsewhere"}`))
		is(t, remade, "remixed_from_video_id", source)
		for _, o := range []map[string]any{made, remade} {
			isNew(t, o)
			c.ended(t, textAt(o, "id"))
			gone := c.call(t, "DELETE", root+"/"+textAt(o, "id"), "")
			isDeleted(t, gone, textAt(o, "id"))
			isRefused(t, c.call(t, "GET", videosPath+"/"+textAt(o, "id"), ""), 404, "video_not_found", "video_id")
		}
	}
}

func isDeleted(t *testing.T, a answer, id string) {
	t.Helper()
	o := object(t, a.body)
	if a.status != http.StatusOK || len(o) != 3 || o["deleted"] != true || o["id"] != id || o["object"] != "video.deleted" {
		t.Errorf("%d %s", a.status, a.body)
	}
}

// reached insists that the provider of a model got a picture with the prompt that bears the mark.
func (v *films) reached(t *testing.T, id, mark, picture string) {
	t.Helper()
	calls := v.upstreamCalls(t, mark)
	if len(calls) != 1 {
		t.Fatalf("%s: %d calls went upstream", id, len(calls))
	}
	switch id {
	case reelModel:
		if !strings.Contains(calls[0].Body, `"input_reference":{"bytes":`) || !strings.Contains(calls[0].Header.Get("Content-Type"), "multipart/form-data") {
			t.Errorf("%s got %v %.300s", id, calls[0].Header, calls[0].Body)
		}
	default:
		if !strings.Contains(calls[0].Body, base64.StdEncoding.EncodeToString([]byte(picture))[:60]) {
			t.Errorf("%s got %.300s", id, calls[0].Body)
		}
	}
}

// firstFrames gives a picture as a file, as a data: URL in JSON and as one in a form, to each style of upstream.
func firstFrames(t *testing.T, v *films) {
	for _, id := range []string{reelModel, fastModel, swiftModel} {
		size := "1280x720"
		picture := pngOf(t, 1280, 720, false)
		url := dataURL("image/png", picture)
		fields := func(mark string) []formPart {
			return []formPart{{name: "model", value: id}, {name: "prompt", value: mark}, {name: "size", value: size}}
		}
		for form, send := range map[string]func(mark string) answer{
			"a file": func(mark string) answer {
				return v.postForm(t, videosPath, append(fields(mark), formPart{"input_reference", "a.png", "image/png", picture})...)
			},
			"a nested field": func(mark string) answer {
				return v.postForm(t, "/v1/vendora/videos", append(fields(mark), formPart{name: "input_reference[image_url]", value: url})...)
			},
			"JSON": func(mark string) answer {
				return v.call(t, "POST", "/videos", videoBody(id, mark, `"size":"`+size+`"`, `"input_reference":{"image_url":"`+url+`"}`))
			},
		} {
			mark := once("frame")
			o := taskOf(t, send(mark))
			v.reached(t, id, mark, picture)
			if o = v.ended(t, textAt(o, "id")); textAt(o, "status") != "completed" {
				t.Errorf("%s with %s: %v", id, form, o)
			}
		}
		v.refusesVideo(t, videoBody(id, "x", `"input_reference":{"file_id":"file_1"}`), "invalid_value", "input_reference.file_id")
		for _, wrong := range []string{`"x"`, `{}`, `[]`, `7`, `{"image_url":7}`, `{"image_url":"ftp://a/b.png"}`, `{"image_url":"http://example.com/a.png"}`,
			`{"image_url":"data:image/png;base64,!!!"}`, `{"image_url":"data:,x"}`, `{"image_url":"https://127.0.0.1/a.png"}`} {
			r := openAIRefusal(t, v.call(t, "POST", videosPath, videoBody(id, "x", `"size":"`+size+`"`, `"input_reference":`+wrong)))
			if r.kind != "invalid_request_error" || !strings.HasPrefix(r.param, "input_reference") {
				t.Errorf("%s: %+v", wrong, r)
			}
		}
		a := v.postForm(t, videosPath, append(fields("x"), formPart{"input_reference", "a.png", "image/png", picture}, formPart{name: "input_reference[image_url]", value: url})...)
		isRefused(t, a, 400, "invalid_value", "input_reference")
	}
}

// frameTypes sends pictures under right, wrong and no names.
func frameTypes(t *testing.T, v *films) {
	pictures := map[string]string{"image/png": pngOf(t, 1280, 720, false), "image/jpeg": jpegOf(t, 1280, 720), "image/webp": webpOf(1280, 720)}
	post := func(id, mediaType, data string) answer {
		return v.postForm(t, videosPath, formPart{name: "model", value: id}, formPart{name: "prompt", value: "from a picture"}, formPart{name: "size", value: "1280x720"},
			formPart{"input_reference", "frame", mediaType, data})
	}
	for _, id := range []string{reelModel, fastModel, swiftModel} {
		for mediaType, data := range pictures {
			for _, declared := range []string{mediaType, "application/octet-stream", ""} {
				isNew(t, taskOf(t, post(id, declared, data)))
			}
		}
		for mediaType, data := range map[string]string{
			"image/gif": gifOf(t, 1280, 720), "image/png": "no picture at all", "application/pdf": "%PDF-1.7", "image/webp": "", "image/svg+xml": "<svg/>",
			"image/jpeg": pictures["image/jpeg"][:200],
		} {
			isRefused(t, post(id, mediaType, data), 400, "invalid_value", "input_reference")
		}
	}
}

func frameSizes(t *testing.T, v *films) {
	c := filmmaker(t, v.gateway, "frames")
	before := c.money(t)
	for _, id := range []string{reelModel, fastModel, swiftModel} {
		for _, size := range [][2]int{{1279, 720}, {1280, 721}, {720, 1280}, {1920, 1080}, {1, 1}, {640, 360}} {
			for mediaType, data := range map[string]string{"image/png": pngOf(t, size[0], size[1], false), "image/jpeg": jpegOf(t, size[0], size[1]), "image/webp": webpOf(size[0], size[1])} {
				a := c.postForm(t, videosPath, formPart{name: "model", value: id}, formPart{name: "prompt", value: "x"}, formPart{name: "size", value: "1280x720"},
					formPart{"input_reference", "frame", mediaType, data})
				r := isRefused(t, a, 400, "invalid_value", "input_reference")
				if !strings.Contains(r.message, "1280x720") || !strings.Contains(r.message, fmt.Sprintf("%dx%d", size[0], size[1])) {
					t.Errorf("the message does not name both sizes: %s", r.message)
				}
			}
		}
	}
	if after := c.money(t); after != before || len(c.listVideos(t, "")) != 0 {
		t.Errorf("%+v became %+v", before, after)
	}
}

// remixesByField makes remixes by the field of create, as JSON and as a form, and with sources that cannot be.
func remixesByField(t *testing.T, v *films) {
	for _, id := range videoModels {
		source := textAt(v.done[id], "id")
		for _, root := range videoRoots[:3] {
			o := taskOf(t, v.call(t, "POST", root, videoBody(id, "now at night", `"remix_video_id":"`+source+`"`)))
			isNew(t, o)
			is(t, o, "remixed_from_video_id", source)
			is(t, o, "size", textAt(v.done[id], "size"))
			is(t, o, "seconds", textAt(v.done[id], "seconds"))
		}
		o := taskOf(t, v.postForm(t, videosPath, formPart{name: "model", value: id}, formPart{name: "prompt", value: "by form"}, formPart{name: "remix_video_id", value: source}))
		if o = v.ended(t, textAt(o, "id")); textAt(o, "status") != "completed" || textAt(o, "remixed_from_video_id") != source {
			t.Errorf("%s: %v", id, o)
		}
		unfinished := textAt(v.makeVideo(t, videoBody(id, "simulate: render=hold\nunfinished")), "id")
		v.refusesVideo(t, videoBody(id, "x", `"remix_video_id":"`+unfinished+`"`), "video_not_ready", "remix_video_id")
		isDeleted(t, v.call(t, "DELETE", videosPath+"/"+unfinished, ""), unfinished)
		for _, absent := range []string{unfinished, "video_00000000000000000000000000", "nonsense"} {
			a := v.call(t, "POST", videosPath, videoBody(id, "x", `"remix_video_id":"`+absent+`"`))
			isRefused(t, a, 404, "video_not_found", "remix_video_id")
		}
		for _, wrong := range []string{`""`, `7`, `{}`} {
			v.refusesVideo(t, videoBody(id, "x", `"remix_video_id":`+wrong), "invalid_value", "remix_video_id")
		}
	}
	v.refusesVideo(t, videoBody(fastModel, "x", `"remix_video_id":"`+textAt(v.done[reelModel], "id")+`"`), "invalid_value", "model")
}

func fastAndPro(t *testing.T, v *films) {
	fast, pro := v.quotes(t, videoBody(fastModel, "x")), v.quotes(t, videoBody(proModel, "x"))
	if nanos(t, number(fast["cost"]).String()) >= nanos(t, number(pro["cost"]).String()) {
		t.Errorf("fast costs %v, pro %v", fast["cost"], pro["cost"])
	}
	for id, says := range map[string]string{fastModel: "quick", proModel: "longer"} {
		entry := object(t, v.call(t, "GET", "/v1/models/"+id, "").body)
		sizes, _ := entry["supported_sizes"].([]any)
		if !strings.Contains(strings.ToLower(textAt(entry, "description")), says) || len(sizes) != len(videoSizes[id]) {
			t.Errorf("%s is %v", id, entry)
		}
		for _, form := range []string{"api.md", "openapi.json"} {
			if a := v.call(t, "GET", "/v1/model/"+form+"?model="+id, ""); a.status != http.StatusOK || !strings.Contains(a.body, "/v1/videos/{video_id}/remix") {
				t.Errorf("%s of %s: %d %.300s", form, id, a.status, a.body)
			}
		}
	}
	for _, size := range videoSizes[proModel] {
		q := v.quotes(t, videoBody(proModel, "x", `"size":"`+size+`"`))
		is(t, q, "size", size)
	}
}

// idServesAll takes the id of create through every operation.
func idServesAll(t *testing.T, v *films) {
	seen := map[string]bool{}
	for _, id := range videoModels {
		for _, o := range []map[string]any{v.made[id], v.makeVideo(t, videoBody(id, "x"))} {
			if name := textAt(o, "id"); seen[name] || !strings.HasPrefix(name, "video_") || len(name) > 64 {
				t.Errorf("the id is %q", name)
			}
			seen[textAt(o, "id")] = true
		}
		o := v.film(t, videoBody(id, "to be deleted"))
		path := videosPath + "/" + textAt(o, "id")
		if a := v.call(t, "GET", path+"/content", ""); a.status != http.StatusOK {
			t.Errorf("content: %d", a.status)
		}
		is(t, taskOf(t, v.call(t, "POST", path+"/remix", `{"prompt":"y"}`)), "remixed_from_video_id", textAt(o, "id"))
		isDeleted(t, v.call(t, "DELETE", path, ""), textAt(o, "id"))
	}
}

// listVideos are the ids of one page of the customer's videos.
func (c customer) listVideos(t *testing.T, query string) []string {
	t.Helper()
	return c.page(t, query).ids()
}

// videoPage is one page of a list.
type videoPage struct {
	Object  string
	Data    []struct{ ID, Object, Status, Model, Prompt string }
	FirstID *string `json:"first_id"`
	LastID  *string `json:"last_id"`
	HasMore bool    `json:"has_more"`
}

func (p videoPage) ids() []string {
	ids := []string{}
	for _, one := range p.Data {
		ids = append(ids, one.ID)
	}
	return ids
}

// page reads one page of the list and holds its frame against what it has.
func (c customer) page(t *testing.T, query string) videoPage {
	t.Helper()
	a := c.call(t, "GET", videosPath+query, "")
	var p videoPage
	if err := json.Unmarshal([]byte(a.body), &p); err != nil || a.status != http.StatusOK || p.Object != "list" || p.Data == nil {
		t.Fatalf("no list: %d %s", a.status, a.body)
	}
	ids := p.ids()
	if len(ids) == 0 && (p.FirstID != nil || p.LastID != nil) || len(ids) > 0 && (*p.FirstID != ids[0] || *p.LastID != ids[len(ids)-1]) {
		t.Errorf("the frame does not fit: %s", a.body)
	}
	if !slices.IsSorted(ids) && !slices.IsSortedFunc(ids, func(a, b string) int { return strings.Compare(b, a) }) {
		t.Errorf("the page is in no order: %v", ids)
	}
	return p
}
