package videoapi

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"umg/app/catalog"
	"umg/app/llm"
)

// said is one answer and what it means.
type said struct {
	name, raw string
	want      Task
}

func checkReadings(t *testing.T, read func([]byte, string) (Task, error), kind string, list []said) {
	t.Helper()
	for _, c := range list {
		got, err := read([]byte(c.raw), kind)
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, %v\nwant %+v\nmetadata %s", c.name, got, err, c.want, got.Metadata)
		}
	}
}

func TestVideosAreRead(t *testing.T) {
	t.Parallel()
	files := Files{Video: "video", Thumbnail: "thumbnail", Spritesheet: "spritesheet"}
	checkReadings(t, videosProtocol{}.read, "", []said{
		{"as documented", `{"id":"video_68d7512d07848190b3e45da0ecbebcde004da08e1e0678d5","object":"video","created_at":1758941485,
			"status":"queued","model":"sora-2-pro","progress":0,"seconds":"8","size":"1280x720"}`,
			Task{ID: "video_68d7512d07848190b3e45da0ecbebcde004da08e1e0678d5", State: Waiting, Model: "sora-2-pro", Size: "1280x720", Seconds: 8,
				CreatedAt: time.Unix(1758941485, 0).UTC()}},
		{"all members", `{"id":"v","object":"video","model":"m","status":"completed","progress":100,"created_at":1758941485,"completed_at":1758941495,
			"expires_at":1758945085,"prompt":"p","size":"720x1280","seconds":"4","remixed_from_video_id":null,"error":null}`,
			Task{ID: "v", State: Succeeded, Progress: 100, Model: "m", Prompt: "p", Size: "720x1280", Seconds: 4, Files: files,
				CreatedAt: time.Unix(1758941485, 0).UTC()}},
		{"created in place of created_at, numbers as they come", `{"id":"v","status":"in_progress","created":"1758941485","seconds":8.0,"progress":"33.7%"}`,
			Task{ID: "v", State: Running, Progress: 33, Seconds: 8, CreatedAt: time.Unix(1758941485, 0).UTC()}},
		{"a date as text", `{"id":"v","status":"in_progress","created_at":"2026-11-23T09:00:00Z","seconds":"5s","progress":null}`,
			Task{ID: "v", State: Running, Progress: -1, Seconds: 5, CreatedAt: monday}},
		{"an unknown word is no verdict", `{"id":"v","status":"postprocessing","progress":400}`, Task{ID: "v", State: Running, Progress: 400}},
		{"no status is no verdict", `{"id":"v"}`, Task{ID: "v", State: Running, Progress: -1}},
		{"members of a wrong type are not said", `{"id":"v","status":7,"progress":[],"prompt":{},"seconds":true,"created_at":{},"error":[]}`,
			Task{ID: "v", State: Running, Progress: -1}},
		{"moderated by code", `{"id":"v","status":"failed","error":{"code":"moderation_blocked","message":"no"}}`,
			Task{ID: "v", State: Failed, Progress: -1, Code: Moderated, Message: "no"}},
		{"moderated by words", `{"id":"v","status":"failed","error":{"code":"failed","message":"Blocked by our moderation system."}}`,
			Task{ID: "v", State: Failed, Progress: -1, Code: Moderated, Message: "Blocked by our moderation system."}},
		{"failed", `{"id":"v","status":"failed","error":{"code":"internal","message":"a GPU fell over"}}`,
			Task{ID: "v", State: Failed, Progress: -1, Code: Broken, Message: "a GPU fell over"}},
		{"failed with an error in one word", `{"id":"v","status":"failed","error":"oops"}`,
			Task{ID: "v", State: Failed, Progress: -1, Code: Broken, Message: "oops"}},
		{"cancelled", `{"id":"v","status":"cancelled"}`, Task{ID: "v", State: Failed, Progress: -1, Code: Cancelled}},
		{"names twice, the last counts", `{"id":"v","status":"failed","status":"queued"}`, Task{ID: "v", State: Waiting, Progress: -1}},
		{"what else it says", `{"id":"v","status":"queued","fps":24,"quality":"high"}`,
			Task{ID: "v", State: Waiting, Progress: -1, Metadata: []byte(`{"fps":24,"quality":"high"}`)}},
	})
}

func TestOperationsAreRead(t *testing.T) {
	t.Parallel()
	const name = "models/veo-3.1-generate-preview/operations/abc123"
	checkReadings(t, operationsProtocol{}.read, "", []said{
		{"new", `{"name":"` + name + `"}`, Task{ID: name, State: Running, Progress: -1}},
		{"running", `{"name":"` + name + `","metadata":{"@type":"t","progressPercent":42,"createTime":"2026-11-23T09:00:00Z","stage":"draft"},"done":false}`,
			Task{ID: name, State: Running, Progress: 42, CreatedAt: monday, Metadata: []byte(`{"createTime":"2026-11-23T09:00:00Z","stage":"draft"}`)}},
		{"as documented", `{"name":"` + name + `","done":true,"response":{"@type":"type.googleapis.com/google.ai.generativelanguage.v1beta.PredictLongRunningResponse",
			"generateVideoResponse":{"generatedSamples":[{"video":{"uri":"https://generativelanguage.googleapis.com/v1beta/files/f1:download?alt=media"}}]}}}`,
			Task{ID: name, State: Succeeded, Progress: -1, Files: Files{Video: "https://generativelanguage.googleapis.com/v1beta/files/f1:download?alt=media"}}},
		{"as the SDK flattens it", `{"name":"` + name + `","done":true,"response":{"generatedVideos":[{"video":{"uri":"https://x.example/f"}}]}}`,
			Task{ID: name, State: Succeeded, Progress: -1, Files: Files{Video: "https://x.example/f"}}},
		{"filtered", `{"name":"` + name + `","done":true,"response":{"generateVideoResponse":{"raiMediaFilteredCount":1,
			"raiMediaFilteredReasons":["Veo could not generate videos because the input image violates the usage guidelines."]}}}`,
			Task{ID: name, State: Failed, Progress: -1, Code: Moderated, Message: "Veo could not generate videos because the input image violates the usage guidelines."}},
		{"filtered without a reason", `{"name":"` + name + `","done":true,"response":{"generateVideoResponse":{"raiMediaFilteredCount":"1"}}}`,
			Task{ID: name, State: Failed, Progress: -1, Code: Moderated}},
		{"one of two filtered", `{"name":"` + name + `","done":true,"response":{"generateVideoResponse":{"raiMediaFilteredCount":1,
			"generatedSamples":[{"video":{}},{"video":{"uri":"https://x.example/2"}}]}}}`,
			Task{ID: name, State: Succeeded, Progress: -1, Files: Files{Video: "https://x.example/2"}}},
		{"done with nothing", `{"name":"` + name + `","done":true}`, Task{ID: name, State: Failed, Progress: -1, Code: Broken}},
		{"failed", `{"name":"` + name + `","done":true,"error":{"code":13,"message":"Internal error"}}`,
			Task{ID: name, State: Failed, Progress: -1, Code: Broken, Message: "Internal error"}},
		{"refused late", `{"name":"` + name + `","done":true,"error":{"code":3,"message":"The prompt could not be submitted. This prompt contains sensitive words that violate Google's Responsible AI practices."}}`,
			Task{ID: name, State: Failed, Progress: -1, Code: Moderated, Message: "The prompt could not be submitted. This prompt contains sensitive words that violate Google's Responsible AI practices."}},
		{"cancelled", `{"name":"` + name + `","done":true,"error":{"code":1,"message":"Operation cancelled"}}`,
			Task{ID: name, State: Failed, Progress: -1, Code: Cancelled, Message: "Operation cancelled"}},
	})
}

func TestTasksAreRead(t *testing.T) {
	t.Parallel()
	checkReadings(t, tasksProtocol{}.read, textTask, []said{
		{"as documented", `{"code":0,"message":"SUCCEED","request_id":"c06","data":{"task_id":"867283741759111202","task_status":"submitted",
			"task_info":{"external_task_id":"text_1"},"created_at":1774805076166,"updated_at":1774805076166}}`,
			Task{ID: "text2video/867283741759111202", State: Waiting, Progress: -1, Reference: "text_1", CreatedAt: time.UnixMilli(1774805076166).UTC()}},
		{"running, the id as a number", `{"code":0,"data":{"task_id":867,"task_status":"processing"}}`, Task{ID: "text2video/867", State: Running, Progress: -1}},
		{"an unknown word is no verdict", `{"code":0,"data":{"task_id":"1","task_status":"reviewing"}}`, Task{ID: "text2video/1", State: Running, Progress: -1}},
		{"done", `{"code":0,"data":{"task_id":"1","task_status":"succeed","task_result":{"videos":[{"id":"res_1","url":"https://x.example/f.mp4","duration":"5.1"}]},
			"final_unit_deduction":"0.6"}}`,
			Task{ID: "text2video/1", State: Succeeded, Progress: -1, Seconds: 5, Files: Files{Video: "res_1 https://x.example/f.mp4"},
				Metadata: []byte(`{"final_unit_deduction":"0.6"}`)}},
		{"done, the result has no id", `{"data":{"task_id":"1","task_status":"succeed","task_result":{"videos":[{"url":"https://x.example/f.mp4"}]}}}`,
			Task{ID: "text2video/1", State: Succeeded, Progress: -1, Files: Files{Video: "https://x.example/f.mp4"}}},
		{"moderated", `{"data":{"task_id":"1","task_status":"failed","task_status_msg":"Failure to pass the risk control system"}}`,
			Task{ID: "text2video/1", State: Failed, Progress: -1, Code: Moderated, Message: "Failure to pass the risk control system"}},
		{"failed", `{"data":{"task_id":"1","task_status":"failed","task_status_msg":"out of memory"}}`,
			Task{ID: "text2video/1", State: Failed, Progress: -1, Code: Broken, Message: "out of memory"}},
	})
}

// junk are answers from which no task can be read in any style.
var junk = []string{
	``, `null`, `[]`, `7`, `"x"`, `{`, `{}`, `<html>`, `{"id":null}`, `{"id":""}`, `{"id":"../x"}`, `{"id":"a/b"}`, `{"name":"a//b"}`, `{"name":"/a"}`,
	`{"name":"a/../b"}`, `{"data":[]}`, `{"data":{"task_id":""}}`, `{"data":{"task_id":"a b"}}`, `{"id":["v"]}`, `{"id":"v?x=1"}`, `{"name":"a%2fb"}`,
	`{"data":{"task_id":"1","task_status":"succeed"}}`, strings.Repeat(`{"data":`, 20_000),
	`{"id":"` + strings.Repeat("v", idBytesMax+1) + `"}`,
}

func TestAnswersWithoutATaskAreUnusable(t *testing.T) {
	t.Parallel()
	for _, raw := range junk {
		u := serve(t, says(200, raw))
		for style, id := range map[llm.Style]string{
			catalog.VideosStyle: "v", catalog.OperationsStyle: "models/m/operations/o", catalog.TasksStyle: "text2video/1",
		} {
			r := route(style, u.URL)
			if task, f := client(t).Status(soon(t), r, id); f == nil || f.Class != "content" {
				t.Errorf("%s, %.60s: %+v, %v", style, raw, task, f)
			}
			if _, f := client(t).Create(soon(t), r, order()); f == nil || f.Class != "content" || !Ambiguous(f) {
				t.Errorf("%s, %.60s: create: %v", style, raw, f)
			}
		}
	}
}

func TestAnAnswerAboutAnotherTaskIsUnusable(t *testing.T) {
	t.Parallel()
	for style, c := range map[llm.Style][2]string{
		catalog.VideosStyle:     {"video_1", accepted[catalog.VideosStyle]},
		catalog.OperationsStyle: {"models/m/operations/other", accepted[catalog.OperationsStyle]},
		catalog.TasksStyle:      {"text2video/1", accepted[catalog.TasksStyle]},
	} {
		u := serve(t, says(200, c[1]))
		if task, f := client(t).Status(soon(t), route(style, u.URL), c[0]); f == nil || f.Class != "content" {
			t.Errorf("%s: %+v, %v", style, task, f)
		}
	}
}

func TestStatusIsAskedWhereTheStyleHasIt(t *testing.T) {
	t.Parallel()
	for style, c := range map[llm.Style]struct{ id, answer, uri string }{
		catalog.VideosStyle:     {"video_up", accepted[catalog.VideosStyle], "/v1/videos/video_up"},
		catalog.OperationsStyle: {"models/model-1/operations/op1", accepted[catalog.OperationsStyle], "/v1beta/models/model-1/operations/op1"},
		catalog.TasksStyle:      {"video-extend/867", accepted[catalog.TasksStyle], "/v1/videos/video-extend/867"},
	} {
		u := serve(t, says(200, c.answer))
		task, f := client(t).Status(soon(t), route(style, u.URL), c.id)
		got := u.last(t)
		if f != nil || task.ID != c.id || got.method != "GET" || got.uri != c.uri || got.body != "" || got.header.Get("Content-Type") != "" {
			t.Errorf("%s: %+v, %v, %+v", style, task, f, got)
		}
	}
}

func TestIdsThatAreNoneAreNotAskedFor(t *testing.T) {
	t.Parallel()
	u := serve(t, says(200, `{}`))
	for style, ids := range map[llm.Style][]string{
		catalog.VideosStyle: {"", "..", "a/b", "a?b", "a b"}, catalog.OperationsStyle: {"", "/x", "a//b", "a/../b", "a#b"},
		catalog.TasksStyle: {"", "text2video", "text2video/", "other/1", "text2video/1/2", "text2video/.."}, "chat": {"x"},
	} {
		for _, id := range ids {
			if _, f := client(t).Status(soon(t), route(style, u.URL), id); f == nil || f.Class != "setup" {
				t.Errorf("%s %q: %v", style, id, f)
			}
		}
	}
	if n := len(u.all()); n != 0 {
		t.Errorf("%d requests", n)
	}
}

func TestWhatAFailedRenderSaysIsCleanAndShort(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ä", 2000)
	for message, want := range map[string]string{
		"see https://internal.example/?key=1 for " + canary: "see [redacted] for [redacted]",
		"two\\nlines\\u0000 here":                           "two lines here",
		"":                                                  failureMessages[Broken],
	} {
		u := serve(t, says(200, `{"id":"v","status":"failed","error":{"message":"`+message+`"},"note":"`+canary+`"}`))
		task, f := client(t).Status(soon(t), route(catalog.VideosStyle, u.URL), "v")
		if f != nil || task.Message != want || task.Metadata != nil {
			t.Errorf("%q: %q, %s, %v", message, task.Message, task.Metadata, f)
		}
	}
	u := serve(t, says(200, `{"id":"v","status":"failed","error":{"message":"`+long+`"}}`))
	task, f := client(t).Status(soon(t), route(catalog.VideosStyle, u.URL), "v")
	if f != nil || len(task.Message) > messageBytesMax || !strings.HasSuffix(task.Message, "ä…") {
		t.Errorf("%d bytes, %v", len(task.Message), f)
	}
}
