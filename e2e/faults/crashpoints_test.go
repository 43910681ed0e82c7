package faults

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"
	"umg/e2e/harness"
)

const (
	// tokensLostMax is the number of tokens that may be delivered and not charged, after any crash.
	tokensLostMax = 64
	deathMax      = 30 * time.Second
	crashTokens   = 300
	crashPrompt   = "simulate: pace=1ms\ncount to 300"
)

// failpointBinary builds the gateway with crash points, once.
var failpointBinary = sync.OnceValues(func() (string, error) {
	dir, err := harness.MakeTempDir()
	if err != nil {
		return "", err
	}
	program := filepath.Join(dir, "gateway-failpoints")
	cmd := exec.Command("go", "build", "-tags", "failpoints", "-o", program, "./cmd/gateway")
	cmd.Dir = "../.."
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", errors.Join(err, errors.New(string(out)))
	}
	return program, nil
})

// victim is a replica with a folder of its own, which is killed and started again.
type victim struct {
	harness.Replica

	beside *harness.Gateway
	dir    string
	dsn    string
	args   []string
	env    []string
	// id is the id of the replica in its journal.
	id string
}

// victimOf starts a replica that dies at a point, as in C6:3, or only when it is killed.
func victimOf(t *testing.T, beside *harness.Gateway, at string, args ...string) *victim {
	t.Helper()
	v := &victim{beside: beside, dir: harness.DataDir(t), dsn: beside.DatabaseURL(t), args: args}
	v.rise(t, at)
	v.id = strings.TrimSpace(readFile(t, filepath.Join(v.dir, "journal", "replica.id")))
	t.Cleanup(func() {
		if v.Command.ProcessState == nil {
			_ = v.Command.Process.Kill()
			<-v.Exited
		}
	})
	return v
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// rise starts the process on its folder. When it takes calls it has recovered.
func (v *victim) rise(t *testing.T, at string) {
	t.Helper()
	if err := v.tryRise(t, at); err != nil {
		t.Fatal(err)
	}
}

func (v *victim) tryRise(t *testing.T, at string) error {
	t.Helper()
	bin, err := failpointBinary()
	if err != nil {
		t.Fatal(err)
	}
	env := v.env
	if at != "" {
		env = append([]string{"UMG_FAILPOINT=" + at}, env...)
	}
	p, err := harness.TryReplicaBinary(bin, env, v.dsn, v.beside, append([]string{"--data", v.dir}, v.args...)...)
	v.Replica = p
	return err
}

// dies waits until the process has killed itself at the point.
func (v *victim) dies(t *testing.T, at string) {
	t.Helper()
	select {
	case <-v.Exited:
	case <-time.After(deathMax):
		t.Fatalf("the process did not reach %s\n%s", at, v.Log)
	}
	v.killedAt(t, at)
}

func (v *victim) killedAt(t *testing.T, at string) {
	t.Helper()
	name, _, _ := strings.Cut(at, ":")
	status, _ := v.Command.ProcessState.Sys().(syscall.WaitStatus)
	if !status.Signaled() || status.Signal() != syscall.SIGKILL || !strings.Contains(v.Log.String(), "dying at "+name+":") {
		t.Fatalf("the process ended otherwise than at %s: %v\n%s", at, v.Command.ProcessState, v.Log)
	}
}

// kill ends the process from outside.
func (v *victim) kill(t *testing.T) {
	t.Helper()
	if err := v.Command.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-v.Exited
}

// seen is what the client of a call got before its server was gone.
type seen struct {
	id   string
	text string
	// whole is true when the stream had its end.
	whole bool
}

var tokenSeen = regexp.MustCompile(`"content":" ?(\d+)"`)

// tokens is how many tokens of a count the client has.
func (s seen) tokens() int64 { return int64(len(tokenSeen.FindAllString(s.text, -1))) }

// count asks the victim for a stream, or an answer in one piece, and reads as far as it gets.
func (v *victim) count(t *testing.T, prompt string, stream bool) (got seen) {
	t.Helper()
	members := []string{}
	if stream {
		members = append(members, `"stream":true`, `"stream_options":{"include_usage":true}`)
	}
	ctx, cancel := context.WithTimeout(context.Background(), harness.CallTimeMax)
	defer cancel()
	req, err := v.NewRequest(ctx, http.MethodPost, harness.ChatPath, harness.ChatRequest(harness.CheapModel, prompt, members...))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := harness.HTTPClient.Do(req)
	if err != nil {
		return got
	}
	defer resp.Body.Close()
	got.id = resp.Header.Get("X-Request-Id")
	text, err := io.ReadAll(resp.Body)
	got.text, got.whole = string(text), !stream && err == nil || strings.Contains(string(text), "[DONE]")
	return got
}

// charge is what the database has about a request of a replica.
type charge struct {
	ID        string `db:"request_id"`
	Reason    string
	Outcome   string
	Estimated bool
	Output    int64 `db:"output_tokens"`
	Cost      int64 `db:"cost_nanos"`
	Overrun   int64 `db:"overrun_nanos"`
}

func (v *victim) charges(t *testing.T, db *sqlx.DB) (all []charge) {
	t.Helper()
	if err := db.Select(&all, `select request_id, reason, outcome, estimated, coalesce(meters[4], 0) as output_tokens, cost_nanos, overrun_nanos
		from usage_records where replica_id = $1 order by request_id`, v.id); err != nil {
		t.Fatal(err)
	}
	return all
}

// returned insists that nothing is left in leases of the replica's runs before this one.
func (v *victim) returned(t *testing.T, db *sqlx.DB) {
	t.Helper()
	var open, left int64
	if err := db.QueryRow(`select count(*) filter (where l.state = 'open'), coalesce(sum(l.remaining_nanos) filter (where l.state = 'open'), 0)
		from leases l join replicas r on r.id = l.replica_id where l.replica_id = $1 and l.epoch < r.epoch`, v.id).Scan(&open, &left); err != nil {
		t.Fatal(err)
	}
	if open > 0 {
		t.Errorf("%d leases of the dead run still have %d", open, left)
	}
}

// ends stops the victim in order, which gives everything back.
func (v *victim) ends(t *testing.T) {
	t.Helper()
	if err := v.Stop(); err != nil {
		t.Error(err)
	}
	var held int64
	if err := v.DB(t).Get(&held, `select coalesce(sum(remaining_nanos), 0)::bigint from leases where replica_id = $1 and state = 'open'`, v.id); err != nil || held != 0 {
		t.Errorf("%d nano-dollars are held by a replica that ended in order, %v", held, err)
	}
}

// journalRecord is the position of a record in a file of the journal.
type journalRecord struct {
	at, size int
	kind     byte
}

// journalOf reads the newest file of a journal by its layout: a header of 512 bytes, then records of a length, 20 bytes
// more of prefix and the data, each at a multiple of eight.
func (v *victim) journalOf(t *testing.T) (path string, text []byte, all []journalRecord) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(v.dir, "journal", "*.journal"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no journal: %v", err)
	}
	for _, path = range files {
		text = []byte(readFile(t, path))
		for at := 512; at+24 < len(text); {
			n := int(binary.LittleEndian.Uint32(text[at:]))
			if n == 0 {
				break
			}
			all = append(all, journalRecord{at, 24 + n, text[at+20]})
			at += (24 + n + 7) / 8 * 8
		}
		if len(all) > 0 {
			return path, text, all
		}
	}
	t.Fatal("the journal is empty")
	return "", nil, nil
}

// tear loses the last record of the journal, which must be a settlement: all of it, as a power cut does with what was not
// synced, or its second half.
func (v *victim) tear(t *testing.T, half bool) {
	t.Helper()
	path, text, all := v.journalOf(t)
	last := all[len(all)-1]
	if last.kind != 'S' || len(all) < 3 {
		t.Fatalf("the journal ends with a record of kind %q after %d others", last.kind, len(all)-1)
	}
	from := last.at
	if half {
		from += last.size / 2
	}
	copy(text[from:], bytes.Repeat([]byte{0}, last.at+last.size-from))
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// crash is a point at which the process dies under one call, and what the books must say of the call afterwards.
type crash struct {
	at     string
	stream bool
	// reasons are those allowed for the one usage record, separated by spaces. They include "none" where there may be no record.
	reasons string
	// whole is true when the client has the end of its answer.
	whole bool
	// torn is what the test does to the journal between the kill and the restart.
	torn string
}

var crashes = map[string][]crash{
	"C0":  {{at: "C0:1", stream: true, reasons: "none"}},
	"C1":  {{at: "C1:1", stream: true, reasons: "none"}},
	"C2":  {{at: "C2:1", reasons: "none"}},
	"C3":  {{at: "C3:1", stream: true, reasons: "none crashed_unanswered"}},
	"C4":  {{at: "C4:4", stream: true, reasons: "crashed"}},
	"C5":  {{at: "C5:1", stream: true, reasons: "crashed"}, {at: "C5:1", reasons: "none crashed_unanswered"}},
	"C6":  {{at: "C6:1", stream: true, reasons: "crashed completed"}, {at: "C7:1", stream: true, reasons: "crashed", torn: "lost"}},
	"C7":  {{at: "C7:1", stream: true, reasons: "completed"}, {at: "C7:1", reasons: "completed"}},
	"C8":  {{at: "C7:1", stream: true, reasons: "crashed", torn: "half"}},
	"C9":  {{at: "C9:1", stream: true, reasons: "completed", whole: true}},
	"C10": {{at: "C10:1", stream: true, reasons: "completed"}},
}

// run lets the process die and start again, and holds the books against what the client has.
func (c crash) run(t *testing.T, g *harness.Gateway) {
	db := g.DB(t)
	v := victimOf(t, g, c.at)
	got := v.count(t, crashPrompt, c.stream)
	v.dies(t, c.at)
	if c.torn != "" {
		v.tear(t, c.torn == "half")
	}
	v.rise(t, "")
	v.returned(t, db)
	c.judge(t, got, v.charges(t, db))
	v.ends(t)
}

func (c crash) judge(t *testing.T, got seen, all []charge) {
	t.Helper()
	if len(all) > 1 || len(all) == 0 && !strings.Contains(c.reasons, "none") {
		t.Fatalf("the call has the records %+v", all)
	}
	if got.whole && !c.whole && c.at != "C10:1" || !got.whole && c.whole {
		t.Errorf("the client has the end of the answer: %v", got.whole)
	}
	if len(all) == 0 {
		if got.tokens() > 0 {
			t.Errorf("%d tokens are not charged", got.tokens())
		}
		return
	}
	r := all[0]
	if !strings.Contains(" "+c.reasons+" ", " "+r.Reason+" ") || r.Overrun != 0 {
		t.Errorf("the record is %+v, not one of %s", r, c.reasons)
	}
	switch r.Reason {
	case "completed":
		if r.Output != crashTokens || r.Cost == 0 || r.Estimated || r.Outcome != "succeeded" {
			t.Errorf("the whole answer is recorded as %+v", r)
		}
	case "crashed":
		if r.Output > got.tokens() || got.tokens()-r.Output > tokensLostMax || r.Cost == 0 || !r.Estimated || r.Outcome != "cut" {
			t.Errorf("%d tokens were delivered, recorded is %+v", got.tokens(), r)
		}
	default:
		if got.tokens() > 0 || r.Cost != 0 || r.Output != 0 || r.Outcome != "failed" {
			t.Errorf("%d tokens were delivered, recorded is %+v", got.tokens(), r)
		}
	}
	if got.id != "" && got.id != r.ID {
		t.Errorf("the call is %s, the record %s", got.id, r.ID)
	}
	if got.whole {
		if shown := harness.StreamCost(t, got.text); shown != r.Cost {
			t.Errorf("%d was shown, %d is charged", shown, r.Cost)
		}
	}
	t.Logf("%s: the client has %d tokens, whole %v; %s charges %s", c.at, got.tokens(), got.whole, r.Reason, strconv.FormatInt(r.Output, 10))
}

// TestCrashPoint takes a replica through every crash point of the design: it dies there, is started again on its folder,
// and the books say of its calls what was promised.
func TestCrashPoint(t *testing.T) {
	t.Parallel()
	g := harness.StartDemo(t, "--token-interval", "0s")
	account, before := g.DemoAccountID(t), g.DemoBalance(t)
	t.Cleanup(func() {
		if t.Failed() {
			return
		}
		var charged int64
		if err := g.DB(t).Get(&charged, `select coalesce(sum(cost_nanos), 0)::bigint from usage_records where account_id = $1`, account); err != nil {
			t.Fatal(err)
		}
		if b := g.SettledBalance(t, account); before.Posted-b.Posted != charged || b.Held != 0 {
			t.Errorf("the balance went from %+v to %+v, and %d are charged", before, b, charged)
		}
		g.CheckLedger(t)
	})
	for _, p := range crashPoints {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			for _, c := range crashes[p.name] {
				c.run(t, g)
			}
			if p.drive != nil {
				p.drive(t, g)
			}
		})
	}
}
