package chat_test

import (
	"encoding/json"
	"strings"
	"testing"

	"umg/app"
	"umg/app/dialect/chat"
)

func TestErrorsHaveTheirWordsInTheChatStyle(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  *app.Error
		want string
	}{
		{app.Errorf(app.Invalid, "invalid_request_error", "model is required").At("model"),
			`{"code":400,"error":{"code":"invalid_request_error","message":"model is required","type":"invalid_request_error","param":"model"},"request_id":"req_1"}`},
		{app.Errorf(app.Exhausted, "max_concurrency_exceeded", "too many"),
			`{"code":429,"error":{"code":"max_concurrency_exceeded","message":"too many","type":"rate_limit_error"},"request_id":"req_1"}`},
		{app.Errorf(app.Unfunded, "insufficient_quota", "no credit"),
			`{"code":402,"error":{"code":"insufficient_quota","message":"no credit","type":"insufficient_quota"},"request_id":"req_1"}`},
		{app.Errorf(app.Unavailable, "no_available_provider", "none"),
			`{"code":503,"error":{"code":"no_available_provider","message":"none","type":"server_error"},"request_id":"req_1"}`},
		{&app.Error{Kind: app.Upstream, Code: "upstream_error", Message: "refused", Status: 422},
			`{"code":422,"error":{"code":"upstream_error","message":"refused","type":"invalid_request_error"},"request_id":"req_1"}`},
		{app.Errorf(app.Upstream, "upstream_error", "failed"),
			`{"code":502,"error":{"code":"upstream_error","message":"failed","type":"server_error"},"request_id":"req_1"}`},
		{app.Errorf(app.Timeout, "upstream_timeout", "late"),
			`{"code":504,"error":{"code":"upstream_timeout","message":"late","type":"server_error"},"request_id":"req_1"}`},
		{app.Errorf(app.NotFound, "model_not_found", "a \"b\"\n\x00\xff"),
			`{"code":404,"error":{"code":"model_not_found","message":"a \"b\"\n\u0000` + "\ufffd" + `","type":"invalid_request_error"},"request_id":"req_1"}`},
	} {
		got := string(chat.AppendError(nil, c.err, "req_1"))
		if got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
		if !json.Valid([]byte(got)) {
			t.Errorf("not JSON: %s", got)
		}
	}
}

func TestEveryKindHasAStatusAndAType(t *testing.T) {
	t.Parallel()
	for kind := app.Internal; kind <= app.Canceled+1; kind++ {
		e := app.Errorf(kind, "x", "y")
		if s := app.HTTPStatus(e); s < 400 || s > 599 || chat.Type(e) == "" {
			t.Errorf("kind %d has status %d and type %q", kind, s, chat.Type(e))
		}
		if kind != app.Internal && kind <= app.Canceled && app.HTTPStatus(e) == 500 {
			t.Errorf("kind %d has no row of its own", kind)
		}
	}
}

func TestEveryFrameIsOneLineAndJSON(t *testing.T) {
	t.Parallel()
	e := chat.Envelope{ID: `"chatcmpl-1"`, Created: "1760000000", Model: `"m"`}
	all := e.AppendRole(nil)
	all = e.AppendFinish(all, 2, "length")
	all = e.AppendUsage(all, []byte(`{"prompt_tokens":1}`))
	all = chat.Envelope{}.AppendFailure(all, app.Errorf(app.Upstream, "upstream_error", "a\nb"), "req_1", nil, false)
	frames := strings.Split(strings.TrimSuffix(string(all), "\n\n"), "\n\n")
	if len(frames) != 5 || frames[4] != "data: [DONE]" {
		t.Fatalf("%d frames: %q", len(frames), frames)
	}
	for _, f := range frames[:4] {
		data, ok := strings.CutPrefix(f, "data: ")
		if !ok || strings.Contains(data, "\n") || !json.Valid([]byte(data)) {
			t.Errorf("not one line of JSON: %q", f)
		}
	}
}
