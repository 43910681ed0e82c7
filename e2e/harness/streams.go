package harness

import (
	"bufio"
	"context"
	"net/http"
	"sync"
	"testing"
)

// OpenStream is a stream whose first line was read. Read has the text so far.
type OpenStream struct {
	RequestID string
	Read      string
	Rest      *bufio.Reader
}

// OpenStreams starts streams at a gateway and returns once all of them are being delivered.
func (g *Gateway) OpenStreams(t *testing.T, n int, body string) []OpenStream {
	t.Helper()
	streams := make([]OpenStream, n)
	var all sync.WaitGroup
	for i := range streams {
		// goroutine: OpenStreams owns it and waits for it; it ends when the first line of its stream has come.
		all.Go(func() {
			req, err := g.NewRequest(context.Background(), "POST", "/v1/chat/completions", body)
			if err != nil {
				t.Error(err)
				return
			}
			resp, err := HTTPClient.Do(req)
			if err != nil {
				t.Error(err)
				return
			}
			t.Cleanup(func() { _ = resp.Body.Close() })
			s := OpenStream{RequestID: resp.Header.Get("X-Request-Id"), Rest: bufio.NewReader(resp.Body)}
			if s.Read, err = s.Rest.ReadString('\n'); err != nil || resp.StatusCode != http.StatusOK {
				t.Errorf("%v, %s %s", err, resp.Status, s.Read)
			}
			streams[i] = s
		})
	}
	all.Wait()
	if t.Failed() {
		t.FailNow()
	}
	return streams
}
