package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"umg/app/apikey"
)

func TestModelsAreThoseTheKeyMayCall(t *testing.T) {
	t.Parallel()
	h := setup(t)
	secret := h.secret()
	_, narrow := h.key(apikey.Spec{Models: []string{"test/slow", "test/plain", "test/coming"}})
	list := func(query, secret string) (ids []string, more bool) {
		a := h.call("GET", "/v1/models"+query, "", bearer(secret)...)
		var l struct {
			Object string `json:"object"`
			Data   []struct {
				ID string `json:"id"`
			} `json:"data"`
			FirstID *string `json:"first_id"`
			LastID  *string `json:"last_id"`
			HasMore bool    `json:"has_more"`
		}
		if err := json.Unmarshal([]byte(a.body), &l); err != nil || a.status != http.StatusOK || l.Object != "list" {
			t.Fatalf("%s: %d %v %s", query, a.status, err, a.body)
		}
		for _, m := range l.Data {
			ids = append(ids, m.ID)
		}
		if len(ids) > 0 && (*l.FirstID != ids[0] || *l.LastID != ids[len(ids)-1]) {
			t.Errorf("%s: first_id and last_id are %s and %s", query, *l.FirstID, *l.LastID)
		}
		return ids, l.HasMore
	}
	all, more := list("?client_version=1&unknown=2", secret)
	if len(all) != 10 || more || slices.Contains(all, "test/coming") || all[0] != "test/plain" {
		t.Errorf("all: %v %v", all, more)
	}
	if got, _ := list("", narrow); !slices.Equal(got, []string{"test/plain", "test/slow"}) {
		t.Errorf("a key for two models lists %v", got)
	}
	for query, want := range map[string][]string{
		"?limit=2": all[:2], "?limit=1000": all, "?limit=2&after=" + all[1]: all[2:4], "?limit=1&after_id=" + all[0]: all[1:2],
		"?before_id=" + all[2]: all[:2], "?after=" + all[9]: nil,
	} {
		if got, _ := list(query, secret); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", query, got, want)
		}
	}
	for _, query := range []string{"?limit=0", "?limit=-1", "?limit=x", "?limit=1.5", "?after=nothing", "?before_id=nothing"} {
		if a := h.call("GET", "/v1/models"+query, "", bearer(secret)...); a.status != http.StatusBadRequest || !strings.Contains(a.body, `"param":"`) {
			t.Errorf("%s: %d %s", query, a.status, a.body)
		}
	}
}

func TestModelsAreCachedByTag(t *testing.T) {
	t.Parallel()
	h := setup(t)
	_, narrow := h.key(apikey.Spec{Models: []string{"test/slow"}})
	for _, secret := range []string{h.secret(), narrow} {
		for _, path := range []string{"/v1/models", "/v1/models?limit=1", "/v1/models/test/slow"} {
			a := h.call("GET", path, "", append(bearer(secret), "Accept-Encoding", "identity")...)
			tag := a.header.Get("ETag")
			if a.status != http.StatusOK || tag == "" || a.header.Get("Cache-Control") != "private, max-age=60" {
				t.Fatalf("%s: %d %v", path, a.status, a.header)
			}
			for value, want := range map[string]int{tag: 304, "W/" + tag: 304, `"x", ` + tag: 304, "*": 304, `"x"`: 200} {
				if b := h.call("GET", path, "", append(bearer(secret), "If-None-Match", value, "Accept-Encoding", "identity")...); b.status != want || (want == 304) != (b.body == "") {
					t.Errorf("%s with %s: %d", path, value, b.status)
				}
			}
			head := h.call("HEAD", path, "", bearer(secret)...)
			if head.status != http.StatusOK || head.body != "" || head.header.Get("Content-Length") != fmt.Sprint(len(a.body)) || head.header.Get("ETag") != tag {
				t.Errorf("HEAD %s: %d %v", path, head.status, head.header)
			}
		}
	}
}

func TestOneModel(t *testing.T) {
	t.Parallel()
	h := setup(t)
	secret := h.secret()
	for _, path := range []string{"/v1/models/test/plain", "/v1/models/test%2Fplain", "/v1/models/test%2fplain", "/v1//models/test/plain"} {
		if a := h.call("GET", path, "", bearer(secret)...); a.status != http.StatusOK || !strings.Contains(a.body, `"id":"test/plain"`) {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
	_, narrow := h.key(apikey.Spec{Models: []string{"test/slow"}})
	for _, c := range []struct {
		path, secret string
		status       int
		code         string
	}{
		{"/v1/models/test/nothing", secret, 404, "model_not_found"}, {"/v1/models/test/coming", secret, 404, "model_not_found"},
		{"/v1/models/", secret, 400, "missing_required_parameter"}, {"/v1/models/test%252Fplain", secret, 404, "model_not_found"},
		{"/v1/models/%00", secret, 404, "model_not_found"}, {"/v1/models/%c0%ae%c0%ae/plain", secret, 404, "model_not_found"},
		{"/v1/models/../models/test/plain", secret, 404, "model_not_found"}, {"/v1/models/test/plain/", secret, 404, "model_not_found"},
		{"/v1/models/test/plain", narrow, 403, "model_not_allowed"}, {"/v1/models/" + strings.Repeat("x", 5000), secret, 404, "model_not_found"},
	} {
		a := h.call("GET", c.path, "", bearer(c.secret)...)
		if a.status != c.status || !strings.Contains(a.body, `"code":"`+c.code+`"`) || len(a.body) > 1000 || !json.Valid([]byte(a.body)) {
			t.Errorf("%s: %d %s", c.path, a.status, a.body)
		}
	}
}
