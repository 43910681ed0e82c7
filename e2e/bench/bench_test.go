//go:build bench

package bench

import (
	"errors"
	"fmt"
	"testing"
	"time"
)

// plan is how long everything is measured.
type plan struct {
	rounds int
	// turns is how often each program is measured in a round of a case with a bar. The turns of the programs alternate, so that what else
	// the machine does meets all of them alike.
	turns  int
	warm   time.Duration
	during time.Duration
	// paced is the time of streams that last a second each.
	paced time.Duration
	// steady is the time of calls at a rate, which need more time for the same number.
	steady  time.Duration
	streams int
	// openFor is the time after which the memory of open streams is read.
	openFor time.Duration
	// slow is the kind of these streams, which must run longer than that.
	slow string
	// idle is how long the use without calls is measured, and settled how long after the last call. The background writer of the
	// database takes half a minute for what the load left in memory.
	idle, settled time.Duration
}

var (
	wholePlan = plan{
		rounds: 3, turns: 3, warm: 250 * time.Millisecond, during: time.Second, paced: 1500 * time.Millisecond, steady: 1500 * time.Millisecond,
		streams: 2000, openFor: 10 * time.Second, slow: "slow", idle: 15 * time.Second, settled: time.Minute,
	}
	shortPlan = plan{
		rounds: 1, turns: 1, warm: 200 * time.Millisecond, during: 600 * time.Millisecond, paced: 500 * time.Millisecond, steady: time.Second,
		streams: 500, openFor: 2 * time.Second, slow: "brief", idle: 5 * time.Second, settled: 10 * time.Second,
	}
)

// clientsStandard is the number of clients of the cases, and clientsMany that of a full machine.
const (
	clientsStandard = 32
	clientsMany     = 128
)

// cpuCase is traffic whose CPU is compared.
type cpuCase struct {
	traffic
	bar bar
	// others measures the gateway without its ledger and nginx too.
	others bool
	// billing is the bar of the ratio with the ledger to without.
	billing bar
	clients int
}

// cpuCases have the targets of the project for a machine with two cores.
var cpuCases = []cpuCase{
	{traffic: traffic{"JSON, 1 kB", "json1", 1000, "chat", "chat"}, bar: bar{1.8, 1.3}, others: true, billing: bar{1.25, 1.1}},
	{traffic: traffic{"JSON, 10 kB", "prompt10", 10_000, "chat", "chat"}, bar: bar{1.9, 1.5}, others: true},
	{traffic: traffic{"JSON, 100 kB", "prompt100", 100_000, "chat", "chat"}, bar: bar{2.2, 1.8}, others: true},
	{traffic: traffic{"JSON, answer of 10 kB", "json10", 1000, "chat", "chat"}},
	{traffic: traffic{"JSON, answer of 100 kB", "json100", 1000, "chat", "chat"}},
	{traffic: traffic{"stream, unpaced", "unpaced", 1000, "chat", "chat"}, bar: bar{1.6, 1.2}, others: true},
	{traffic: traffic{"stream, unpaced, messages", "unpaced", 1000, "messages", "messages"}},
	{traffic: traffic{"stream, unpaced, responses", "unpaced", 1000, "responses", "responses"}},
	{traffic: traffic{"stream, unpaced, native", "unpaced", 1000, "native", "native"}},
	{traffic: traffic{"stream, 5 ms apart", "paced", 1000, "chat", "chat"}, bar: bar{1.25, 1.05}, others: true},
	{traffic: traffic{"stream, translated from messages", "unpaced", 1000, "chat", "messages"}, bar: bar{2.5, 2}},
	{traffic: traffic{"stream, translated from native", "unpaced", 1000, "chat", "native"}},
	{traffic: traffic{"stream, translated to messages", "unpaced", 1000, "messages", "chat"}},
	{traffic: traffic{"stream, translated, 128 clients", "unpaced", 1000, "chat", "messages"}, clients: clientsMany},
	{traffic: traffic{"stream, translated, 5 ms apart", "paced", 1000, "chat", "messages"}},
	{traffic: traffic{"JSON, 1 kB, translated", "json1", 1000, "chat", "messages"}, bar: bar{2.8, 2}},
}

// TestBench measures the gateway beside plain proxies with the same upstream, and compares the ledger with the answers after every run.
// It fails when the ledger is wrong or calls fail. A missed bar is printed and fails nothing, since it depends on the machine.
func TestBench(t *testing.T) {
	p := wholePlan
	if testing.Short() {
		p = shortPlan
	}
	b, r := newBench(t), &report{}
	r.head(t, p)
	whole := true
	for _, part := range []struct {
		name string
		do   func(*testing.T, *bench, *report, plan)
	}{
		{"cpu", benchCPU}, {"rates", benchRates}, {"allocations", benchAllocations}, {"memory", benchMemory}, {"waits", benchWaits}, {"reports", benchReports},
		{"idle", benchIdle},
	} {
		ran := false
		t.Run(part.name, func(t *testing.T) { ran = true; part.do(t, b, r, p) })
		whole = whole && ran
	}
	r.finish(t, whole && !testing.Short() && !t.Failed())
}

// measure runs one case against a target and compares the ledger with the answers.
func (b *bench) measure(t *testing.T, to target, c traffic, l load) outcome {
	t.Helper()
	o := run(t, to, c.request(to), l)
	name := c.name + " at " + to.name
	// A plain proxy loses a few streams of an upstream that answers before the proxy has read the end of the request.
	if to.key != "" && o.failed > 0 || o.answers == 0 {
		t.Errorf("%s: %d answers, %d refused, %d failed: %v", name, o.answers, o.refused, o.failed, o.problem)
	}
	if to.database != 0 {
		b.books.check(t, name, o.totalAnswers, c.price())
	}
	return o
}

func problem(a answer) error {
	if a.err != nil {
		return a.err
	}
	return errors.New(fmt.Sprint(a.status, " ", string(a.body[:min(300, len(a.body))])))
}

// targets are those of a case, in another order in each round.
func (b *bench) targets(others bool, round int) []target {
	all := []target{b.refproxy, b.gateway}
	if others {
		all = append(all, b.unbilled)
		if b.nginx != nil {
			all = append(all, *b.nginx)
		}
	}
	turn := round % len(all)
	return append(all[turn:], all[:turn]...)
}

// takeTurns measures a case at each of the targets so many times in turns, and adds up by their names.
func (b *bench) takeTurns(t *testing.T, all []target, c traffic, l load, turns int) map[string]outcome {
	t.Helper()
	sums := map[string]outcome{}
	for range turns {
		for _, to := range all {
			sums[to.name] = sums[to.name].plus(b.measure(t, to, c, l))
		}
	}
	return sums
}

// loadOf is the load of a case.
func (p plan) loadOf(c cpuCase) load {
	l := load{clients: clientsStandard, warm: p.warm, during: p.during}
	if c.clients > 0 {
		l.clients = c.clients
	}
	if c.kind == "paced" {
		l.during, l.spread = p.paced, 200*time.Millisecond
	}
	return l
}

// benchCPU prints the CPU of a call in every program.
func benchCPU(t *testing.T, b *bench, r *report, p plan) {
	r.table("CPU of a call", "case", "refproxy, µs", "gateway, µs", "gateway ×", "must", "aim", "", "ledger off ×", "on to off", "nginx ×",
		"calls/s", "Postgres, µs", "foreign, %", "refused")
	for _, c := range cpuCases {
		if testing.Short() && c.bar.must == 0 {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			b.printCase(t, r, p, c)
		})
	}
}

func (b *bench) printCase(t *testing.T, r *report, p plan, c cpuCase) {
	of := map[string]samples{}
	add := func(name string, v float64) { of[name] = append(of[name], v) }
	refused := 0
	for round := range p.rounds {
		turns := 1
		if c.bar.must > 0 {
			turns = p.turns
		}
		seen := b.takeTurns(t, b.targets(c.others, round), c.traffic, p.loadOf(c), turns)
		for _, o := range seen {
			add("foreign", o.foreign)
		}
		ref, ours := seen["refproxy"], seen["gateway"]
		add("refproxy", ref.perCall())
		add("gateway", ours.perCall())
		add("ratio", ours.perCall()/ref.perCall())
		add("rate", float64(ours.answers)/ours.took.Seconds())
		add("database", microseconds(ours.database, ours.answers))
		refused += ours.refused
		if off, ok := seen["ledger off"]; ok {
			add("off", off.perCall()/ref.perCall())
			add("billing", ours.perCall()/off.perCall())
		}
		if nginx, ok := seen["nginx"]; ok {
			add("nginx", nginx.perCall()/ref.perCall())
		}
	}
	cells := append([]string{c.name, number(of["refproxy"].median()), number(of["gateway"].median()), of["ratio"].String()},
		r.judge(c.name, of["ratio"], c.bar)...)
	billing := of["billing"].String()
	if verdict := r.judge(c.name+", ledger on to off, flat out", of["billing"], c.billing); verdict[2] != "" {
		billing += ", must " + verdict[0] + ": " + verdict[2]
	}
	r.row(append(cells, of["off"].String(), billing, of["nginx"].String(), number(of["rate"].median()), number(of["database"].median()), number(of["foreign"].median()), fmt.Sprint(refused))...)
}
