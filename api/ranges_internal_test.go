package api

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"umg/app/storage"
)

func TestPartsOfAFileAreServedAndThoseItLacksAreErrors(t *testing.T) {
	t.Parallel()
	store, err := storage.Open(t.Context(), t.TempDir(), os.Getenv, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Put(t.Context(), "a", "video/mp4", 10, strings.NewReader("0123456789")); err != nil {
		t.Fatal(err)
	}
	for ranges, want := range map[string]struct {
		status int
		body   string
	}{
		"": {200, "0123456789"}, "bytes=2-3": {206, "23"}, "bytes=-2": {206, "89"}, "Bytes=8-": {206, "89"}, "bytes=10-": {416, ""},
		"bytes=5-2": {416, ""}, "pages=1-2": {200, "0123456789"}, "x": {200, "0123456789"},
	} {
		blob, err := store.Open(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		r, w := httptest.NewRequest(http.MethodGet, "/v1/videos/x/content", http.NoBody), httptest.NewRecorder()
		r.Header.Set("Range", ranges)
		x := &call{exchange: newExchange(w, r), route: Route{Family: OpenAIFamily}, log: &RequestLog{}}
		if err := (&API{now: time.Now}).serveBlob(x, blob); err != nil || w.Code != want.status {
			t.Errorf("%q: %d, %v", ranges, w.Code, err)
		}
		_ = blob.Close()
		if want.status != http.StatusRequestedRangeNotSatisfiable {
			if w.Body.String() != want.body {
				t.Errorf("%q: %q", ranges, w.Body)
			}
			continue
		}
		var got struct{ Error struct{ Code, Param string } }
		if json.Unmarshal(w.Body.Bytes(), &got) != nil || got.Error.Code != "range_not_satisfiable" || got.Error.Param != "Range" ||
			w.Header().Get("Content-Type") != jsonType || w.Header().Get("Content-Range") != "bytes */10" || w.Header().Get("X-Error-Code") != got.Error.Code {
			t.Errorf("%q: %v %s", ranges, w.Header(), w.Body)
		}
	}
}
