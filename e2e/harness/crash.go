package harness

import (
	"bufio"
	"context"
	"net/http"
	"sync"
	"testing"
)

// OpenStream is a stream of which the first line has come.
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

// CheckpointLagMax is the number of tokens that may be delivered before a crash and not charged.
const CheckpointLagMax = 64

// Kill ends a replica without warning.
func (p Replica) Kill(t *testing.T) {
	t.Helper()
	if err := p.Command.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-p.Exited
}

// StopAtEnd insists that a replica ends in order when the test does.
func (p Replica) StopAtEnd(t *testing.T) {
	t.Cleanup(func() {
		if err := p.Stop(); err != nil && !t.Failed() {
			t.Error(err)
		}
	})
}
