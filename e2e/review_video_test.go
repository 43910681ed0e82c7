package e2e

import (
	"net/http"
	"strings"
	"testing"
)

func TestARepeatedStreamIsTakenUpWhereTheJobIsAndNotToldTwice(t *testing.T) {
	t.Parallel()
	c := filmmaker(t, videoDemo(t), "repeated-streams")
	body := videoBody(reelModel, "A boat, told once", `"stream":true`)
	first := c.call(t, http.MethodPost, videosPath, body, "Idempotency-Key", "stream-1")
	if first.status != http.StatusOK || !strings.Contains(first.body, `"status":"completed"`) {
		t.Fatalf("%d %s", first.status, first.body)
	}
	again := c.call(t, http.MethodPost, videosPath, body, "Idempotency-Key", "stream-1")
	if again.status != http.StatusUnprocessableEntity || again.header.Get("X-Error-Code") != "idempotent_stream_completed" ||
		again.header.Get("X-Should-Retry") != "false" {
		t.Errorf("%d %v %s", again.status, again.header, again.body)
	}
	if n := strings.Count(c.call(t, http.MethodGet, videosPath, "").body, "told once"); n != 1 {
		t.Errorf("%d videos were made", n)
	}
}

func TestTheStatusOfAJobNeverComesFromABrowsersStore(t *testing.T) {
	t.Parallel()
	c := filmmaker(t, videoDemo(t), "looking-pages")
	id := textAt(c.makeVideo(t, videoBody(reelModel, "A boat, looked at")), "id")
	a := c.call(t, http.MethodGet, videosPath+"/"+id, "", "Origin", "https://app.example")
	if a.header.Get("Cache-Control") != "no-store" || a.header.Get("Etag") == "" {
		t.Errorf("%v", a.header)
	}
	c.ended(t, id)
}
