package provider

import (
	"io"
	"testing"
)

// TestARequestIsForgottenOnceItWasSent asks before and after all of the request was written.
func TestARequestIsForgottenOnceItWasSent(t *testing.T) {
	t.Parallel()
	p := NewPayload(64)
	defer p.Release()
	p.Data = append(p.Data, `{"model":"up"}`...)
	s := &outgoing{payload: p}
	body, err := s.open()
	if err != nil {
		t.Fatal(err)
	}
	if s.forget(); s.payload == nil || s.reader.Len() != len(p.Data) {
		t.Error("a request that is still being sent is forgotten")
	}
	s.connection.written.Store(true)
	if s.forget(); s.payload != nil {
		t.Error("a request that was sent is kept")
	}
	if rest, err := io.ReadAll(body); err != nil || len(rest) > 0 {
		t.Errorf("its body still has %q, %v", rest, err)
	}
}
