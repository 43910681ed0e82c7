package faults

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"umg/e2e/harness"
)

// reapTimeMax is how long the other replicas may take to give up a lost one. A replica that has just started gives up none before it
// has run for as long as leases are trusted.
const reapTimeMax = 150 * time.Second

// TestFaultReplicaNeverReturns kills a replica under streams and leaves its folder to itself. When it has been silent for
// long enough the other replica gives the credit of its leases back, at no charge, since no process knows what was delivered.
// When the folder turns up after all, what its journal knows to be delivered is charged.
func TestFaultReplicaNeverReturns(t *testing.T) {
	t.Parallel()
	g := harness.SharedDemo(t)
	slow := harness.UniqueName("test/lost-replica")
	g.AddModels(t, harness.Model{ID: slow, UpstreamModel: "sim+pace=20ms", Provider: "meridian"})
	c := g.NewCustomer(t, "lost-replica")
	data := harness.DataDir(t)
	p := replicaOn(t, c.Gateway, data)
	before := c.SettledBalance(t, c.AccountID)
	dead := p.OpenStreams(t, 5, harness.ChatRequest(slow, "count to 900", `"stream":true`))
	for i := range dead {
		readUntil(t, &dead[i], `" 80"`)
	}
	p.Kill(t)
	for i := range dead {
		if err := readToEnd(&dead[i]); err == nil {
			t.Error("a stream of a dead gateway ended well")
		}
	}
	if _, leased := c.BalanceNow(t, c.AccountID); leased == 0 {
		t.Error("the credit of the dead calls is free before the replica counts as lost")
	}
	name, err := os.ReadFile(filepath.Join(data, "journal", "replica.id"))
	if err != nil {
		t.Fatal(err)
	}
	id := strings.TrimSpace(string(name))
	db := c.DB(t)
	db.MustExec(`update replicas set heartbeat_at = now() - interval '86 seconds' where id = $1`, id)
	var state string
	for deadline := time.Now().Add(reapTimeMax); state != "lost"; time.Sleep(50 * time.Millisecond) {
		if err := db.Get(&state, `select state from replicas where id = $1`, id); err != nil || time.Now().After(deadline) {
			t.Fatalf("the replica is %s, %v", state, err)
		}
	}
	if after := c.SettledBalance(t, c.AccountID); after != before {
		t.Errorf("after the replica was lost the balance is %+v, not %+v", after, before)
	}
	harness.DecodeCompletion(t, c.Call(t, "POST", "/v1/chat/completions", harness.ChatRequest(harness.CheapModel, "echo: the others go on")))
	before = c.SettledBalance(t, c.AccountID)

	replicaOn(t, c.Gateway, data).StopAtEnd(t)
	var charged int64
	for _, s := range dead {
		charged += chargedAtItsMark(t, c.Gateway, s.RequestID, deliveredTokens(&s))
	}
	if after := c.SettledBalance(t, c.AccountID); before.Posted-after.Posted != charged || after.Held != 0 {
		t.Errorf("%d charged late, balance %+v → %+v", charged, before, after)
	}
	c.CheckLedger(t)
}
