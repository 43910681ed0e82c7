package messages_test

import (
	"encoding/json"
	"testing"

	"umg/app"
	"umg/app/dialect/messages"
)

func TestErrorsHaveTheirWordsInTheMessagesStyle(t *testing.T) {
	t.Parallel()
	s := loadSchemas(t)
	for _, c := range []struct {
		err    *app.Error
		status int
		want   string
	}{
		{app.Errorf(app.Invalid, "missing_required_parameter", "model is required").At("model"), 400,
			`{"type":"error","error":{"type":"invalid_request_error","message":"model is required","details":{"error_code":"missing_required_parameter","param":"model"}},"request_id":"req_1"}`},
		{app.Errorf(app.Unfunded, "insufficient_quota", "no credit"), 402,
			`{"type":"error","error":{"type":"billing_error","message":"no credit","details":{"error_code":"insufficient_quota"}},"request_id":"req_1"}`},
		{app.Errorf(app.Exhausted, "max_concurrency_exceeded", "too many"), 429,
			`{"type":"error","error":{"type":"rate_limit_error","message":"too many","details":{"error_code":"max_concurrency_exceeded"}},"request_id":"req_1"}`},
		{app.Errorf(app.Unavailable, "no_available_provider", "none"), 529,
			`{"type":"error","error":{"type":"overloaded_error","message":"none","details":{"error_code":"no_available_provider"}},"request_id":"req_1"}`},
		{app.ErrStore(nil), 503,
			`{"type":"error","error":{"type":"overloaded_error","message":"The service cannot reach its store right now. Nothing was charged; try again in a few seconds.","details":{"error_code":"service_unavailable"}},"request_id":"req_1"}`},
		{&app.Error{Kind: app.Upstream, Code: "upstream_error", Message: "refused", Status: 422}, 422,
			`{"type":"error","error":{"type":"invalid_request_error","message":"refused","details":{"error_code":"upstream_error"}},"request_id":"req_1"}`},
		{app.Errorf(app.NotFound, "model_not_found", "a \"b\"\n\x00\xff"), 404,
			`{"type":"error","error":{"type":"not_found_error","message":"a \"b\"\n\u0000` + "\ufffd" + `","details":{"error_code":"model_not_found"}},"request_id":"req_1"}`},
	} {
		got := messages.AppendError(nil, c.err, "req_1")
		if string(got) != c.want || messages.Status(c.err) != c.status {
			t.Errorf("got  %d %s\nwant %d %s", messages.Status(c.err), got, c.status, c.want)
		}
		s.fits(t, "ErrorResponse", got)
	}
	large := &app.Error{Kind: app.Upstream, Status: 413}
	// Clients know this type, though it is missing from the schema.
	if messages.Type(large) != "request_too_large" {
		t.Error(messages.Type(large))
	}
}

func TestEveryKindHasAStatusAndAType(t *testing.T) {
	t.Parallel()
	for kind := app.Internal; kind <= app.Canceled+1; kind++ {
		e := app.Errorf(kind, "x", "y")
		if s := messages.Status(e); s < 400 || s > 599 || messages.Type(e) == "" {
			t.Errorf("kind %d has status %d and type %q", kind, s, messages.Type(e))
		}
		if kind != app.Internal && kind <= app.Canceled && messages.Status(e) == 500 {
			t.Errorf("kind %d has no row of its own", kind)
		}
		if !json.Valid(messages.AppendError(nil, e, "")) {
			t.Error("not JSON")
		}
	}
}
