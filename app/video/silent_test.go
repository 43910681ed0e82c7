package video

import (
	"net"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"umg/app"
	"umg/app/postgres"
)

// blackHole is a way to the store over TCP. Once it is open it swallows what is sent, takes connections and never answers.
type blackHole struct {
	mu    sync.Mutex
	open  bool
	conns []net.Conn
}

func (h *blackHole) swallows() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.open
}

func (h *blackHole) swallow() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.open = true
}

func (h *blackHole) keep(conns ...net.Conn) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.conns = append(h.conns, conns...)
}

// pass copies until either side ends, or swallows.
func (h *blackHole) pass(to, from net.Conn) {
	defer to.Close()
	p := make([]byte, 32<<10)
	for {
		n, err := from.Read(p)
		if err != nil {
			return
		}
		if h.swallows() {
			continue
		}
		if _, err := to.Write(p[:n]); err != nil {
			return
		}
	}
}

// overBlackHole makes the store of the bench's service reachable over a black hole, with a pool as the server has it.
func (b *bench) overBlackHole() *blackHole {
	b.Helper()
	h := &blackHole{}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	b.must(err)
	place := regexp.MustCompile(`host='([^']+)' port=(\d+)`).FindStringSubmatch(b.dsn)
	if place == nil {
		b.Fatalf("the store listens elsewhere: %s", b.dsn)
	}
	var passing sync.WaitGroup
	passing.Go(func() {
		for {
			near, err := ln.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("unix", filepath.Join(place[1], ".s.PGSQL."+place[2]))
			if err != nil {
				near.Close()
				continue
			}
			h.keep(near, far)
			passing.Go(func() { h.pass(near, far) })
			passing.Go(func() { h.pass(far, near) })
		}
	})
	host, port, err := net.SplitHostPort(ln.Addr().String())
	b.must(err)
	db, err := postgres.Open(b.Context(), strings.Replace(b.dsn, place[0], "host="+host+" port="+port, 1), postgres.Options{Connections: 4})
	b.must(err)
	b.Cleanup(func() {
		_ = db.Close()
		_ = ln.Close()
		h.mu.Lock()
		for _, c := range h.conns {
			_ = c.Close()
		}
		h.mu.Unlock()
		passing.Wait()
	})
	b.service.db = db
	return h
}

// TestAStoreThatNeverAnswersIsToldWithinThreeSeconds creates a job while the store swallows what it is sent: on connections
// that were open before, and then on new ones.
func TestAStoreThatNeverAnswersIsToldWithinThreeSeconds(t *testing.T) {
	t.Parallel()
	b := setup(t)
	h := b.overBlackHole()
	if _, err := b.service.Create(t.Context(), b.call(`{"model":"test/film","prompt":"A fish"}`)); err != nil {
		t.Fatal(err)
	}
	h.swallow()
	for try := range 3 {
		from := time.Now()
		_, err := b.service.Create(t.Context(), b.call(`{"model":"test/film","prompt":"A fish"}`))
		if took := time.Since(from); app.KindOf(err) != app.Unavailable || took > 3*time.Second {
			t.Errorf("try %d: %v after %s, want that the store is away within 3 s", try, err, took)
		}
	}
}
