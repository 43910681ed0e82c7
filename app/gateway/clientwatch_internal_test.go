package gateway

import (
	"context"
	"testing"
	"time"
)

// TestSoManyAnswersAreReadOnAtOnce lets the clients of more attempts leave than may be read on. An attempt that has ended makes room.
func TestSoManyAnswersAreReadOnAtOnce(t *testing.T) {
	t.Parallel()
	g := &Gateway{o: Options{ReadOn: time.Hour}}
	client, leave := context.WithCancel(t.Context())
	defer leave()
	begin := func() *attempt {
		a := &attempt{call: &call{gateway: g}}
		a.watchClient(client)
		a.watch.markSent()
		t.Cleanup(a.watch.close)
		return a
	}
	first := begin()
	if !first.watch.clientLeft(errClientGone) {
		t.Fatal("the first answer is not read on")
	}
	for range readOnMax - 1 {
		if !begin().watch.clientLeft(errClientGone) {
			t.Fatal("an answer below the limit is not read on")
		}
	}
	beyond := begin()
	if beyond.watch.clientLeft(errClientGone) || context.Cause(beyond.ctx) != errClientGone {
		t.Errorf("an answer beyond the limit is read on, cause %v", context.Cause(beyond.ctx))
	}
	first.watch.close()
	if next := begin(); !next.watch.clientLeft(errClientGone) {
		t.Error("an answer that ended makes no room")
	}
}
