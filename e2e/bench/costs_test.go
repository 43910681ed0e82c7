package bench

import (
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"umg/e2e/harness"
)

// callCosts is what one call costs the gateway, in numbers that do not depend on how busy the machine is.
type callCosts struct {
	// allocations and reads are of the whole process, the latter as system calls. They have a little of the work that is always done, for
	// reads much less than one a call.
	allocations, reads float64
	// toClient and toUpstream are the writes on the two connections, and dials the connections to the upstream.
	toClient, toUpstream, dials float64
}

// TestACallCostsNoMoreThanItsBounds makes calls one after the other. Lower a bound when the gateway has got better.
func TestACallCostsNoMoreThanItsBounds(t *testing.T) {
	_, upstream := startProgram(t, "mockupstream")
	relay := newCountingRelay(t, upstream)
	g := harness.StartDemo(t, "--simulator-url", "http://"+relay.address)
	providers, models, last := catalogOf()
	g.PutCatalog(t, providers, models, last)
	b := openBooks(t, g)
	to := target{name: "gateway", address: addressOf(g), key: g.SDKAPIKey, pids: []int{g.PID}, database: g.DatabasePID(t)}
	// The streams have 203 events, which come one by one.
	for _, c := range []struct {
		traffic
		calls int
		most  callCosts
	}{
		{traffic{"JSON, 1 kB", "json1", 1000, "chat", "chat"}, 300, callCosts{allocations: 65, reads: 5, toClient: 1, toUpstream: 1}},
		{traffic{"JSON, 1 kB, translated", "json1", 1000, "chat", "messages"}, 300, callCosts{allocations: 150, reads: 5, toClient: 1, toUpstream: 1}},
		{traffic{"stream, 5 ms apart", "paced", 1000, "chat", "chat"}, 3, callCosts{reads: 560, toClient: 206, toUpstream: 1}},
		{traffic{"stream, translated, 5 ms apart", "paced", 1000, "chat", "messages"}, 3, callCosts{reads: 560, toClient: 206, toUpstream: 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := costsOf(t, g, relay, c.request(to), c.calls)
			b.check(t, c.name, 2*c.calls, c.price())
			t.Logf("%.1f allocations, %.1f reads, %.2f writes to the client, %.2f to the upstream, %.2f dials",
				got.allocations, got.reads, got.toClient, got.toUpstream, got.dials)
			for _, f := range []struct {
				name      string
				got, most float64
			}{
				{"allocations", got.allocations, c.most.allocations}, {"reads", math.Round(got.reads), c.most.reads}, {"dials", got.dials, c.most.dials},
				{"writes to the client", got.toClient, c.most.toClient}, {"writes to the upstream", got.toUpstream, c.most.toUpstream},
			} {
				// A stream of a second allocates less than the work that is always done in that time, so it has no bound.
				if f.got > f.most && (!c.stream() || f.name != "allocations") {
					t.Errorf("a call has %.2f %s, at most %.2f are allowed", f.got, f.name, f.most)
				}
			}
		})
	}
}

// costsOf makes as many calls twice, and measures the second time.
func costsOf(t *testing.T, g *harness.Gateway, relay *countingRelay, r *request, calls int) callCosts {
	t.Helper()
	c := &client{}
	defer c.close()
	var from, until callCosts
	for _, into := range []*callCosts{&from, &until} {
		for range calls {
			if a := c.call(r); !a.succeeded() {
				t.Fatal(a.status, a.err, string(a.body))
			}
		}
		*into = callCosts{
			allocations: runtimeMetric(t, g, "go_memstats_mallocs_total"), reads: readCalls(t, g.PID),
			toClient: segmentsIn(t, c.conn), toUpstream: relay.segments(t), dials: float64(relay.dials.Load()),
		}
	}
	n := float64(calls)
	return callCosts{
		(until.allocations - from.allocations) / n, (until.reads - from.reads) / n,
		(until.toClient - from.toClient) / n, (until.toUpstream - from.toUpstream) / n, (until.dials - from.dials) / n,
	}
}

// segmentsIn is the number of segments with data that came over a connection of this machine. Each write without delay makes one, unless
// it is larger than 32 kB.
func segmentsIn(t *testing.T, conn net.Conn) (segments float64) {
	t.Helper()
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		t.Fatalf("%T is no TCP connection", conn)
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var info *unix.TCPInfo
	var infoErr error
	if err := raw.Control(func(fd uintptr) { info, infoErr = unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO) }); err != nil || infoErr != nil {
		t.Fatal(errors.Join(err, infoErr))
	}
	return float64(info.Data_segs_in)
}

// readCalls is the number of system calls with which a process has read so far.
func readCalls(t *testing.T, pid int) float64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/io", pid))
	if err != nil {
		t.Fatal(err)
	}
	return metricIn(t, strings.ReplaceAll("\n"+string(text), ":", ""), "syscr")
}

// runtimeMetric is a sum of the Go runtime of the gateway since its start.
func runtimeMetric(t *testing.T, g *harness.Gateway, name string) float64 {
	t.Helper()
	resp, err := harness.HTTPClient.Get(strings.TrimSuffix(g.MetricsURL, "/metrics") + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatal(resp.StatusCode, err)
	}
	return metricIn(t, string(text), name)
}

// metricIn finds the number that stands behind a name at the start of a line.
func metricIn(t *testing.T, text, name string) float64 {
	t.Helper()
	_, rest, found := strings.Cut(text, "\n"+name+" ")
	line, _, _ := strings.Cut(rest, "\n")
	v, err := strconv.ParseFloat(line, 64)
	if !found || err != nil {
		t.Fatalf("no number %s: %v", name, err)
	}
	return v
}

// countingRelay passes connections on to the upstream, and counts what the gateway wrote to them.
type countingRelay struct {
	address string
	dials   atomic.Int64
	mu      sync.Mutex
	conns   []net.Conn
}

func newCountingRelay(t *testing.T, upstream string) *countingRelay {
	t.Helper()
	ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &countingRelay{address: ln.Addr().String()}
	var all sync.WaitGroup
	// goroutine: the test owns it and waits for it; it ends when the listener is closed.
	all.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			r.dials.Add(1)
			up, err := net.Dial("tcp", upstream)
			if err != nil {
				_ = conn.Close()
				continue
			}
			r.mu.Lock()
			r.conns = append(r.conns, conn)
			r.mu.Unlock()
			// goroutine: the test owns both and waits for them; each ends when one of its connections does.
			all.Go(func() { _, _ = io.Copy(up, conn); _ = up.Close() })
			all.Go(func() { _, _ = io.Copy(conn, up); _ = up.Close() })
		}
	})
	t.Cleanup(func() {
		_ = ln.Close()
		r.mu.Lock()
		for _, conn := range r.conns {
			_ = conn.Close()
		}
		r.mu.Unlock()
		all.Wait()
	})
	return r
}

// segments is the number of writes of the gateway to all upstream connections.
func (r *countingRelay) segments(t *testing.T) (sum float64) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, conn := range r.conns {
		sum += segmentsIn(t, conn)
	}
	return sum
}
