package videoapi

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

// checkTask holds for whatever a reader makes of an answer.
func checkTask(t *testing.T, raw []byte, task Task, err error, slashes bool) {
	t.Helper()
	_ = parseErrorBody(raw) // The same bytes may arrive as the body of an error.
	if err != nil {
		return
	}
	if !isPathID(task.ID, slashes) || strings.Contains(task.ID, "..") && strings.Contains("/"+task.ID+"/", "/../") {
		t.Errorf("id %q", task.ID)
	}
	if task.State > Failed || task.State == Failed != (task.Code != "") {
		t.Errorf("state %d, code %q", task.State, task.Code)
	}
	if task.State == Succeeded && task.Files.Video == "" {
		t.Error("done without a file")
	}
	if len(task.Metadata) > metadataBytesMax || task.Metadata != nil && (!json.Valid(task.Metadata) || !utf8.Valid(task.Metadata)) ||
		strings.Contains(string(task.Metadata), `\u0000`) && !strings.Contains(string(task.Metadata), `\\u0000`) || strings.Contains(string(task.Metadata), "://") {
		t.Errorf("metadata %q", task.Metadata)
	}
}

// addJunk adds the short ones: the engine takes long to shrink what is long.
func addJunk(f *testing.F) {
	f.Helper()
	for _, raw := range junk {
		if len(raw) < 1<<10 {
			f.Add([]byte(raw))
		}
	}
}

func FuzzVideosTask(f *testing.F) {
	f.Add([]byte(`{"id":"v","status":"completed","progress":"33.7%","created":1758941485,"error":{"code":"x","message":"y"},"extra":{"a":[1,"b"]}}`))
	f.Add([]byte(`{"id":"v","status":"failed","error":"no\u0000"}`))
	addJunk(f)
	f.Fuzz(func(t *testing.T, raw []byte) {
		task, err := videosProtocol{}.read(raw, "")
		checkTask(t, raw, task, err, false)
		_, _ = videosProtocol{}.found([]byte(`{"data":[`+string(raw)+`]}`), "", "m", order())
	})
}

func FuzzOperation(f *testing.F) {
	f.Add([]byte(`{"name":"models/m/operations/o","done":true,"response":{"generateVideoResponse":{"generatedSamples":[{"video":{"uri":"https://x/f"}}]}}}`))
	f.Add([]byte(`{"name":"models/m/operations/o","done":true,"response":{"generateVideoResponse":{"raiMediaFilteredCount":1,"raiMediaFilteredReasons":["r",1]}}}`))
	f.Add([]byte(`{"name":"o","metadata":{"progressPercent":12,"x":"\ud800"},"done":true,"error":{"code":3,"message":"m"}}`))
	addJunk(f)
	f.Fuzz(func(t *testing.T, raw []byte) {
		task, err := operationsProtocol{}.read(raw, "")
		checkTask(t, raw, task, err, true)
	})
}

func FuzzTask(f *testing.F) {
	f.Add([]byte(`{"code":0,"data":{"task_id":"1","task_status":"succeed","task_result":{"videos":[{"id":"r","url":"https://x/f","duration":"5.1"}]},"n":1e9}}`))
	f.Add([]byte(`{"data":{"task_id":"1","task_status":"failed","task_status_msg":"risk control","task_info":{"external_task_id":"e"},"created_at":"x"}}`))
	addJunk(f)
	f.Fuzz(func(t *testing.T, raw []byte) {
		task, err := tasksProtocol{}.read(raw, textTask)
		checkTask(t, raw, task, err, true)
		_, _ = tasksProtocol{}.found(raw, textTask, "m", order())
	})
}
