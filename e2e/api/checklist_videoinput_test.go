package api

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"umg/e2e/harness"
)

// videoCalls are all operations on videos at one spelling of their route, with an id of a film.
func videoCalls(root, id string) []endpoint {
	return []endpoint{
		{"POST", root, harness.VideoBody(harness.VideosModel, "x"), ""}, {"GET", root, "", ""}, {"GET", root + "/" + id, "", ""}, {"DELETE", root + "/" + id, "", ""},
		{"POST", root + "/" + id + "/remix", `{"prompt":"x"}`, ""}, {"GET", root + "/" + id + "/content", "", ""},
		{"HEAD", root + "/" + id + "/content", "", ""}, {"HEAD", root + "/" + id, "", ""}, {"HEAD", root, "", ""},
		{"GET", root + "/", "", ""}, {"DELETE", root + "/", "", ""}, {"POST", root + "/edits", `{}`, ""},
	}
}

func videosDemandKey(t *testing.T, v *films) {
	id := harness.TextMember(v.done[harness.VideosModel], "id")
	for _, root := range videoRoots {
		for _, e := range videoCalls(root, id) {
			for _, headers := range [][]string{{"Authorization", ""}, harness.BearerHeader("sk-umg-nonsense"), harness.BearerHeader("sk-umg-" + strings.Repeat("0", 32) + "2wjyrI"), {"Authorization", v.APIKey}} {
				a := v.Call(t, e.method, e.path, e.body, headers...)
				if a.Status != http.StatusUnauthorized || a.Header.Get("Www-Authenticate") != "Bearer" || a.Header.Get("X-Error-Code") != "invalid_api_key" {
					t.Errorf("%s %s with %q: %d %v", e.method, e.path, headers, a.Status, a.Header)
				}
				if e.method == http.MethodHead {
					continue
				}
				if r := harness.CheckVideoError(t, a, 401, "invalid_api_key", ""); r.Type != "authentication_error" {
					t.Errorf("%s %s: %+v", e.method, e.path, r)
				}
			}
		}
	}
	v.GetVideo(t, id)
}

// spellingsAgree holds every operation at one spelling against the same at the first.
func spellingsAgree(root string) func(*testing.T, *films) {
	return func(t *testing.T, v *films) {
		c := harness.NewVideoCustomer(t, v.Gateway, "spelling")
		source := harness.TextMember(c.CompleteVideo(t, harness.VideoBody(harness.VideosModel, "the source")), "id")
		for _, path := range []string{"/" + source, "", "?limit=1&order=asc", "/" + source + "/content", "/" + source + "/content?variant=thumbnail",
			"/video_00000000000000000000000000", "/", "/" + source + "/content?variant=other", "?limit=no"} {
			for _, method := range []string{http.MethodGet, http.MethodHead} {
				a, b := c.Call(t, method, harness.VideosPath+path, ""), c.Call(t, method, root+path, "")
				if a.Status != b.Status || a.Body != b.Body || a.Header.Get("Content-Type") != b.Header.Get("Content-Type") || a.Header.Get("Etag") != b.Header.Get("Etag") {
					t.Errorf("%s %s is %d, and %d under %s: %.300s", method, path, a.Status, b.Status, root, b.Body)
				}
			}
		}
		made := harness.DecodeVideo(t, c.Call(t, "POST", root, harness.VideoBody(harness.VideosModel, "made elsewhere")))
		remade := harness.DecodeVideo(t, c.Call(t, "POST", root+"/"+source+"/remix", `{"prompt":"changed elsewhere"}`))
		is(t, remade, "remixed_from_video_id", source)
		for _, o := range []map[string]any{made, remade} {
			isNew(t, o)
			c.WaitVideo(t, harness.TextMember(o, "id"))
			gone := c.Call(t, "DELETE", root+"/"+harness.TextMember(o, "id"), "")
			isDeleted(t, gone, harness.TextMember(o, "id"))
			harness.CheckVideoError(t, c.Call(t, "GET", harness.VideosPath+"/"+harness.TextMember(o, "id"), ""), 404, "video_not_found", "video_id")
		}
	}
}

func isDeleted(t *testing.T, a harness.Response, id string) {
	t.Helper()
	o := harness.DecodeObject(t, a.Body)
	if a.Status != http.StatusOK || len(o) != 3 || o["deleted"] != true || o["id"] != id || o["object"] != "video.deleted" {
		t.Errorf("%d %s", a.Status, a.Body)
	}
}

// reached insists that the provider of a model got a picture with the prompt that bears the mark.
func (v *films) reached(t *testing.T, id, mark, picture string) {
	t.Helper()
	calls := upstreamCalls(t, v.Gateway, mark)
	if len(calls) != 1 {
		t.Fatalf("%s: %d calls went upstream", id, len(calls))
	}
	switch id {
	case harness.VideosModel:
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
	for _, id := range []string{harness.VideosModel, harness.OperationsModel, harness.TasksModel} {
		size := "1280x720"
		picture := harness.PNG(t, 1280, 720, false)
		url := harness.DataURL("image/png", picture)
		fields := func(mark string) []harness.FormPart {
			return []harness.FormPart{{Name: "model", Value: id}, {Name: "prompt", Value: mark}, {Name: "size", Value: size}}
		}
		for form, send := range map[string]func(mark string) harness.Response{
			"a file": func(mark string) harness.Response {
				return v.PostForm(t, harness.VideosPath, append(fields(mark), harness.FormPart{Name: "input_reference", File: "a.png", MediaType: "image/png", Value: picture})...)
			},
			"a nested field": func(mark string) harness.Response {
				return v.PostForm(t, "/v1/vendora/videos", append(fields(mark), harness.FormPart{Name: "input_reference[image_url]", Value: url})...)
			},
			"JSON": func(mark string) harness.Response {
				return v.Call(t, "POST", "/videos", harness.VideoBody(id, mark, `"size":"`+size+`"`, `"input_reference":{"image_url":"`+url+`"}`))
			},
		} {
			mark := harness.UniqueName("frame")
			o := harness.DecodeVideo(t, send(mark))
			v.reached(t, id, mark, picture)
			if o = v.WaitVideo(t, harness.TextMember(o, "id")); harness.TextMember(o, "status") != "completed" {
				t.Errorf("%s with %s: %v", id, form, o)
			}
		}
		v.refusesVideo(t, harness.VideoBody(id, "x", `"input_reference":{"file_id":"file_1"}`), "invalid_value", "input_reference.file_id")
		for _, wrong := range []string{`"x"`, `{}`, `[]`, `7`, `{"image_url":7}`, `{"image_url":"ftp://a/b.png"}`, `{"image_url":"http://example.com/a.png"}`,
			`{"image_url":"data:image/png;base64,!!!"}`, `{"image_url":"data:,x"}`, `{"image_url":"https://127.0.0.1/a.png"}`} {
			r := harness.OpenAIError(t, v.Call(t, "POST", harness.VideosPath, harness.VideoBody(id, "x", `"size":"`+size+`"`, `"input_reference":`+wrong)))
			if r.Type != "invalid_request_error" || !strings.HasPrefix(r.Param, "input_reference") {
				t.Errorf("%s: %+v", wrong, r)
			}
		}
		a := v.PostForm(t, harness.VideosPath, append(fields("x"), harness.FormPart{Name: "input_reference", File: "a.png", MediaType: "image/png", Value: picture}, harness.FormPart{Name: "input_reference[image_url]", Value: url})...)
		harness.CheckVideoError(t, a, 400, "invalid_value", "input_reference")
	}
}

// frameTypes sends pictures under right, wrong and no names.
func frameTypes(t *testing.T, v *films) {
	pictures := map[string]string{"image/png": harness.PNG(t, 1280, 720, false), "image/jpeg": harness.JPEG(t, 1280, 720), "image/webp": harness.WebP(1280, 720)}
	post := func(id, mediaType, data string) harness.Response {
		return v.PostForm(t, harness.VideosPath, harness.FormPart{Name: "model", Value: id}, harness.FormPart{Name: "prompt", Value: "from a picture"}, harness.FormPart{Name: "size", Value: "1280x720"},
			harness.FormPart{Name: "input_reference", File: "frame", MediaType: mediaType, Value: data})
	}
	for _, id := range []string{harness.VideosModel, harness.OperationsModel, harness.TasksModel} {
		for mediaType, data := range pictures {
			for _, declared := range []string{mediaType, "application/octet-stream", ""} {
				isNew(t, harness.DecodeVideo(t, post(id, declared, data)))
			}
		}
		for mediaType, data := range map[string]string{
			"image/gif": harness.GIF(t, 1280, 720), "image/png": "no picture at all", "application/pdf": "%PDF-1.7", "image/webp": "", "image/svg+xml": "<svg/>",
			"image/jpeg": pictures["image/jpeg"][:200],
		} {
			harness.CheckVideoError(t, post(id, mediaType, data), 400, "invalid_value", "input_reference")
		}
	}
}

func frameSizes(t *testing.T, v *films) {
	c := harness.NewVideoCustomer(t, v.Gateway, "frames")
	before := c.Balance(t)
	for _, id := range []string{harness.VideosModel, harness.OperationsModel, harness.TasksModel} {
		for _, size := range [][2]int{{1279, 720}, {1280, 721}, {720, 1280}, {1920, 1080}, {1, 1}, {640, 360}} {
			for mediaType, data := range map[string]string{"image/png": harness.PNG(t, size[0], size[1], false), "image/jpeg": harness.JPEG(t, size[0], size[1]), "image/webp": harness.WebP(size[0], size[1])} {
				a := c.PostForm(t, harness.VideosPath, harness.FormPart{Name: "model", Value: id}, harness.FormPart{Name: "prompt", Value: "x"}, harness.FormPart{Name: "size", Value: "1280x720"},
					harness.FormPart{Name: "input_reference", File: "frame", MediaType: mediaType, Value: data})
				r := harness.CheckVideoError(t, a, 400, "invalid_value", "input_reference")
				if !strings.Contains(r.Message, "1280x720") || !strings.Contains(r.Message, fmt.Sprintf("%dx%d", size[0], size[1])) {
					t.Errorf("the message does not name both sizes: %s", r.Message)
				}
			}
		}
	}
	if after := c.Balance(t); after != before || len(listVideos(t, c, "")) != 0 {
		t.Errorf("%+v became %+v", before, after)
	}
}

// remixesByField makes remixes by the field of create, as JSON and as a form, and with sources that cannot be.
func remixesByField(t *testing.T, v *films) {
	for _, id := range videoModels {
		source := harness.TextMember(v.done[id], "id")
		for _, root := range videoRoots[:3] {
			o := harness.DecodeVideo(t, v.Call(t, "POST", root, harness.VideoBody(id, "now at night", `"remix_video_id":"`+source+`"`)))
			isNew(t, o)
			is(t, o, "remixed_from_video_id", source)
			is(t, o, "size", harness.TextMember(v.done[id], "size"))
			is(t, o, "seconds", harness.TextMember(v.done[id], "seconds"))
		}
		o := harness.DecodeVideo(t, v.PostForm(t, harness.VideosPath, harness.FormPart{Name: "model", Value: id}, harness.FormPart{Name: "prompt", Value: "by form"}, harness.FormPart{Name: "remix_video_id", Value: source}))
		if o = v.WaitVideo(t, harness.TextMember(o, "id")); harness.TextMember(o, "status") != "completed" || harness.TextMember(o, "remixed_from_video_id") != source {
			t.Errorf("%s: %v", id, o)
		}
		unfinished := harness.TextMember(v.CreateVideo(t, harness.VideoBody(id, "simulate: render=hold\nunfinished")), "id")
		v.refusesVideo(t, harness.VideoBody(id, "x", `"remix_video_id":"`+unfinished+`"`), "video_not_ready", "remix_video_id")
		isDeleted(t, v.Call(t, "DELETE", harness.VideosPath+"/"+unfinished, ""), unfinished)
		for _, absent := range []string{unfinished, "video_00000000000000000000000000", "nonsense"} {
			a := v.Call(t, "POST", harness.VideosPath, harness.VideoBody(id, "x", `"remix_video_id":"`+absent+`"`))
			harness.CheckVideoError(t, a, 404, "video_not_found", "remix_video_id")
		}
		for _, wrong := range []string{`""`, `7`, `{}`} {
			v.refusesVideo(t, harness.VideoBody(id, "x", `"remix_video_id":`+wrong), "invalid_value", "remix_video_id")
		}
	}
	v.refusesVideo(t, harness.VideoBody(harness.OperationsModel, "x", `"remix_video_id":"`+harness.TextMember(v.done[harness.VideosModel], "id")+`"`), "invalid_value", "model")
}

func fastAndPro(t *testing.T, v *films) {
	fast, pro := requireQuote(t, v.Customer, harness.VideoBody(harness.OperationsModel, "x")), requireQuote(t, v.Customer, harness.VideoBody(harness.OperationsProModel, "x"))
	if harness.Nanos(t, harness.Number(fast["cost"]).String()) >= harness.Nanos(t, harness.Number(pro["cost"]).String()) {
		t.Errorf("fast costs %v, pro %v", fast["cost"], pro["cost"])
	}
	for id, says := range map[string]string{harness.OperationsModel: "quick", harness.OperationsProModel: "longer"} {
		entry := harness.DecodeObject(t, v.Call(t, "GET", "/v1/models/"+id, "").Body)
		sizes, _ := entry["supported_sizes"].([]any)
		if !strings.Contains(strings.ToLower(harness.TextMember(entry, "description")), says) || len(sizes) != len(videoSizes[id]) {
			t.Errorf("%s is %v", id, entry)
		}
		for _, form := range []string{"api.md", "openapi.json"} {
			if a := v.Call(t, "GET", "/v1/model/"+form+"?model="+id, ""); a.Status != http.StatusOK || !strings.Contains(a.Body, "/v1/videos/{video_id}/remix") {
				t.Errorf("%s of %s: %d %.300s", form, id, a.Status, a.Body)
			}
		}
	}
	for _, size := range videoSizes[harness.OperationsProModel] {
		q := requireQuote(t, v.Customer, harness.VideoBody(harness.OperationsProModel, "x", `"size":"`+size+`"`))
		is(t, q, "size", size)
	}
}

// idServesAll takes the id of create through every operation.
func idServesAll(t *testing.T, v *films) {
	seen := map[string]bool{}
	for _, id := range videoModels {
		for _, o := range []map[string]any{v.made[id], v.CreateVideo(t, harness.VideoBody(id, "x"))} {
			if name := harness.TextMember(o, "id"); seen[name] || !strings.HasPrefix(name, "video_") || len(name) > 64 {
				t.Errorf("the id is %q", name)
			}
			seen[harness.TextMember(o, "id")] = true
		}
		o := v.CompleteVideo(t, harness.VideoBody(id, "to be deleted"))
		path := harness.VideosPath + "/" + harness.TextMember(o, "id")
		if a := v.Call(t, "GET", path+"/content", ""); a.Status != http.StatusOK {
			t.Errorf("content: %d", a.Status)
		}
		is(t, harness.DecodeVideo(t, v.Call(t, "POST", path+"/remix", `{"prompt":"y"}`)), "remixed_from_video_id", harness.TextMember(o, "id"))
		isDeleted(t, v.Call(t, "DELETE", path, ""), harness.TextMember(o, "id"))
	}
}

// listVideos are the ids of one page of the customer's videos.
func listVideos(t *testing.T, c harness.Customer, query string) []string {
	t.Helper()
	return listPage(t, c, query).ids()
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

// listPage reads one page of the list and holds its frame against what it has.
func listPage(t *testing.T, c harness.Customer, query string) videoPage {
	t.Helper()
	a := c.Call(t, "GET", harness.VideosPath+query, "")
	var p videoPage
	if err := json.Unmarshal([]byte(a.Body), &p); err != nil || a.Status != http.StatusOK || p.Object != "list" || p.Data == nil {
		t.Fatalf("no list: %d %s", a.Status, a.Body)
	}
	ids := p.ids()
	if len(ids) == 0 && (p.FirstID != nil || p.LastID != nil) || len(ids) > 0 && (*p.FirstID != ids[0] || *p.LastID != ids[len(ids)-1]) {
		t.Errorf("the frame does not fit: %s", a.Body)
	}
	if !slices.IsSorted(ids) && !slices.IsSortedFunc(ids, func(a, b string) int { return strings.Compare(b, a) }) {
		t.Errorf("the page is in no order: %v", ids)
	}
	return p
}
