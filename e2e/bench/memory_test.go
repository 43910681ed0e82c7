//go:build bench

package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"umg/e2e/harness"
)

const (
	// openTime is the time over which the streams begin.
	openTime           = 2 * time.Second
	startTimeRoundsMax = 5
	// refusalPause is how long a client waits after a refusal.
	refusalPause = 100 * time.Millisecond
)

// benchMemory prints the resident memory that a stream takes, in fresh processes, since Go gives memory back to the system late.
func benchMemory(t *testing.T, b *bench, r *report, p plan) {
	r.table(fmt.Sprintf("Memory of a stream, with %d open streams, %s after the last one began", p.streams, p.openFor),
		"case", "kB a stream", "must", "aim", "", "idle, MiB", "first content, p50, ms", "refused", "foreign, %")
	same := traffic{"stream, same style", p.slow, 1000, "chat", "chat"}
	translated := traffic{"stream, translated", p.slow, 1000, "chat", "messages"}
	for _, c := range []struct {
		traffic
		name  string
		plain bool
		bar   bar
	}{
		{same, "refproxy", true, bar{}}, {same, "gateway, same style", false, bar{60, 30}}, {translated, "gateway, translated", false, bar{75, 40}},
	} {
		var each, idle, first, foreign samples
		refused := 0
		for range p.rounds {
			to, stop := b.fresh(t, c.plain)
			m := b.measureMemory(t, to, c.traffic, p)
			stop()
			each, idle, first = append(each, m.each), append(idle, m.idle), append(first, m.first)
			foreign, refused = append(foreign, m.foreign), refused+m.refused
		}
		cells := append([]string{c.name, each.String()}, r.judge("memory of a stream, "+c.name+", kB", each, c.bar)...)
		r.row(append(cells, number(idle.median()), number(first.median()), fmt.Sprint(refused), number(foreign.median()))...)
	}
}

// fresh starts another process of the gateway, which serves the same account, or of the plain proxy.
func (b *bench) fresh(t *testing.T, plain bool) (to target, stop func()) {
	t.Helper()
	if plain {
		pid, address := startProgram(t, "refproxy", "-upstream", "http://"+b.upstream)
		return target{name: "refproxy", address: address, pids: []int{pid}}, func() {}
	}
	g := harness.StartReplica(t, b.home)
	to = target{name: "gateway", address: addressOf(g.Gateway), key: b.gateway.key, pids: []int{g.Command.Process.Pid}, database: b.gateway.database}
	return to, func() {
		if err := g.Stop(); err != nil {
			t.Error(err)
		}
	}
}

type memory struct {
	// each is in kB a stream, and idle in MiB before the first one.
	each, idle float64
	first      float64
	refused    int
	foreign    float64
}

// measureMemory opens the streams, reads the memory while all of them run, and reads them to their end.
func (b *bench) measureMemory(t *testing.T, to target, c traffic, p plan) (m memory) {
	t.Helper()
	warm := traffic{c.name, "unpaced", c.bodyBytes, c.client, c.upstream}
	b.measure(t, to, warm, load{clients: 1, during: 100 * time.Millisecond})
	idle := residentKB(t, to.pids...)
	foreign := startForeignLoad(t)
	r := c.request(to)
	var refused, ended atomic.Int64
	answers := make([]answer, p.streams)
	var open, done sync.WaitGroup
	for i := range p.streams {
		open.Add(1)
		// goroutine: the test owns it and waits for it; it ends with its call, which has a time limit.
		done.Go(func() {
			opened := sync.OnceFunc(open.Done)
			defer opened()
			s := client{opened: opened}
			defer s.close()
			time.Sleep(openTime * time.Duration(i) / time.Duration(p.streams))
			answers[i] = s.call(r)
			for answers[i].refused() {
				refused.Add(1)
				time.Sleep(refusalPause)
				answers[i] = s.call(r)
			}
			ended.Add(1)
		})
	}
	open.Wait()
	time.Sleep(p.openFor)
	m = memory{idle: float64(idle) / 1024, foreign: foreign.percent(t)}
	m.each = float64(residentKB(t, to.pids...)-idle) / float64(p.streams)
	// A plain proxy loses a few streams: see measure.
	if n := ended.Load(); to.key != "" && n > 0 {
		t.Errorf("%s at %s: %d of %d streams had ended when the memory was read", c.name, to.name, n, p.streams)
	}
	done.Wait()
	var o outcome
	for _, a := range answers {
		o.add(a)
	}
	if to.key != "" && o.failed > 0 {
		t.Errorf("%s at %s: %d of %d streams failed: %v", c.name, to.name, o.failed, p.streams, o.problem)
	}
	slices.Sort(o.first)
	m.refused, m.first = int(refused.Load()), percentile(o.first, 50)
	if to.database != 0 {
		b.books.check(t, c.name+" at "+to.name, o.answers, c.price())
	}
	return m
}

// callTimes makes calls one after the other, at most so many, and returns the sorted times of those that got the status. A limit lets a
// call pass now and then.
func callTimes(t *testing.T, name string, r *request, status, most int, during time.Duration) (waits []time.Duration) {
	t.Helper()
	const (
		pause     = 4 * time.Millisecond
		othersMax = 3
	)
	var c client
	defer c.close()
	others := 0
	for began := time.Now(); time.Since(began) < during && len(waits) < most; time.Sleep(pause) {
		a := c.call(r)
		if a.err == nil && a.status == status {
			waits = append(waits, a.whole)
			continue
		}
		if others++; others > othersMax {
			t.Fatalf("%s: %v, want %d", name, problem(a), status)
		}
	}
	slices.Sort(waits)
	return waits
}

// lendKey puts the secret key of this gateway into the data folder of another demo on the same database.
func lendKey(t *testing.T, g *harness.Gateway, dir string) {
	t.Helper()
	key, err := os.ReadFile(filepath.Join(g.Dir, "data", "secret.key"))
	if err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(dir, "data")
	if err := os.MkdirAll(data, 0o711); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(data, "secret.key"), key, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestBenchStart prints how long a start takes with a database that runs already.
func TestBenchStart(t *testing.T) {
	g := harness.StartDemo(t)
	dsn := g.DatabaseURL(t)
	var times samples
	for range startTimeRoundsMax {
		dir := harness.DataDir(t)
		lendKey(t, g, dir)
		from := time.Now()
		other, err := harness.StartDemoIn(dir, "--database-url", dsn)
		if err != nil {
			t.Fatal(err)
		}
		times = append(times, time.Since(from).Seconds()*1000)
		if err := other.Stop(); err != nil {
			t.Fatal(err)
		}
	}
	fmt.Printf("start to ready, database already running: %s ms\n", times)
}
