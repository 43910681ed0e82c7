package simulator

import (
	"encoding/base64"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"
)

func TestOperationSpeaksItsWords(t *testing.T) {
	t.Parallel()
	c := newClock()
	u := setup(t, Options{Now: c.Now, Render: time.Minute})
	body := operationAsk("A lighthouse")
	body["parameters"] = object{"aspectRatio": "9:16", "resolution": "1080p", "durationSeconds": 8}
	_, v := u.json("POST", modelAt, body, nil)
	name := text(v, "name")
	if len(v) != 1 || !strings.HasPrefix(name, "models/pan-3/operations/") {
		t.Fatalf("%v", v)
	}
	if got := u.sim.Renders()[0]; got.Width != 1080 || got.Height != 1920 || got.Seconds != 8 || got.Model != "pan-3" {
		t.Errorf("%+v", got)
	}
	_, v = u.json("GET", "/boreal/v1beta/"+name, nil, nil)
	if v["done"] != false || v["name"] != name || v["response"] != nil || v["error"] != nil {
		t.Errorf("%v", v)
	}
	c.move(time.Minute)
	_, v = u.json("GET", "/boreal/v1beta/"+name, nil, nil)
	uri := text(v, "response", "generateVideoResponse", "generatedSamples", 0, "video", "uri")
	path, ok := strings.CutPrefix(uri, u.url+"/boreal/v1beta/files/")
	if v["done"] != true || !ok || !strings.HasSuffix(path, ":download?alt=media") {
		t.Fatalf("%v", v)
	}
	res := u.do("GET", strings.TrimPrefix(uri, u.url), nil, nil)
	target := res.header.Get("Location")
	if res.status != 302 || !strings.HasPrefix(target, "/boreal/v1beta/download/") {
		t.Fatalf("%d %v", res.status, res.header)
	}
	if res := u.do("GET", target, nil, map[string]string{"Range": "bytes=4-7"}); res.status != 206 || string(res.body) != "ftyp" {
		t.Errorf("%d %q", res.status, res.body)
	}
	for _, path := range []string{"/boreal/v1beta/files/x:download?alt=media", strings.TrimSuffix(strings.TrimPrefix(uri, u.url), "?alt=media"),
		"/boreal/v1beta/download/x", "/boreal/v1beta/models/other/operations/" + strings.Split(name, "/")[3]} {
		if status, v := u.json("GET", path, nil, nil); status != 404 || text(v, "error", "status") != "NOT_FOUND" {
			t.Errorf("%s: %d %v", path, status, v)
		}
	}
}

func TestOperationFilesNeedTheKey(t *testing.T) {
	t.Parallel()
	u := setup(t, Options{Key: "k"})
	key := map[string]string{"X-Goog-Api-Key": "k"}
	u.json("POST", modelAt, operationAsk("A lighthouse"), key)
	id := u.sim.Renders()[0].ID
	for _, path := range []string{"/boreal/v1beta/files/" + id + ":download?alt=media", "/boreal/v1beta/download/" + id} {
		if res := u.do("GET", path, nil, nil); res.status != 401 {
			t.Errorf("%s: %d", path, res.status)
		}
		if res := u.do("GET", path, nil, key); res.status >= 400 {
			t.Errorf("%s: %d", path, res.status)
		}
	}
}

func TestCancelledOperationsEnd(t *testing.T) {
	t.Parallel()
	u := setup(t, Options{})
	at := services[1].begin(u, "simulate: never\nA lighthouse")
	if status, v := u.json("POST", at+":cancel", object{}, nil); status != 200 || len(v) != 0 {
		t.Errorf("%d %v", status, v)
	}
	_, v := u.json("GET", at, nil, nil)
	if v["done"] != true || dig(v, "error", "code") != 1.0 || text(v, "error", "status") != "CANCELLED" {
		t.Errorf("%v", v)
	}
	done := services[1].begin(u, "A mill")
	u.json("POST", done+":cancel", object{}, nil)
	if got, v := services[1].look(u, done); got != "completed" {
		t.Errorf("cancelled after its end: %v", v)
	}
	if res := u.do("GET", at+":cancel", nil, nil); res.status != 405 {
		t.Errorf("%d", res.status)
	}
}

func TestOperationValuesAreJudged(t *testing.T) {
	t.Parallel()
	image := base64.StdEncoding.EncodeToString(still(t, "image/jpeg", 640, 360, ""))
	for name, c := range map[string]struct {
		parameters, instance object
		want                 int
	}{
		"square":           {object{"aspectRatio": "1:1"}, nil, 400},
		"4k":               {object{"resolution": "4k"}, nil, 400},
		"1024p":            {object{"resolution": "1024p", "durationSeconds": 20}, nil, 200},
		"3 seconds":        {object{"durationSeconds": 3}, nil, 400},
		"8.5 seconds":      {object{"durationSeconds": 8.5}, nil, 400},
		"seconds in words": {object{"durationSeconds": "eight"}, nil, 400},
		"an image":         {nil, object{"image": object{"bytesBase64Encoded": image, "mimeType": "image/jpeg"}}, 200},
		"a wrong type":     {nil, object{"image": object{"bytesBase64Encoded": image, "mimeType": "image/png"}}, 400},
		"no base64":        {nil, object{"image": object{"bytesBase64Encoded": "%", "mimeType": "image/png"}}, 400},
		"another size":     {object{"size": "1280x720"}, nil, 400},
		"another video":    {nil, object{"video": object{"uri": "https://example.com/a.mp4"}}, 400},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := setup(t, Options{})
			instance := object{"prompt": "A lighthouse"}
			maps.Copy(instance, c.instance)
			body := object{"instances": []any{instance}}
			if c.parameters != nil {
				body["parameters"] = c.parameters
			}
			status, v := u.json("POST", modelAt, body, nil)
			if status != c.want || status == 400 && (text(v, "error", "status") != "INVALID_ARGUMENT" || dig(v, "error", "code") != 400.0) {
				t.Errorf("%d %v", status, v)
			}
		})
	}
	u := setup(t, Options{})
	if status, _ := u.json("POST", modelAt, object{"instances": []any{}}, nil); status != 400 {
		t.Errorf("no instance: %d", status)
	}
	if res := u.do("POST", modelAt, []byte(`{"instances":[{"prompt":"x"}]} {}`), nil); res.status != 400 {
		t.Errorf("two objects: %d", res.status)
	}
}

func TestTaskSpeaksItsWords(t *testing.T) {
	t.Parallel()
	c := newClock()
	u := setup(t, Options{Now: c.Now, Render: time.Minute})
	body := taskAsk("A lighthouse")
	body["mode"], body["aspect_ratio"], body["duration"], body["external_task_id"] = "pro", "1:1", "10", "mine"
	_, v := u.json("POST", tasksAt, body, nil)
	id := text(v, "data", "task_id")
	if v["code"] != 0.0 || v["message"] != "SUCCEED" || v["request_id"] == "" || text(v, "data", "task_status") != "submitted" || len(id) != 18 ||
		text(v, "data", "task_info", "external_task_id") != "mine" || dig(v, "data", "created_at") != float64(noon.UnixMilli()) {
		t.Fatalf("%v", v)
	}
	if got := u.sim.Renders()[0]; got.Width != 1440 || got.Height != 1440 || got.Seconds != 10 {
		t.Errorf("%+v", got)
	}
	c.move(30 * time.Second)
	if _, v = u.json("GET", tasksAt+"/mine", nil, nil); text(v, "data", "task_status") != "processing" || text(v, "data", "task_id") != id {
		t.Errorf("%v", v)
	}
	c.move(30 * time.Second)
	_, v = u.json("GET", tasksAt+"/"+id, nil, nil)
	video := dig(v, "data", "task_result", "videos", 0)
	if text(v, "data", "task_status") != "succeed" || text(video, "duration") != "10" || text(video, "id") == id ||
		text(video, "url") != u.url+"/kestrel/v1/media/"+text(video, "id")+".mp4" {
		t.Errorf("%v", v)
	}
	for _, path := range []string{"/kestrel/v1/videos/image2video/" + id, tasksAt + "/other"} {
		if status, v := u.json("GET", path, nil, nil); status != 404 || v["code"] != 1203.0 || v["message"] == "" {
			t.Errorf("%s: %d %v", path, status, v)
		}
	}
	if status, v := u.json("POST", tasksAt, body, nil); status != 400 || v["code"] != 1201.0 || !strings.Contains(text(v, "message"), "already in use") {
		t.Errorf("the same id again: %d %v", status, v)
	}
	for _, path := range []string{"/kestrel/v1/media/1.mp4", "/kestrel/v1/media/.mp4", "/kestrel/v1/media/" + text(video, "id")} {
		if res := u.do("GET", path, nil, nil); res.status != 404 {
			t.Errorf("%s: %d", path, res.status)
		}
	}
}

func TestTaskValuesAreJudged(t *testing.T) {
	t.Parallel()
	image := base64.StdEncoding.EncodeToString(still(t, "image/jpeg", 640, 360, ""))
	small := base64.StdEncoding.EncodeToString(still(t, "image/png", 640, 200, ""))
	face := base64.StdEncoding.EncodeToString(still(t, "image/png", 640, 360, "face"))
	for i, c := range []struct {
		kind  string
		extra object
		want  int
		code  float64
	}{
		{kindText, object{"mode": "std", "aspect_ratio": "9:16", "duration": "15"}, 200, 0},
		{kindText, object{"mode": "best"}, 400, 1201},
		{kindText, object{"aspect_ratio": "4:3"}, 400, 1201},
		{kindText, object{"duration": 5}, 400, 1201},
		{kindText, object{"duration": "2"}, 400, 1201},
		{kindText, object{"model_name": ""}, 400, 1201},
		{kindText, object{"image": image}, 400, 1201},
		{kindText, object{"video_id": "7"}, 400, 1201},
		{kindImage, object{"image": image}, 200, 0},
		{kindImage, object{"image": "data:image/jpeg;base64," + image}, 400, 1201},
		{kindImage, object{"image": small}, 400, 1201},
		{kindImage, object{"image": face}, 400, 1301},
		{kindImage, object{}, 400, 1201},
		{kindExtend, object{}, 400, 1201},
		{kindExtend, object{"model_name": "", "prompt": "x"}, 400, 1201},
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			u := setup(t, Options{})
			body := taskAsk("A lighthouse")
			maps.Copy(body, c.extra)
			status, v := u.json("POST", "/kestrel/v1/videos/"+c.kind, body, nil)
			if status != c.want || v["code"] != c.code {
				t.Errorf("%d %v", status, v)
			}
		})
	}
}
