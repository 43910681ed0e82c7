package api_test

import (
	"slices"
	"strings"
	"testing"
)

func TestPagesMayReadTheHeadersThatTheyNeedForVideos(t *testing.T) {
	t.Parallel()
	h := setup(t)
	a := h.call("GET", "/v1/videos", "", "Origin", "https://app.example")
	exposed := strings.Split(strings.ToLower(a.header.Get("Access-Control-Expose-Headers")), ", ")
	for _, name := range []string{
		"poll-hint", "processing-ms", "retry-after", "etag", "content-range", "accept-ranges", "content-length", "content-disposition", "idempotency-replayed",
	} {
		if !slices.Contains(exposed, name) {
			t.Errorf("%s is hidden from pages: %v", name, exposed)
		}
	}
}
