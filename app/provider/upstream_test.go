package provider_test

import (
	"io"
	"net/http"
	"testing"

	"umg/app/llm"
	"umg/app/provider"
	"umg/app/provider/framing"
	"umg/app/provider/framing/framingtest"
)

// TestPathsOfUpstreamStyles has the paths of the styles that only providers speak. In Converse, a slash is part of the name of a model.
func TestPathsOfUpstreamStyles(t *testing.T) {
	t.Parallel()
	paths := make(chan string, 1)
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		paths <- r.URL.EscapedPath() + "?" + r.URL.RawQuery
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, "{}")
	})
	c := client(t, provider.Options{})
	for _, tc := range []struct {
		style  llm.Style
		model  string
		stream bool
		want   string
	}{
		{llm.Converse, "us.amazon.nova-2-lite-v1:0", false, "/model/us.amazon.nova-2-lite-v1:0/converse?"},
		{llm.Converse, "arn:aws:bedrock:eu-west-1:1:inference-profile/p", true, "/model/arn:aws:bedrock:eu-west-1:1:inference-profile%2Fp/converse-stream?"},
		{llm.Cohere, "command-a", true, "/chat?"},
		{llm.Native, "a/b", true, "/models/a/b:streamGenerateContent?alt=sse"},
	} {
		r := route(s.URL)
		r.Style, r.Model = tc.style, tc.model
		p := payload("{}")
		a, f := c.Send(t.Context(), provider.Attempt{Route: r, Payload: p, Stream: tc.stream})
		p.Release()
		if f != nil {
			t.Fatal(f)
		}
		a.Close()
		if path := <-paths; path != "/v1"+tc.want {
			t.Errorf("%s: %s, want %s", tc.style, path, tc.want)
		}
	}
}

// TestEventStreamOfAWSIsAStream reads an AWS event stream as server-sent events.
func TestEventStreamOfAWSIsAStream(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", framing.EventStream.ContentType())
		_, _ = w.Write(framingtest.AppendEvent(nil, "messageStart", `{"role":"assistant"}`))
	})
	r := route(s.URL)
	r.Style, r.Model = llm.Converse, "m"
	p := payload("{}")
	a, f := client(t, provider.Options{}).Send(t.Context(), provider.Attempt{Route: r, Payload: p, Stream: true})
	p.Release()
	if f != nil {
		t.Fatal(f)
	}
	defer a.Close()
	text, err := io.ReadAll(a)
	if want := "event: messageStart\ndata: {\"role\":\"assistant\"}\n\n"; err != nil || string(text) != want || !a.Stream {
		t.Errorf("%v, %q, stream %t", err, text, a.Stream)
	}
}
