package recordings

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func all(t *testing.T) []Recording {
	t.Helper()
	list, err := All()
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestEveryRecordingIsRead finds the wire, the head and the body of each file, and counts the files of each wire.
func TestEveryRecordingIsRead(t *testing.T) {
	t.Parallel()
	perWire := map[Wire]int{}
	for _, r := range all(t) {
		perWire[r.Wire]++
		if r.Wire == "" || len(r.Body) == 0 || r.Status < http.StatusOK || r.Header.Get(contentType) == "" {
			t.Errorf("%s: wire %q, status %d, headers %v, %d bytes", r.File, r.Wire, r.Status, r.Header, len(r.Body))
		}
		if r.Wire.Spoken() && r.Provenance == "recorded" && len(r.Request) == 0 {
			t.Logf("%s has no request", r.File)
		}
	}
	t.Logf("files by wire: %v", perWire)
	for wire, least := range map[Wire]int{Chat: 120, Messages: 25, Responses: 25, Native: 45, AWSStream: 2, Converse: 19, Cohere: 14, Predictions: 16} {
		if perWire[wire] < least {
			t.Errorf("%d recordings of %s, fewer than %d", perWire[wire], wire, least)
		}
	}
}

// TestARecordingIsServedAsItCame compares what a client gets with the file, and cuts a stream after its second frame.
func TestARecordingIsServedAsItCame(t *testing.T) {
	t.Parallel()
	for _, r := range all(t) {
		w := httptest.NewRecorder()
		r.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader("{}")))
		if w.Code != r.Status || w.Body.String() != string(r.Body) || w.Header().Get(contentType) != r.Header.Get(contentType) {
			t.Errorf("%s: %d %v %q", r.File, w.Code, w.Header(), w.Body)
		}
		if r.IsEventStream() != strings.Contains(string(r.Body), "data:") && r.Wire.Spoken() {
			t.Errorf("%s is of type %s: %.100s", r.File, r.Header.Get(contentType), r.Body)
		}
		frames := r.Frames()
		if len(frames) < 3 {
			continue
		}
		w = httptest.NewRecorder()
		r.Cut(2, false).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader("{}")))
		if w.Body.String() != string(frames[0])+string(frames[1]) {
			t.Errorf("%s: cut to %q", r.File, w.Body)
		}
	}
}
