package videoapi

import (
	"strings"
	"testing"

	"umg/app/catalog"
	"umg/app/llm"
)

// accepted is an answer with which each style takes an order.
var accepted = map[llm.Style]string{
	catalog.VideosStyle:     `{"id":"video_up","object":"video","status":"queued"}`,
	catalog.OperationsStyle: `{"name":"models/model-1/operations/op1"}`,
	catalog.TasksStyle:      `{"code":0,"message":"SUCCEED","data":{"task_id":"867","task_status":"submitted"}}`,
}

// golden are orders and the requests they become.
var golden = map[string]struct {
	style           llm.Style
	order           CreateRequest
	uri, kind, body string
}{
	"videos": {
		catalog.VideosStyle, order(), "/v1/videos", "application/json",
		`{"model":"model-1","prompt":"A fox, \"red\" <fast>","seconds":"5","size":"1280x720"}`,
	},
	"videos, remix": {
		catalog.VideosStyle, with(func(o *CreateRequest) { o.Source = &Source{ID: "video_src", URL: "video"} }),
		"/v1/videos/video_src/remix", "application/json", `{"prompt":"A fox, \"red\" <fast>"}`,
	},
	"operations": {
		catalog.OperationsStyle, order(), "/v1beta/models/model-1:predictLongRunning", "application/json",
		`{"instances":[{"prompt":"A fox, \"red\" <fast>"}],"parameters":{"aspectRatio":"16:9","resolution":"720p","durationSeconds":5}}`,
	},
	"operations, tall picture": {
		catalog.OperationsStyle, with(func(o *CreateRequest) { pictured(o); o.Width, o.Height = 1024, 1792 }),
		"/v1beta/models/model-1:predictLongRunning", "application/json",
		`{"instances":[{"prompt":"A fox, \"red\" <fast>","image":{"bytesBase64Encoded":"YSBwaWN0dXJl","mimeType":"image/png"}}],` +
			`"parameters":{"aspectRatio":"9:16","resolution":"1024p","durationSeconds":5}}`,
	},
	"operations, remix": {
		catalog.OperationsStyle, with(func(o *CreateRequest) {
			o.Source = &Source{ID: "models/m/operations/o", URL: "https://files.example/f"}
		}),
		"/v1beta/models/model-1:predictLongRunning", "application/json",
		`{"instances":[{"prompt":"A fox, \"red\" <fast>","video":{"uri":"https://files.example/f"}}],` +
			`"parameters":{"aspectRatio":"16:9","resolution":"720p","durationSeconds":5}}`,
	},
	"tasks": {
		catalog.TasksStyle, order(), "/v1/videos/text2video", "application/json",
		`{"model_name":"model-1","prompt":"A fox, \"red\" <fast>","mode":"std","aspect_ratio":"16:9","duration":"5",` +
			`"callback_url":"https://gateway.example/callbacks/videos/t","external_task_id":"video_1"}`,
	},
	"tasks, square picture": {
		catalog.TasksStyle, with(func(o *CreateRequest) { pictured(o); o.Width, o.Height, o.Callback = 960, 960, "" }),
		"/v1/videos/image2video", "application/json",
		`{"model_name":"model-1","prompt":"A fox, \"red\" <fast>","mode":"std","aspect_ratio":"1:1","duration":"5",` +
			`"image":"YSBwaWN0dXJl","external_task_id":"video_1"}`,
	},
	"tasks, with assets": {
		catalog.TasksStyle, with(func(o *CreateRequest) {
			o.Assets, o.Callback = []Asset{{"asst_1", "image"}, {"asst_2", "audio"}}, ""
		}),
		"/v1/videos/text2video", "application/json",
		`{"model_name":"model-1","prompt":"A fox, \"red\" <fast>","mode":"std","aspect_ratio":"16:9","duration":"5",` +
			`"external_task_id":"video_1","assets":[{"id":"asst_1","type":"image"},{"id":"asst_2","type":"audio"}]}`,
	},
	"tasks, tall and fine": {
		catalog.TasksStyle, with(func(o *CreateRequest) { o.Width, o.Height, o.Callback = 1080, 1920, "" }), "/v1/videos/text2video", "application/json",
		`{"model_name":"model-1","prompt":"A fox, \"red\" <fast>","mode":"pro","aspect_ratio":"9:16","duration":"5","external_task_id":"video_1"}`,
	},
	"tasks, remix": {
		catalog.TasksStyle, with(func(o *CreateRequest) { o.Source = &Source{ID: "text2video/1", URL: "res_9 https://files.example/f"} }),
		"/v1/videos/video-extend", "application/json",
		`{"video_id":"res_9","prompt":"A fox, \"red\" <fast>","callback_url":"https://gateway.example/callbacks/videos/t",` +
			`"external_task_id":"video_1"}`,
	},
}

func TestOrdersAreWrittenAsTheStyleHasThem(t *testing.T) {
	t.Parallel()
	for name, c := range golden {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := serve(t, says(200, accepted[c.style]))
			task, f := client(t).Create(soon(t), route(c.style, u.URL), c.order)
			if f != nil || task.ID == "" || task.State == Failed {
				t.Fatalf("%+v, %v", task, f)
			}
			got := u.last(t)
			if got.method != "POST" || got.uri != c.uri || got.body != c.body || got.header.Get("Content-Type") != c.kind {
				t.Errorf("%s %s %s\n%s", got.method, got.uri, got.header.Get("Content-Type"), got.body)
			}
			key := map[llm.Style]string{catalog.VideosStyle: "video_1"}[c.style]
			if got.header.Get("Idempotency-Key") != key || len(u.all()) != 1 {
				t.Errorf("%v, %d requests", got.header, len(u.all()))
			}
			credential := got.header.Get("Authorization")
			if c.style == catalog.OperationsStyle {
				credential = "Bearer " + got.header.Get("X-Goog-Api-Key")
			}
			if credential != "Bearer "+canary {
				t.Errorf("%v", got.header)
			}
		})
	}
}

func TestAssetsGoOnlyWhereThereAreWordsForThem(t *testing.T) {
	t.Parallel()
	for style, carries := range map[llm.Style]bool{catalog.VideosStyle: false, catalog.OperationsStyle: false, catalog.TasksStyle: true} {
		u := serve(t, says(200, accepted[style]))
		r := route(style, u.URL)
		_, f := client(t).Create(soon(t), r, with(func(o *CreateRequest) { o.Assets = []Asset{{"asst_1", "image"}} }))
		if TakesAssets(r) != carries || (f == nil) != carries || f != nil && (!f.Unsent || Ambiguous(f)) || len(u.all()) > 0 != carries {
			t.Errorf("%s: carries %v, %v, %d requests", style, TakesAssets(r), f, len(u.all()))
		}
	}
	if TakesAssets(route(llm.Chat, "http://127.0.0.1:1")) {
		t.Error("a style of text carries assets")
	}
}

func TestAFirstFrameGoesAsAFormWithAFile(t *testing.T) {
	t.Parallel()
	u := serve(t, says(200, accepted[catalog.VideosStyle]))
	if _, f := client(t).Create(soon(t), route(catalog.VideosStyle, u.URL), with(pictured)); f != nil {
		t.Fatal(f)
	}
	got := u.last(t)
	boundary := strings.TrimPrefix(got.header.Get("Content-Type"), "multipart/form-data; boundary=")
	want := strings.ReplaceAll(strings.Join([]string{
		"--B", `Content-Disposition: form-data; name="model"`, "", "model-1",
		"--B", `Content-Disposition: form-data; name="prompt"`, "", `A fox, "red" <fast>`,
		"--B", `Content-Disposition: form-data; name="seconds"`, "", "5",
		"--B", `Content-Disposition: form-data; name="size"`, "", "1280x720",
		"--B", `Content-Disposition: form-data; name="input_reference"; filename="frame.png"`, "Content-Type: image/png", "", "a picture",
		"--B--", "",
	}, "\r\n"), "--B", "--"+boundary)
	if got.uri != "/v1/videos" || len(boundary) != boundaryChars || got.body != want {
		t.Errorf("%s %s\n%s", got.uri, got.header.Get("Content-Type"), got.body)
	}
	if _, f := client(t).Create(soon(t), route(catalog.VideosStyle, u.URL), with(pictured)); f != nil || u.last(t).body != got.body {
		t.Error("the same order has other bytes the second time")
	}
}

func TestARemixAsksForWhatItsJobDoesNotKnow(t *testing.T) {
	t.Parallel()
	for style, c := range map[llm.Style]struct{ id, status, statusURI, part string }{
		catalog.TasksStyle: {
			"image2video/77",
			`{"code":0,"data":{"task_id":"77","task_status":"succeed","task_result":{"videos":[{"id":"res_1","url":"https://x.example/f","duration":"5"}]}}}`,
			"/v1/videos/image2video/77", `"video_id":"res_1"`,
		},
		catalog.OperationsStyle: {
			"models/m/operations/o7",
			`{"name":"models/m/operations/o7","done":true,"response":{"generateVideoResponse":{"generatedSamples":[{"video":{"uri":"https://x.example/g"}}]}}}`,
			"/v1beta/models/m/operations/o7", `"video":{"uri":"https://x.example/g"}`,
		},
	} {
		u := serve(t, says(200, c.status)) // The body is also a valid answer to the create request.
		_, f := client(t).Create(soon(t), route(style, u.URL), with(func(o *CreateRequest) { o.Source = &Source{ID: c.id} }))
		all := u.all()
		if f != nil || len(all) != 2 || all[0].method != "GET" || all[0].uri != c.statusURI || !strings.Contains(all[1].body, c.part) {
			t.Errorf("%s: %v, %+v", style, f, all)
		}
	}
}

func TestARemixOfAVideoThatIsGoneIsRefusedAndNeverAmbiguous(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]string{404: "video_not_remixable", 500: "upstream_error"} {
		for _, style := range []llm.Style{catalog.TasksStyle, catalog.OperationsStyle} {
			u := serve(t, says(status, `{"error":{"message":"x"}}`))
			id := map[llm.Style]string{catalog.TasksStyle: "text2video/1", catalog.OperationsStyle: "models/m/operations/o"}[style]
			_, f := client(t).Create(soon(t), route(style, u.URL), with(func(o *CreateRequest) { o.Source = &Source{ID: id} }))
			if f == nil || f.Err.Code != want || Ambiguous(f) || len(u.all()) != 1 {
				t.Errorf("%s, %d: %v", style, status, f)
			}
		}
	}
}
