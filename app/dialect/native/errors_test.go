package native_test

import (
	"encoding/json"
	"testing"
	"time"

	"umg/app"
	"umg/app/dialect/native"
	"umg/app/llm/llmtest"
)

func TestErrorsHaveTheirWordsInTheNativeStyle(t *testing.T) {
	t.Parallel()
	const reason = `{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":`
	const request = `,{"@type":"type.googleapis.com/google.rpc.RequestInfo","requestId":"req_1"}`
	for _, c := range []struct {
		err  *app.Error
		want string
	}{
		{app.Errorf(app.Invalid, "invalid_request_error", "model is required").At("model"),
			`{"error":{"code":400,"message":"model is required","status":"INVALID_ARGUMENT","details":[` + reason +
				`"INVALID_REQUEST_ERROR","domain":"gateway","metadata":{"code":"invalid_request_error"}}` + request +
				`,{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"field":"model","description":"model is required"}]}]}}`},
		{app.Errorf(app.Exhausted, "max_concurrency_exceeded", "too many").After(1500 * time.Millisecond),
			`{"error":{"code":429,"message":"too many","status":"RESOURCE_EXHAUSTED","details":[` + reason +
				`"MAX_CONCURRENCY_EXCEEDED","domain":"gateway","metadata":{"code":"max_concurrency_exceeded"}}` + request +
				`,{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"2s"}]}}`},
		{&app.Error{Kind: app.Upstream, Code: "upstream_error", Message: "a\n\"b\"\xff", Status: 422},
			`{"error":{"code":422,"message":"a\n\"b\"` + "\ufffd" + `","status":"INVALID_ARGUMENT","details":[` + reason +
				`"UPSTREAM_ERROR","domain":"gateway","metadata":{"code":"upstream_error"}}` + request + `]}}`},
	} {
		got := string(native.AppendError(nil, c.err, "req_1"))
		if got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
		if !json.Valid([]byte(got)) {
			t.Errorf("not JSON: %s", got)
		}
	}
}

func TestEveryKindHasAStatusAndAWord(t *testing.T) {
	t.Parallel()
	want := map[app.Kind]string{
		app.Internal: "INTERNAL", app.Invalid: "INVALID_ARGUMENT", app.Unauthenticated: "UNAUTHENTICATED", app.Forbidden: "PERMISSION_DENIED",
		app.NotFound: "NOT_FOUND", app.Conflict: "ABORTED", app.Unfunded: "RESOURCE_EXHAUSTED", app.Exhausted: "RESOURCE_EXHAUSTED",
		app.Timeout: "DEADLINE_EXCEEDED", app.Unavailable: "UNAVAILABLE", app.Canceled: "CANCELLED",
	}
	for kind := app.Internal; kind <= app.Canceled+1; kind++ {
		e := app.Errorf(kind, "x", "y")
		if s := app.HTTPStatus(e); s < 400 || s > 599 || native.Type(e) == "" {
			t.Errorf("kind %d has status %d and word %q", kind, s, native.Type(e))
		}
		if kind != app.Internal && kind <= app.Canceled && app.HTTPStatus(e) == 500 {
			t.Errorf("kind %d has no row of its own", kind)
		}
		if w, ok := want[kind]; ok && native.Type(e) != w {
			t.Errorf("kind %d is %s, not %s", kind, native.Type(e), w)
		}
	}
	if s := app.HTTPStatus(app.Errorf(app.Unfunded, "x", "y")); s != 402 {
		t.Errorf("no credit is %d", s)
	}
}

func TestAStreamFailsWithOneFrame(t *testing.T) {
	t.Parallel()
	e := app.Errorf(app.Unavailable, "x", "a\nb")
	got := string(native.Codec{}.Encoder(llmtest.NewOptions()).Fail([]byte("data: {}\n\n"), e, "req_1", nil))
	if want := "data: {}\n\ndata: " + string(native.AppendError(nil, e, "req_1")) + "\n\n"; got != want {
		t.Errorf("%q", got)
	}
}
