package provider

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"umg/app/provider/http1"
)

// TestARequestIsForgottenOnceItWasSent asks before and after all of the request was written.
func TestARequestIsForgottenOnceItWasSent(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	transport := http1.New(http1.Options{DialContext: (&net.Dialer{}).DialContext})
	defer transport.CloseIdleConnections()
	p := NewPayload(64)
	defer p.Release()
	p.Data = append(p.Data, `{"model":"up"}`...)
	s := &Space{payload: p, used: &http1.Exchange{}}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, s.open())
	if err != nil {
		t.Fatal(err)
	}
	r.ContentLength = int64(len(p.Data))
	if s.forget(); s.payload == nil {
		t.Error("a request that is still being sent is forgotten")
	}
	if s.used, err = transport.Do(t.Context(), r, &s.exchange); err != nil {
		t.Fatal(err)
	}
	if s.forget(); s.payload != nil {
		t.Error("a request that was sent is kept")
	}
	if s.Recycle() {
		t.Error("the memory of an answer that is not closed can be used again")
	}
	if body := s.used.Response().Body; body.Close() != nil || !s.Recycle() {
		t.Error("the memory of a closed answer cannot be used again")
	}
	if rest, err := io.ReadAll(&s.reader); err != nil || len(rest) > 0 {
		t.Errorf("the body of the request still has %q, %v", rest, err)
	}
}
