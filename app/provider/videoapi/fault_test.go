package videoapi

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"umg/app"
	"umg/app/catalog"
	"umg/app/llm"
	"umg/app/provider"
)

// refusals are answers to orders and what they mean.
var refusals = []struct {
	style     llm.Style
	status    int
	body      string
	class     provider.Class
	meant     int
	code      string
	ambiguous bool
}{
	{catalog.VideosStyle, 400, `{"error":{"code":"moderation_blocked","type":"invalid_request_error","message":"Blocked."}}`, "refused", 451, ContentRefused, false},
	{catalog.VideosStyle, 403, `{"error":{"code":"sentinel_block","message":"Blocked."}}`, "refused", 451, ContentRefused, false},
	{catalog.VideosStyle, 400, `{"error":{"code":null,"message":"Your request was rejected as a result of our safety system."}}`, "refused", 451, ContentRefused, false},
	{catalog.VideosStyle, 451, `{}`, "refused", 451, ContentRefused, false},
	{catalog.VideosStyle, 400, `{"error":{"code":"invalid_value","message":"Invalid value: 'safety'."}}`, "refused", 400, "invalid_value", false},
	{catalog.VideosStyle, 404, `{"error":{"message":"no such model"}}`, "refused", 404, "upstream_error", false},
	{catalog.VideosStyle, 413, `too large`, "refused", 413, "upstream_error", false},
	{catalog.VideosStyle, 401, `{"error":{"code":"invalid_api_key","message":"bad key"}}`, "credential", 401, "no_available_provider", false},
	{catalog.VideosStyle, 402, `{}`, "credential", 402, "no_available_provider", false},
	{catalog.VideosStyle, 403, `{"error":{"message":"Your account violates our usage policies."}}`, "credential", 403, "no_available_provider", false},
	{catalog.VideosStyle, 429, `{"error":{"code":"insufficient_quota","message":"pay"}}`, "credential", 402, "no_available_provider", false},
	{catalog.VideosStyle, 429, `{"error":{"message":"slow"}}`, "rate_limited", 429, "rate_limit_exceeded", false},
	{catalog.VideosStyle, 500, `{}`, "server_error", 500, "upstream_error", true},
	{catalog.VideosStyle, 502, `<html>`, "server_error", 502, "upstream_error", true},
	{catalog.VideosStyle, 503, `{}`, "server_error", 503, "upstream_error", false},
	{catalog.VideosStyle, 504, `{}`, "server_error", 504, "upstream_error", true},
	{catalog.VideosStyle, 524, `{}`, "server_error", 524, "upstream_error", true},
	{catalog.VideosStyle, 529, `{}`, "server_error", 529, "upstream_error", false},
	{catalog.VideosStyle, 302, ``, "redirect", 302, "upstream_error", false},
	{catalog.VideosStyle, 200, `{"error":{"type":"invalid_request_error","message":"bad"}}`, "refused", 400, "upstream_error", false},
	{catalog.VideosStyle, 200, `{"error":"gone wrong"}`, "server_error", 502, "upstream_error", true},
	{catalog.OperationsStyle, 400, `{"error":{"code":400,"status":"INVALID_ARGUMENT","message":"The prompt violates the usage guidelines."}}`, "refused", 451, ContentRefused, false},
	{catalog.OperationsStyle, 400, `{"error":{"code":400,"status":"INVALID_ARGUMENT","message":"durationSeconds is out of bound."}}`, "refused", 400, "upstream_error", false},
	{catalog.OperationsStyle, 400, `{"error":{"code":400,"status":"INVALID_ARGUMENT","message":"API key not valid. Please pass a valid API key.","details":[{"reason":"API_KEY_INVALID"}]}}`,
		"credential", 401, "no_available_provider", false},
	{catalog.OperationsStyle, 400, `{"error":{"code":400,"status":"FAILED_PRECONDITION","message":"User location is not supported."}}`, "credential", 403, "no_available_provider", false},
	{catalog.OperationsStyle, 403, `{"error":{"code":403,"status":"PERMISSION_DENIED","message":"no"}}`, "credential", 403, "no_available_provider", false},
	{catalog.OperationsStyle, 429, `{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"quota"}}`, "rate_limited", 429, "rate_limit_exceeded", false},
	{catalog.OperationsStyle, 500, `{"error":{"code":500,"status":"INTERNAL","message":"x"}}`, "server_error", 500, "upstream_error", true},
	{catalog.TasksStyle, 400, `{"code":1301,"message":"the prompt triggers the content security policy"}`, "refused", 451, ContentRefused, false},
	{catalog.TasksStyle, 200, `{"code":1301,"message":"no"}`, "refused", 451, ContentRefused, false},
	{catalog.TasksStyle, 200, `{"code":"1300","message":"no"}`, "refused", 451, ContentRefused, false},
	{catalog.TasksStyle, 429, `{"code":1302,"message":"fast"}`, "rate_limited", 429, "rate_limit_exceeded", false},
	{catalog.TasksStyle, 200, `{"code":1303,"message":"many"}`, "rate_limited", 429, "rate_limit_exceeded", false},
	{catalog.TasksStyle, 429, `{"code":1102,"message":"no credits"}`, "credential", 402, "no_available_provider", false},
	{catalog.TasksStyle, 401, `{"code":1004,"message":"expired"}`, "credential", 401, "no_available_provider", false},
	{catalog.TasksStyle, 429, `{"code":1304,"message":"IP"}`, "credential", 403, "no_available_provider", false},
	{catalog.TasksStyle, 400, `{"code":1201,"message":"duration is invalid"}`, "refused", 400, "upstream_error", false},
	{catalog.TasksStyle, 400, `{"code":1201,"message":"task not found"}`, "refused", 404, "upstream_error", false},
	{catalog.TasksStyle, 404, `{"code":1203,"message":"no"}`, "refused", 404, "upstream_error", false},
	{catalog.TasksStyle, 200, `{"code":5000,"message":"x"}`, "server_error", 500, "upstream_error", true},
	{catalog.TasksStyle, 200, `{"code":5001,"message":"x"}`, "server_error", 503, "upstream_error", false},
	{catalog.TasksStyle, 200, `{"code":5002,"message":"x"}`, "server_error", 504, "upstream_error", true},
	{catalog.TasksStyle, 200, `{"code":9999,"message":"x"}`, "server_error", 502, "upstream_error", true},
}

func TestWhatRefusalsOfAnOrderMean(t *testing.T) {
	t.Parallel()
	for i, c := range refusals {
		u := serve(t, says(c.status, c.body))
		_, f := client(t).Create(soon(t), route(c.style, u.URL), order())
		if f == nil || f.Class != c.class || f.Status != c.meant || f.Err.Code != c.code || Ambiguous(f) != c.ambiguous {
			t.Errorf("%d %s %d %s: %+v", i, c.style, c.status, c.body, f)
			continue
		}
		if (f.Err.Code == ContentRefused) != (f.Err.Kind == app.Invalid) || (f.Err.Code == ContentRefused) != (f.Err.Param == "prompt") {
			t.Errorf("%d: %+v", i, f.Err)
		}
		if c.class == provider.ClassCredential && strings.Contains(f.Err.Message, "account") {
			t.Errorf("%d: %s", i, f.Err.Message)
		}
	}
}

func TestARefusedPictureIsNamed(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]string{
		"blocked by our moderation system: an input image with a human face": "input_reference",
		"moderation: the picture shows a FACE.":                              "input_reference",
		"moderation: on the surface of it, no":                               "prompt",
		"moderation: copyrighted characters":                                 "prompt",
	} {
		u := serve(t, says(400, `{"error":{"code":"moderation_blocked","message":"`+message+`"}}`))
		r := route(catalog.VideosStyle, u.URL)
		if _, f := client(t).Create(soon(t), r, with(pictured)); f == nil || f.Err.Param != want {
			t.Errorf("%s: %v", message, f)
		}
		if _, f := client(t).Create(soon(t), r, order()); f == nil || f.Err.Param != "prompt" {
			t.Errorf("%s: without a picture: %v", message, f)
		}
	}
}

func TestMessagesOfRefusalsAreCleanAndShort(t *testing.T) {
	t.Parallel()
	for _, code := range []string{"moderation_blocked", "invalid_value"} {
		u := serve(t, says(400, `{"error":{"code":"`+code+`","message":"`+canary+` at https://x.example/?k=1 `+strings.Repeat("ä ", 900)+`"}}`))
		_, f := client(t).Create(soon(t), route(catalog.VideosStyle, u.URL), order())
		if f == nil || len(f.Err.Message) > messageBytesMax || strings.Contains(f.Err.Message, canary) || strings.Contains(f.Err.Message, "://") ||
			!strings.Contains(f.Err.Message, "ä") {
			t.Errorf("%s: %v", code, f)
		}
	}
}

// raw answers each connection with a function.
func raw(t *testing.T, answer func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer c.Close()
				answer(c)
			})
		}
	})
	t.Cleanup(func() { _ = l.Close(); wg.Wait() })
	return "http://" + l.Addr().String()
}

func TestOnlyOrdersThatMayHaveArrivedAreAmbiguous(t *testing.T) {
	t.Parallel()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = closed.Close()
	read := func(c net.Conn) { _, _ = c.Read(make([]byte, 4096)) }
	tlsURL := "https" + strings.TrimPrefix(serve(t, says(200, `{}`)).URL, "http")
	for name, c := range map[string]struct {
		url       string
		class     provider.Class
		ambiguous bool
	}{
		"no listener":  {"http://" + closed.Addr().String(), provider.ClassConnect, false},
		"no such host": {"http://does-not-exist.invalid", provider.ClassDNS, false},
		"no TLS":       {tlsURL, provider.ClassTLS, false},
		"no address":   {"ftp://x", provider.ClassSetup, false},
		"reset": {raw(t, func(c net.Conn) {
			read(c)
			_ = c.(*net.TCPConn).SetLinger(0)
		}), provider.ClassReset, true},
		"closed":   {raw(t, read), provider.ClassReset, true},
		"not HTTP": {raw(t, func(c net.Conn) { read(c); _, _ = io.WriteString(c, "hello\r\n\r\n") }), provider.ClassContent, true},
		"cut answer": {raw(t, func(c net.Conn) {
			read(c)
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{\"id\":")
		}), provider.ClassReset, true},
		"large answer": {serve(t, says(200, `{"id":"v","x":"`+strings.Repeat("x", answerBytesMax)+`"}`)).URL, provider.ClassTooLarge, true},
	} {
		_, f := client(t).Create(soon(t), route(catalog.VideosStyle, c.url), order())
		if f == nil || f.Class != c.class || Ambiguous(f) != c.ambiguous {
			t.Errorf("%s: %+v, ambiguous %v", name, f, Ambiguous(f))
		}
	}
	if Ambiguous(nil) {
		t.Error("no fault is ambiguous")
	}
}

func TestADeadlineIsAmbiguousOnceTheOrderWasSent(t *testing.T) {
	t.Parallel()
	u := serve(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, f := client(t).Create(ctx, route(catalog.VideosStyle, u.URL), order())
	if f == nil || f.Class != provider.ClassTotal || f.Err.Kind != app.Timeout || !Ambiguous(f) {
		t.Errorf("while it waits: %v", f)
	}
	_, f = client(t).Create(ctx, route(catalog.VideosStyle, u.URL), order())
	if f == nil || f.Class != provider.ClassTotal || Ambiguous(f) {
		t.Errorf("before it was sent: %v", f)
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	if _, f = client(t).Create(gone, route(catalog.VideosStyle, u.URL), order()); f == nil || f.Class != provider.ClassClient || Ambiguous(f) {
		t.Errorf("a client that left before: %v", f)
	}
}

// TestAnOrderIsNeverSentTwice closes the connection of an order. Its idempotency key would let the transport send it again.
func TestAnOrderIsNeverSentTwice(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	orders := 0
	url := raw(t, func(c net.Conn) {
		buf := make([]byte, 8192)
		for first := true; ; first = false {
			n, err := c.Read(buf)
			if err != nil {
				return
			}
			if strings.HasPrefix(string(buf[:n]), "POST") {
				mu.Lock()
				orders++
				mu.Unlock()
				return // The server closes a connection on which it answered before.
			}
			if first {
				body := accepted[catalog.VideosStyle]
				_, _ = fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
			}
		}
	})
	c, r := client(t), route(catalog.VideosStyle, url)
	if _, f := c.Status(soon(t), r, "video_up"); f != nil {
		t.Fatal(f)
	}
	_, f := c.Create(soon(t), r, order())
	mu.Lock()
	defer mu.Unlock()
	if f == nil || !Ambiguous(f) || orders != 1 {
		t.Errorf("%v, %d orders", f, orders)
	}
}
