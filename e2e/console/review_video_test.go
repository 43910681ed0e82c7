package console

import (
	"net/http"
	"strings"
	"testing"

	"umg/e2e/harness"
)

func TestARepeatedStreamIsTakenUpWhereTheJobIsAndNotToldTwice(t *testing.T) {
	t.Parallel()
	c := harness.NewVideoCustomer(t, harness.SharedVideoDemo(t), "repeated-streams")
	body := harness.VideoBody(harness.VideosModel, "A boat, told once", `"stream":true`)
	first := c.Call(t, http.MethodPost, harness.VideosPath, body, "Idempotency-Key", "stream-1")
	if first.Status != http.StatusOK || !strings.Contains(first.Body, `"status":"completed"`) {
		t.Fatalf("%d %s", first.Status, first.Body)
	}
	again := c.Call(t, http.MethodPost, harness.VideosPath, body, "Idempotency-Key", "stream-1")
	if again.Status != http.StatusUnprocessableEntity || again.Header.Get("X-Error-Code") != "idempotent_stream_completed" ||
		again.Header.Get("X-Should-Retry") != "false" {
		t.Errorf("%d %v %s", again.Status, again.Header, again.Body)
	}
	if n := strings.Count(c.Call(t, http.MethodGet, harness.VideosPath, "").Body, "told once"); n != 1 {
		t.Errorf("%d videos were made", n)
	}
}

func TestTheStatusOfAJobNeverComesFromABrowsersStore(t *testing.T) {
	t.Parallel()
	c := harness.NewVideoCustomer(t, harness.SharedVideoDemo(t), "looking-pages")
	id := harness.TextMember(c.CreateVideo(t, harness.VideoBody(harness.VideosModel, "A boat, looked at")), "id")
	a := c.Call(t, http.MethodGet, harness.VideosPath+"/"+id, "", "Origin", "https://app.example")
	if a.Header.Get("Cache-Control") != "no-store" || a.Header.Get("Etag") == "" {
		t.Errorf("%v", a.Header)
	}
	c.WaitVideo(t, id)
}
