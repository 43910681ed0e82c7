package gateway_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"umg/app"
	"umg/app/egress"
	"umg/app/gateway"
	"umg/app/llm"
)

// gifPixel is a GIF of one pixel.
const gifPixel = "GIF89a\x01\x00\x01\x00\x80\x00\x00\x00\x00\x00\xff\xff\xff,\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00;"

// imageRequests has a request with an image at an address, in each style that has such images.
var imageRequests = map[llm.Style]string{
	llm.Chat:      `"top_k":3,"messages":[{"role":"user","content":[{"type":"text","text":"x"},{"type":"image_url","image_url":{"url":%q}}]}]`,
	llm.Messages:  `"max_tokens":50,"messages":[{"role":"user","content":[{"type":"image","source":{"type":"url","url":%q}}]}]`,
	llm.Responses: `"input":[{"role":"user","content":[{"type":"input_image","image_url":%q}]}]`,
}

// TestAProviderThatFetchesNothingGetsTheDataOfImages sends images by address to a provider that takes only data, and to one that fetches.
func TestAProviderThatFetchesNothingGetsTheDataOfImages(t *testing.T) {
	t.Parallel()
	b := setupQuirks(t)
	var fetches atomic.Int64
	files := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fetches.Add(1)
		if r.URL.Path == "/page" {
			_, _ = w.Write([]byte("<html>"))
			return
		}
		w.Header().Set("Content-Type", "image/gif")
		_, _ = w.Write([]byte(gifPixel))
	}))
	t.Cleanup(files.Close)
	outside, err := egress.New(egress.Options{Exceptions: []string{strings.TrimPrefix(files.URL, "http://")}})
	must(t, err)
	t.Cleanup(outside.Close)
	b.options.Egress = outside
	b.gateway = gateway.New(b.options)
	data := "data:image/gif;base64," + base64.StdEncoding.EncodeToString([]byte(gifPixel))
	for style, request := range imageRequests {
		sent, dropped, _ := b.call(style, "test/ollama", "{"+fmt.Sprintf(request, files.URL+"/pixel.gif")+"}", false)
		if text := fmt.Sprint(sent); !strings.Contains(text, data) || strings.Contains(text, files.URL) {
			t.Errorf("%s: the provider gets %s", style, text)
		}
		if style == llm.Chat && dropped != "top_k" {
			t.Errorf("%q is dropped", dropped)
		}
	}
	if n := fetches.Load(); n != int64(len(imageRequests)) {
		t.Errorf("%d images were fetched", n)
	}
	for _, address := range []string{files.URL + "/pixel.gif", data} {
		model := map[bool]string{true: "test/ollama", false: "test/groq"}[address == data]
		sent, _, _ := b.call(llm.Chat, model, "{"+fmt.Sprintf(imageRequests[llm.Chat], address)+"}", false)
		if text := fmt.Sprint(sent); !strings.Contains(text, address) || sent["top_k"] == nil {
			t.Errorf("%s gets %s", model, text)
		}
	}
	if n := fetches.Load(); n != int64(len(imageRequests)) {
		t.Errorf("%d images were fetched", n)
	}
	for _, address := range []string{files.URL + "/page", "http://127.0.0.1:9/pixel.gif", "http://169.254.169.254/latest"} {
		b.provider.take()
		_, _, err := b.generate(gateway.Call{
			ID: b.ids.New("req"), Principal: app.Principal{AccountID: b.account, KeyID: "key_1"}, Style: llm.Chat,
			Body: fmt.Appendf(nil, `{"model":"test/ollama",`+imageRequests[llm.Chat]+`}`, address),
		})
		e := app.AsError(err)
		if e == nil || e.Kind != app.Invalid || e.Param != "messages[0].content[1].image_url" || len(b.provider.take()) != 0 {
			t.Errorf("%s: %+v", address, e)
		}
	}
}
