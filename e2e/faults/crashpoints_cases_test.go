package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"umg/e2e/harness"
)

// crashPoint is one of the design's crash points: what happens there that is more than a death under one call, and the
// tests of the simulated disk that prove what no real one does on demand.
type crashPoint struct {
	name  string
	drive func(t *testing.T, g *harness.Gateway)
	// proofs are tests, each as its folder and its name.
	proofs []string
}

// crashPoints are all of them, in the order of the design.
var crashPoints = []crashPoint{
	{name: "C0"},
	{name: "C1"},
	{name: "C2"},
	{name: "C3"},
	{name: "C4"},
	{name: "C5"},
	{name: "C6", proofs: []string{"billing/journal TestUnawaitedMarksSurviveAKillSoonAndAPowerCutLater"}},
	{name: "C7"},
	{name: "C8", proofs: []string{"billing/journal TestATornEndIsCutOff"}},
	{name: "C9"},
	{name: "C10"},
	{name: "C11", drive: halfApplied},
	{name: "C12", drive: killedWhileItRecovers},
	{name: "C13", drive: databaseGoesAway, proofs: []string{"billing/lease TestMoneyIsRightUnderEverySeed"}},
	{name: "C14", drive: databaseIsRestored},
	{name: "C15", drive: diskIsGone},
	{name: "C16", drive: diskIsFull, proofs: []string{
		"billing/journal TestEveryCallThatWasAdmittedIsRecordedOnAFullDisk", "billing/journal TestClaimsStopBeforeTheDiskIsFull",
	}},
	{name: "C17", proofs: []string{
		"billing/journal TestTheLogIsDeadAfterAFailedSync", "billing/lease TestMoneyIsRightUnderEverySeed",
	}},
	{name: "C18", drive: func(t *testing.T, _ *harness.Gateway) { filmIsCut(t, "C18:1", "failed", 0) }},
	{name: "C19", drive: func(t *testing.T, _ *harness.Gateway) { filmIsCut(t, "C19:1", "completed", 1) }},
	{name: "C20", drive: func(t *testing.T, _ *harness.Gateway) { filmIsCut(t, "C20:1", "completed", 1) }},
	{name: "C21", drive: paymentIsCut},
}

// TestCrashPointsHaveTheirProofs insists that each point is driven here or proven by a test that exists, and that the
// binary that is shipped knows none of them.
func TestCrashPointsHaveTheirProofs(t *testing.T) {
	t.Parallel()
	if len(crashPoints) != 22 {
		t.Errorf("%d points are listed", len(crashPoints))
	}
	for i, p := range crashPoints {
		if p.name != fmt.Sprintf("C%d", i) || p.drive == nil && len(crashes[p.name]) == 0 && len(p.proofs) == 0 {
			t.Errorf("%s stands at %d, and nothing proves it", p.name, i)
		}
		for _, proof := range p.proofs {
			dir, name, _ := strings.Cut(proof, " ")
			files, _ := filepath.Glob(filepath.Join("..", "..", dir, "*_test.go"))
			found := false
			for _, file := range files {
				found = found || strings.Contains(readFile(t, file), "func "+name+"(t *testing.T)")
			}
			if !found {
				t.Errorf("%s is proven by %s of %s, which does not exist", p.name, name, dir)
			}
		}
	}
	bin, err := harness.GatewayBinary()
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(readFile(t, bin), "UMG_FAILPOINT") {
		t.Error("the binary that is shipped can be told to die")
	}
	if mortal, err := failpointBinary(); err != nil || !strings.Contains(readFile(t, mortal), "UMG_FAILPOINT") {
		t.Errorf("the other build cannot be: %v", err)
	}
	if out, status := harness.RunCommand(t, []string{"UMG_FAILPOINT=C0:1"}, "serve"); status == 0 || !strings.Contains(out, "UMG_FAILPOINT, which is not a setting") {
		t.Errorf("exit %d: %s", status, out)
	}
}

// halfApplied lets the process die while the books are in the middle of its settlements, and undoes what they have done
// so far, as the database does when it notices.
func halfApplied(t *testing.T, g *harness.Gateway) {
	c := g.NewCustomer(t, "half")
	c.SetAvailable(t, 100_000_000_000)
	db := g.DB(t)
	v := victimOf(t, c.Gateway, "")
	warm := v.count(t, "count to 2", true)
	g.UsageRecord(t, warm.id)
	stream := v.OpenStreams(t, 1, harness.ChatRequest(harness.CheapModel, crashPrompt, `"stream":true`, `"stream_options":{"include_usage":true}`))[0]
	tx := db.MustBegin()
	defer tx.Rollback()
	tx.MustExec(`select 1 from credit_accounts where id = $1 for update`, c.AccountID)
	rest, err := io.ReadAll(stream.Rest)
	got := seen{id: stream.RequestID, text: stream.Read + string(rest), whole: err == nil && strings.Contains(string(rest), "[DONE]")}
	if !got.whole {
		t.Fatalf("the answer was cut: %s", got.text)
	}
	harness.WaitUntil(t, "the settlement is being applied", func() bool {
		var n int
		err := db.Get(&n, `select count(*) from pg_stat_activity where wait_event_type = 'Lock' and query like '%apply_settlements%'`)
		return err == nil && n > 0
	})
	v.kill(t)
	db.MustExec(`select pg_terminate_backend(pid) from pg_stat_activity where wait_event_type = 'Lock' and query like '%apply_settlements%'`)
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	v.rise(t, "")
	v.returned(t, db)
	all := v.charges(t, db)
	if len(all) != 2 {
		t.Fatalf("two calls have the records %+v", all)
	}
	crash{at: "C11", reasons: "completed", whole: true}.judge(t, got, all[1:])
	v.ends(t)
}

// killedWhileItRecovers lets the process die with one answer whole and unapplied, and then five times while it recovers.
func killedWhileItRecovers(t *testing.T, g *harness.Gateway) {
	db := g.DB(t)
	v := victimOf(t, g, "C7:1")
	got := v.count(t, crashPrompt, true)
	v.dies(t, "C7:1")
	for _, at := range []string{"C12:1", "C12:2", "C12:1", "C12:2", "C12:2"} {
		if err := v.tryRise(t, at); err == nil {
			t.Fatalf("it survived %s", at)
		}
		v.killedAt(t, at)
	}
	v.rise(t, "")
	v.returned(t, db)
	crash{at: "C12", reasons: "completed"}.judge(t, got, v.charges(t, db))
	v.ends(t)
}

// gate lets connections to a database pass, until it is shut.
type gate struct {
	// dsn is the address of the database.
	dsn      string
	listener net.Listener
	mu       sync.Mutex
	shut     bool
	all      []net.Conn
}

// gateBefore stands before a gateway's database.
func gateBefore(t *testing.T, home *harness.Gateway) *gate {
	t.Helper()
	dsn := home.DatabaseURL(t)
	socket := regexp.MustCompile(`host='([^']+)' port=(\d+)`).FindStringSubmatch(dsn)
	if socket == nil {
		t.Fatalf("the database listens elsewhere: %s", dsn)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	host, port, _ := net.SplitHostPort(ln.Addr().String())
	g := &gate{listener: ln, dsn: strings.Replace(dsn, socket[0], fmt.Sprintf("host=%s port=%s", host, port), 1)}
	t.Cleanup(func() {
		_ = ln.Close()
		g.set(true)
	})
	go func() {
		for {
			near, err := ln.Accept()
			if err != nil {
				return
			}
			g.join(near, filepath.Join(socket[1], ".s.PGSQL."+socket[2]))
		}
	}()
	return g
}

func (g *gate) join(near net.Conn, socket string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	far, err := net.Dial("unix", socket)
	if g.shut || err != nil {
		_ = near.Close()
		return
	}
	g.all = append(g.all, near, far)
	for _, pair := range [][2]net.Conn{{near, far}, {far, near}} {
		go func() {
			_, _ = io.Copy(pair[0], pair[1])
			_, _ = pair[0].Close(), pair[1].Close()
		}()
	}
}

// set shuts the gate, which cuts all that pass, or opens it.
func (g *gate) set(shut bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut = shut
	for _, c := range g.all {
		_ = c.Close()
	}
	g.all = nil
}

// databaseGoesAway cuts the replica from its database while an answer runs: the answer ends as if nothing were, and is
// charged when the database is back, whether or not the process dies in between.
func databaseGoesAway(t *testing.T, g *harness.Gateway) {
	db, door := g.DB(t), gateBefore(t, g)
	v := &victim{beside: g, dir: harness.DataDir(t), dsn: door.dsn}
	v.rise(t, "")
	v.id = strings.TrimSpace(readFile(t, filepath.Join(v.dir, "journal", "replica.id")))
	// This call gets a lease that has credit for the next call.
	warm := v.count(t, "count to 2", true)
	g.UsageRecord(t, warm.id)
	for _, dies := range []bool{false, true} {
		stream := v.OpenStreams(t, 1, harness.ChatRequest(harness.CheapModel, crashPrompt, `"stream":true`, `"stream_options":{"include_usage":true}`))[0]
		door.set(true)
		rest, err := io.ReadAll(stream.Rest)
		got := seen{id: stream.RequestID, text: stream.Read + string(rest), whole: err == nil && strings.Contains(string(rest), "[DONE]")}
		if dies {
			v.kill(t)
			door.set(false)
			v.rise(t, "")
			v.returned(t, db)
		}
		door.set(false)
		g.UsageRecord(t, got.id)
		all := v.charges(t, db)
		crash{at: "C13", reasons: "completed", whole: true}.judge(t, got, all[len(all)-1:])
	}
	if all := v.charges(t, db); len(all) != 3 {
		t.Errorf("three calls have the records %+v", all)
	}
	v.ends(t)
}

// databaseIsRestored puts the books back to where they were before some calls: the journal brings them in again.
func databaseIsRestored(t *testing.T, _ *harness.Gateway) {
	dir := harness.DemoDir(t)
	home := func() *harness.Gateway {
		g, err := harness.StartDemoIn(dir, "--token-interval", "0s")
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	move := func(from, to string) {
		cmd := exec.Command("cp", "-a", filepath.Join(dir, from), filepath.Join(dir, to))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	g := home()
	old := harness.DecodeCompletion(t, g.Call(t, "POST", harness.ChatPath, harness.ChatRequest(harness.CheapModel, "count to 3")))
	if err := g.Stop(); err != nil {
		t.Fatal(err)
	}
	move("data/postgres", "backup")
	g = home()
	start := g.DemoBalance(t).Posted
	costs := map[string]int64{}
	var sum int64
	for i := range 5 {
		a := g.Call(t, "POST", harness.ChatPath, harness.ChatRequest(harness.CheapModel, fmt.Sprintf("count to %d", 10+i)))
		costs[a.Header.Get("X-Request-Id")] = harness.Nanos(t, string(harness.DecodeCompletion(t, a).Usage.Cost))
		sum += costs[a.Header.Get("X-Request-Id")]
		g.UsageRecord(t, a.Header.Get("X-Request-Id"))
	}
	if err := g.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(dir, "data/postgres")); err != nil {
		t.Fatal(err)
	}
	move("backup", "data/postgres")
	g = home()
	for id, cost := range costs {
		if r := g.UsageRecord(t, id); r.Cost != cost {
			t.Errorf("%d was shown, the record is %+v", cost, r)
		}
	}
	if b := g.DemoBalance(t); start-b.Posted != sum || harness.Nanos(t, string(old.Usage.Cost)) == 0 {
		t.Errorf("the balance went from %d to %+v, %d were shown", start, b, sum)
	}
	g.CheckLedger(t)
	if err := g.Stop(); err != nil {
		t.Error(err)
	}
}

// diskIsGone loses a replica's folder with a settlement that was not applied: no account is charged for it, and the credit
// that the replica held comes back when it is given up.
func diskIsGone(t *testing.T, g *harness.Gateway) {
	db := g.DB(t)
	v := victimOf(t, g, "C7:1")
	got := v.count(t, crashPrompt, true)
	v.dies(t, "C7:1")
	lost := v.id
	if err := os.RemoveAll(filepath.Join(v.dir, "journal")); err != nil {
		t.Fatal(err)
	}
	v.rise(t, "")
	if v.id = strings.TrimSpace(readFile(t, filepath.Join(v.dir, "journal", "replica.id"))); v.id == lost {
		t.Error("the replica is the same without its journal")
	}
	next := v.count(t, "count to 2", true)
	g.UsageRecord(t, next.id)
	v.ends(t)
	gone := victim{Replica: v.Replica, id: lost}
	if all := gone.charges(t, db); len(all) > 1 || len(all) == 1 && (all[0].Output != crashTokens || all[0].Reason != "completed") || got.whole {
		t.Errorf("%d tokens were delivered, the records are %+v", got.tokens(), all)
	}
	// The replica seems silent for a minute and a half. The others then do these two steps.
	db.MustExec(`update replicas set heartbeat_at = now() - interval '90 seconds' where id = $1`, lost)
	db.MustExec(`select lose_replicas(interval '85 seconds')`)
	db.MustExec(`select close_leases(id, epoch, 'reclaimed', 1000) from replicas where id = $1`, lost)
	var held int64
	if err := db.Get(&held, `select coalesce(sum(remaining_nanos), 0)::bigint from leases where replica_id = $1 and state = 'open'`, lost); err != nil || held != 0 {
		t.Errorf("%d are held by a lost replica, %v", held, err)
	}
}

// diskIsFull refuses new calls, and takes them again when there is room.
func diskIsFull(t *testing.T, g *harness.Gateway) {
	db := g.DB(t)
	v := victimOf(t, g, "", "--journal-min-free", "1000000000")
	a := v.Call(t, "POST", harness.ChatPath, harness.ChatRequest(harness.CheapModel, "echo: x"), "X-Error-Status", "standard")
	if a.Status != http.StatusServiceUnavailable || a.Header.Get("Retry-After") == "" {
		t.Errorf("status %d, %v: %s", a.Status, a.Header, a.Body)
	}
	if all := v.charges(t, db); len(all) > 0 {
		t.Errorf("a refused call has the records %+v", all)
	}
	v.kill(t)
	v.args = nil
	v.rise(t, "")
	v.returned(t, db)
	if got := v.count(t, "count to 3", true); !got.whole || g.UsageRecord(t, got.id).Output != 3 {
		t.Errorf("with room again: %+v", got)
	}
	v.ends(t)
}

// filmIsCut lets the process die with a video on its way, and insists on one end, one charge and one event.
func filmIsCut(t *testing.T, at, ends string, renders int) {
	bin, err := failpointBinary()
	if err != nil {
		t.Fatal(err)
	}
	_, upstream := harness.StartSimulator(t, "--render-time", "100ms")
	m := &harness.RestartingDemo{Args: append(harness.VideoFlags(harness.Webhooks.Address()), "--simulator-url", upstream)}
	if m.Demo, err = harness.StartDemoBinary(bin, []string{"UMG_FAILPOINT=" + at}, harness.DemoDir(t), m.Args...); err != nil {
		t.Fatal(err)
	}
	m.Customer = harness.NewVideoCustomer(t, m.Demo, strings.ToLower(at[:3]))
	hear := harness.NewWebhookReceiver(t)
	m.AddWebhook(t, hear)
	before := m.Balance(t)
	ctx, cancel := context.WithTimeout(context.Background(), deathMax)
	defer cancel()
	// The crash may cut this call, so its answer is not checked.
	_, _ = m.TryCall(ctx, http.MethodPost, harness.VideosPath, harness.VideoBody(harness.VideosModel, "cut at "+at))
	select {
	case <-m.Demo.Exited:
	case <-ctx.Done():
		_ = m.Demo.Command.Process.Kill()
		t.Fatalf("the process did not reach %s\n%s", at, m.Demo.Log)
	}
	m.KilledAt = time.Now()
	m.Restart(t)
	t.Cleanup(func() {
		if err := m.Demo.Stop(); err != nil {
			t.Error(err)
		}
	})
	m.FinishJobs(t)
	all := m.CheckJobs(t, before)
	if len(all) != 1 || all[0].State != ends || all[0].Completed+all[0].Failed != 1 || len(upstreamRenders(t, m.Gateway, "cut at "+at)) != renders {
		t.Fatalf("the jobs are %+v, of %d renders", all, len(upstreamRenders(t, m.Gateway, "cut at "+at)))
	}
	hear.WaitForEvent(t, "video."+ends, all[0].ID)
	harness.CheckRetriesEqual(t, hear.Received())
}

// paymentIsCut lets the process die between a payment and the credit for it. The next page view or webhook credits it, and
// it is credited once only.
func paymentIsCut(t *testing.T, g *harness.Gateway) {
	var pay struct {
		URL    string `json:"payments_url"`
		Key    string `json:"payments_key"`
		Secret string `json:"payments_secret"`
	}
	if err := json.Unmarshal([]byte(g.ReadFile(t, "ready.json")), &pay); err != nil {
		t.Fatal(err)
	}
	control := func(method, path, body string) string {
		t.Helper()
		return (&harness.Gateway{Ready: harness.Ready{SimulatorURL: pay.URL}}).CallSimulator(t, method, "/_control/"+path, body)
	}
	c := g.NewCustomer(t, "payer")
	v := &victim{beside: g, dir: harness.DataDir(t), dsn: g.DatabaseURL(t), env: []string{
		"UMG_STRIPE_KEY=" + pay.Key, "UMG_STRIPE_WEBHOOK_SECRET=" + pay.Secret, "UMG_STRIPE_URL=" + pay.URL,
	}}
	v.rise(t, "C21:1")
	v.id = strings.TrimSpace(readFile(t, filepath.Join(v.dir, "journal", "replica.id")))
	control("PUT", "webhooks", `{"url":"`+v.ConsoleURL+`/webhooks/payments","hold":true}`)
	p := harness.NewConsoleClient(t, v.Gateway)
	p.SignIn(t, c.Email, c.Password)
	a := p.Visit(t, "/console/billing/topups", url.Values{"amount": {"25"}})
	session := regexp.MustCompile(`/pay/(cs_\w+)`).FindStringSubmatch(a.Header.Get("Refresh"))
	if session == nil {
		t.Fatalf("no checkout: %d %v %s", a.Status, a.Header, a.Body)
	}
	before := c.Balance(t)
	control("POST", "sessions/"+session[1]+"/pay?with=card", "")
	control("POST", "webhooks/release?order=together", "")
	v.dies(t, "C21:1")
	v.rise(t, "")
	control("PUT", "webhooks", `{"url":"`+v.ConsoleURL+`/webhooks/payments","duplicates":2}`)
	for _, id := range regexp.MustCompile(`"event_id":"(evt_\w+)"`).FindAllStringSubmatch(control("GET", "deliveries", ""), -1) {
		control("POST", "events/"+id[1]+"/send", "")
	}
	db := g.DB(t)
	harness.WaitUntil(t, "the payment is credited", func() bool { return c.Balance(t).Posted > before.Posted })
	control("GET", "deliveries?type=checkout.session.completed&status=200&at_least=3&timeout=10s", "")
	var grants int
	if err := db.Get(&grants, `select count(*) from grants where account_id = $1 and kind = 'purchased'`, c.AccountID); err != nil {
		t.Fatal(err)
	}
	if after := c.Balance(t); grants != 1 || after.Posted-before.Posted != 25_000_000_000 || after.Held != before.Held {
		t.Errorf("%d grants, the balance went from %+v to %+v", grants, before, after)
	}
	v.ends(t)
}
