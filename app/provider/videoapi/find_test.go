package videoapi

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"umg/app/catalog"
	"umg/app/llm"
)

func TestALostVideoIsFoundByItsLooks(t *testing.T) {
	t.Parallel()
	const form = `{"id":"%s","status":"queued","model":"%s","prompt":%q,"size":"%s","seconds":"%d","created_at":%d,"remixed_from_video_id":%s}`
	at := monday.Unix()
	o := order()
	var list []string
	for _, v := range [][]any{
		{"older", o.Model, o.Prompt, "1280x720", 5, at - 30, "null"},
		{"newer", o.Model, o.Prompt, "1280x720", 5, at + 5, "null"},
		{"too_old", o.Model, o.Prompt, "1280x720", 5, at - 61, "null"},
		{"model", "other", o.Prompt, "1280x720", 5, at, "null"},
		{"prompt", o.Model, "other", "1280x720", 5, at, "null"},
		{"size", o.Model, o.Prompt, "720x1280", 5, at, "null"},
		{"seconds", o.Model, o.Prompt, "1280x720", 8, at, "null"},
		{"remix", o.Model, o.Prompt, "720x1280", 8, at, `"src"`},
		{"a b", o.Model, o.Prompt, "1280x720", 5, at, "null"},
	} {
		list = append(list, fmt.Sprintf(form, v...))
	}
	u := serve(t, says(200, `{"object":"list","data":[7,`+strings.Join(list, ",")+`],"has_more":false}`))
	r := route(catalog.VideosStyle, u.URL)
	tasks, f := client(t).Find(soon(t), r, o)
	got := u.last(t)
	if f != nil || len(tasks) != 2 || tasks[0].ID != "newer" || tasks[1].ID != "older" || got.method != "GET" || got.uri != "/v1/videos?limit=100&order=desc" {
		t.Errorf("%v, %+v, %+v", f, tasks, got)
	}
	tasks, f = client(t).Find(soon(t), r, with(func(o *CreateRequest) { o.Source = &Source{ID: "src"} }))
	if f != nil || len(tasks) != 1 || tasks[0].ID != "remix" {
		t.Errorf("%v, %+v", f, tasks)
	}
	asked := len(u.all())
	if tasks, f = client(t).Find(soon(t), r, with(pictured)); f != nil || tasks != nil || len(u.all()) != asked {
		t.Errorf("an order with a picture: %v, %+v", f, tasks)
	}
}

func TestALostTaskIsFoundByItsReference(t *testing.T) {
	t.Parallel()
	u := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/videos/image2video/video_1" {
			says(404, `{"code":1203,"message":"not found"}`)(w, r)
			return
		}
		says(200, `{"code":0,"data":{"task_id":"9","task_status":"processing","task_info":{"external_task_id":"video_1"}}}`)(w, r)
	})
	r := route(catalog.TasksStyle, u.URL)
	for _, o := range []CreateRequest{order(), with(pictured)} {
		tasks, f := client(t).Find(soon(t), r, o)
		if f != nil || len(tasks) != 1 || tasks[0].ID != "image2video/9" || tasks[0].Reference != "video_1" {
			t.Errorf("%v, %+v", f, tasks)
		}
	}
	if first := u.all()[3]; first.uri != "/v1/videos/image2video/video_1" {
		t.Errorf("the order's own kind is not asked first: %s", first.uri)
	}
	other := serve(t, says(200, `{"code":0,"data":{"task_id":"9","task_info":{"external_task_id":"video_2"}}}`))
	if tasks, f := client(t).Find(soon(t), route(catalog.TasksStyle, other.URL), order()); f != nil || len(tasks) != 0 {
		t.Errorf("another's task: %v, %+v", f, tasks)
	}
}

func TestNothingIsFoundWhereNothingIsListed(t *testing.T) {
	t.Parallel()
	u := serve(t, says(500, ``))
	if tasks, f := client(t).Find(soon(t), route(catalog.OperationsStyle, u.URL), order()); f != nil || tasks != nil || len(u.all()) != 0 {
		t.Errorf("%v, %+v", f, tasks)
	}
	for style, class := range map[llm.Style]string{catalog.VideosStyle: "server_error", catalog.TasksStyle: "server_error"} {
		if _, f := client(t).Find(soon(t), route(style, u.URL), order()); f == nil || string(f.Class) != class {
			t.Errorf("%s: %v", style, f)
		}
	}
	for _, raw := range []string{`[]`, `{}`, `{"data":{}}`, `<html>`} {
		u := serve(t, says(200, raw))
		for _, style := range []llm.Style{catalog.VideosStyle, catalog.TasksStyle} {
			if _, f := client(t).Find(soon(t), route(style, u.URL), order()); f == nil || f.Class != "content" {
				t.Errorf("%s %s: %v", style, raw, f)
			}
		}
	}
}

func TestARenderIsCalledOffWhereTheStyleCan(t *testing.T) {
	t.Parallel()
	for style, c := range map[llm.Style]struct{ id, method, uri, body string }{
		catalog.VideosStyle:     {"video_1", "DELETE", "/v1/videos/video_1", ""},
		catalog.OperationsStyle: {"models/m/operations/o", "POST", "/v1beta/models/m/operations/o:cancel", "{}"},
	} {
		for status, class := range map[int]string{200: "", 204: "", 404: "", 409: "", 400: "", 405: "", 401: "credential", 429: "rate_limited", 500: "server_error"} {
			u := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if status == 204 {
					w.WriteHeader(status)
					return
				}
				says(status, `{}`)(w, r)
			})
			f := client(t).Cancel(soon(t), route(style, u.URL), c.id)
			got := u.last(t)
			if class == "" && f != nil || class != "" && (f == nil || string(f.Class) != class) ||
				got.method != c.method || got.uri != c.uri || got.body != c.body {
				t.Errorf("%s %d: %v, %+v", style, status, f, got)
			}
		}
	}
	u := serve(t, says(500, `{}`))
	if f := client(t).Cancel(soon(t), route(catalog.TasksStyle, u.URL), "text2video/1"); f != nil || len(u.all()) != 0 {
		t.Errorf("a style that cannot: %v", f)
	}
}

func TestAllStylesChangeVideos(t *testing.T) {
	t.Parallel()
	for _, style := range catalog.VideoStyles() {
		if !Remixes(route(style, "http://x")) {
			t.Error(style)
		}
	}
	if Remixes(route(llm.Chat, "http://x")) {
		t.Error("chat")
	}
}
