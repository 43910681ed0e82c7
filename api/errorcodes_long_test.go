package api_test

import (
	"net/http"
	"strings"
	"testing"
)

// longWord is longer than any error may be.
var longWord = strings.Repeat("long ", 1000)

// TestAnErrorRepeatsLittleOfALongValue sends a value of 5,000 bytes in each place where an error repeats what was sent.
func TestAnErrorRepeatsLittleOfALongValue(t *testing.T) {
	t.Parallel()
	w := newErrorWorld(t)
	long, plain := longWord, strings.ReplaceAll(longWord, " ", "x")
	type request struct{ key, method, path, body, header string }
	list := []request{
		{"caller", "POST", "/v1/" + plain, "{}", ""}, {"caller", plain[:20], "/v1/models", "", ""}, {"caller", "GET", "/v1/models/" + plain, "", ""},
		{"caller", "GET", "/v1/models?limit=" + plain, "", ""},
		{"caller", "GET", "/v1/models?after=" + plain, "", ""}, {"caller", "GET", "/v1beta/models?pageSize=" + plain, "", ""},
		{"caller", "GET", "/v1/model/api.md?model=" + plain, "", ""}, {"caller", "GET", "/v1/generation?id=" + plain, "", ""},
		{"caller", "GET", "/v1/usage?from=" + plain, "", ""}, {"caller", "GET", "/v1/usage?group_by=" + plain, "", ""},
		{"caller", "GET", "/v1/usage?style=" + plain, "", ""}, {"caller", "GET", "/v1/usage?tz=" + plain, "", ""}, {"caller", "GET", "/v1/usage?" + plain + "=1", "", ""},
		{"caller", "GET", "/v1/videos?order=" + plain, "", ""}, {"caller", "GET", "/v1/videos/" + plain, "", ""},
		{"caller", "GET", "/v1/videos/x/content?variant=" + plain, "", ""}, {"caller", "POST", "/v1/videos", `{"model":"` + long + `","prompt":"x"}`, ""},
		{"caller", "POST", "/v1/videos", `{"model":"test/film","prompt":"x","size":"` + long + `"}`, ""},
		{"caller", "POST", "/v1/videos", `{"model":"test/film","prompt":"x","seconds":"` + long + `"}`, ""},
		{"caller", "POST", "/v1/videos", `{"model":"test/film","prompt":"x","asset_ids":["` + long + `"]}`, ""},
		{"caller", "POST", "/v1/videos", `{"model":"test/film","prompt":"x","input_reference":{"image_url":"` + long + `"}}`, ""},
		{"caller", "POST", assetsPath, `{"asset_type":"` + long + `","url":"https://example.com"}`, ""},
		{"caller", "POST", assetsPath, `{"asset_type":"image","url":"` + long + `"}`, ""}, {"caller", "POST", assetsPath + "/get", `{"asset_id":"` + long + `"}`, ""},
		{"caller", "POST", "/v1/webhook_endpoints", `{"name":"n","url":"https://` + plain + `","event_types":["video.failed"]}`, ""},
		{"caller", "POST", "/v1/webhook_endpoints", `{"name":"n","url":"https://example.com","event_types":["` + long + `"]}`, ""},
		{"caller", "POST", "/v1/webhook_endpoints", `{"` + long + `":"n"}`, ""}, {"caller", "GET", "/v1/webhook_endpoints/" + plain, "", ""},
		{"manager", "POST", "/v1/keys", `{"name":"n","` + long + `":1}`, ""}, {"manager", "POST", "/v1/keys", `{"name":"n","scopes":["` + long + `"]}`, ""},
		{"manager", "POST", "/v1/keys", `{"name":"n","models":["` + long + `"]}`, ""}, {"manager", "POST", "/v1/keys", `{"name":["` + long + `"]}`, ""},
		{"manager", "GET", "/v1/keys/" + plain, "", ""}, {"manager", "GET", "/v1/keys?order=" + plain, "", ""}, {"manager", "GET", "/v1/keys?after=" + plain, "", ""},
		{"manager", "POST", "/v1/invitations", `{"email":"` + long + `","role":"admin"}`, ""},
		{"manager", "POST", "/v1/invitations", `{"email":"a@example.com","role":"` + long + `"}`, ""}, {"manager", "POST", "/v1/top_ups", `{"amount":"` + long + `"}`, ""},
		{"manager", "GET", "/v1/top_ups/" + plain, "", ""}, {"manager", "POST", "/v1/content", `{"keep":"` + long + `"}`, ""},
	}
	for _, path := range textPaths {
		list = append(list, []request{
			{"caller", "POST", path, text(path, long, "x", ""), ""}, {"caller", "POST", path, text(path, "test/plain/"+plain, "x", ""), ""},
			{"caller", "POST", path, text(path, "test/plain", "x", `,"stream":"`+long+`"`), ""}, {"caller", "POST", path, long, ""},
			{"caller", "POST", path, text(path, "test/plain", "x", ""), "Content-Type"}, {"caller", "POST", path, text(path, "test/plain", "x", ""), "X-Dry-Run"},
			{"caller", "POST", path, text(path, "test/plain", "x", ""), "Idempotency-Key"}, {"caller", "POST", path, text(path, "test/plain", "x", ""), "X-Gateway-Fallback"},
			{"caller", "POST", path, text(path, "test/plain", "x", ""), "Content-Encoding"}, {"caller", "POST", path, text(path, "test/plain", "x", ""), "Authorization"},
		}...)
	}
	for path, fields := range longFields() {
		for _, field := range fields {
			list = append(list, request{"caller", "POST", path, strings.ReplaceAll(field, "LONG", long), ""})
		}
	}
	for _, r := range list {
		var headers []string
		if r.header != "" {
			headers = []string{r.header, plain}
		}
		a := w.send(r.key, r.method, r.path, r.body, headers...)
		if a.status < http.StatusBadRequest {
			t.Errorf("%s %.60s %.90s %s: %d %.200s", r.method, r.path, r.body, r.header, a.status, a.body)
			continue
		}
		t.Run("", func(t *testing.T) {
			e := readError(t, a)
			checkErrorLaws(t, a, &e)
			if t.Failed() {
				t.Logf("%s %.60s %.90s %s: %d", r.method, r.path, r.body, r.header, a.status)
			}
		})
	}
}

// longFields are bodies with a long value in a place of each style that its contract or its translation names.
func longFields() map[string][]string {
	return map[string][]string{
		"/v1/chat/completions": {
			`{"model":"test/plain","messages":[{"role":"LONG","content":"x"}]}`, `{"model":"test/plain","messages":[{"role":"user","content":[{"type":"LONG"}]}]}`,
			`{"model":"test/plain","messages":[{"role":"user","content":"x"}],"temperature":"LONG"}`,
			`{"model":"test/plain","messages":[{"role":"user","content":"x"}],"response_format":{"type":"LONG"}}`,
			`{"model":"test/seeing","messages":[{"role":"user","content":[{"type":"LONG","LONG":"x"}]}]}`,
			`{"model":"test/seeing","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"LONG"}}]}]}`,
		},
		"/v1/messages": {
			`{"model":"test/plain","max_tokens":9,"messages":[{"role":"LONG","content":"x"}]}`,
			`{"model":"test/plain","max_tokens":9,"messages":[{"role":"user","content":[{"type":"LONG"}]}]}`,
			`{"model":"test/seeing","max_tokens":9,"messages":[{"role":"user","content":[{"type":"image","source":{"type":"LONG"}}]}]}`,
			`{"model":"test/seeing","max_tokens":9,"messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"LONG","data":"AA"}}]}]}`,
		},
		"/v1/responses": {
			`{"model":"test/plain","input":[{"type":"LONG"}]}`, `{"model":"test/plain","input":[{"role":"LONG","content":"x"}]}`,
			`{"model":"test/plain","input":[{"role":"user","content":[{"type":"LONG"}]}]}`, `{"model":"test/plain","input":"x","truncation":"LONG"}`,
			`{"model":"test/plain","input":"x","previous_response_id":"LONG"}`,
		},
		"/vendorc/native": {
			`{"model":"test/plain","contents":[{"role":"LONG","parts":[{"text":"x"}]}]}`, `{"model":"test/plain","contents":[{"parts":[{"LONG":1}]}]}`,
			`{"model":"test/plain","contents":[{"parts":[{"text":"x"}]}],"generationConfig":{"thinkingConfig":{"thinkingLevel":"LONG"}}}`,
		},
	}
}
