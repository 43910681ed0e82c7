package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// reapTimeMax is how long the other replicas may take to give up a lost one. A replica that has just started gives up none before it
// has run for as long as leases are trusted.
const reapTimeMax = 150 * time.Second

// TestFaultReplicaNeverReturns kills a replica under streams and leaves its folder to itself. When it has been silent for
// long enough the other replica gives the credit of its leases back, at no charge, since no process knows what was delivered.
// When the folder turns up after all, what its journal knows to be delivered is charged.
func TestFaultReplicaNeverReturns(t *testing.T) {
	t.Parallel()
	g := running(t)
	slow := once("test/lost-replica")
	g.addModels(t, model{id: slow, upstream: "sim+pace=20ms", provider: "meridian"})
	c := g.newCustomer(t, "lost-replica")
	data := dataDir(t)
	p := c.replicaOn(t, data)
	before := c.balanceOf(t, c.accountID)
	dead := p.openStreams(t, 5, ask(slow, "count to 900", `"stream":true`))
	for i := range dead {
		dead[i].readUntil(t, `" 80"`)
	}
	p.kill(t)
	for i := range dead {
		if err := dead[i].end(); err == nil {
			t.Error("a stream of a dead gateway ended well")
		}
	}
	if _, leased := c.balanceNow(t, c.accountID); leased == 0 {
		t.Error("the credit of the dead calls is free before the replica counts as lost")
	}
	name, err := os.ReadFile(filepath.Join(data, "journal", "replica.id"))
	if err != nil {
		t.Fatal(err)
	}
	id := strings.TrimSpace(string(name))
	db := c.db(t)
	db.MustExec(`update replicas set heartbeat_at = now() - interval '86 seconds' where id = $1`, id)
	var state string
	for deadline := time.Now().Add(reapTimeMax); state != "lost"; time.Sleep(50 * time.Millisecond) {
		if err := db.Get(&state, `select state from replicas where id = $1`, id); err != nil || time.Now().After(deadline) {
			t.Fatalf("the replica is %s, %v", state, err)
		}
	}
	if after := c.balanceOf(t, c.accountID); after != before {
		t.Errorf("after the replica was lost the balance is %+v, not %+v", after, before)
	}
	decodeCompletion(t, c.call(t, "POST", "/v1/chat/completions", ask(cheapModel, "echo: the others go on")))
	before = c.balanceOf(t, c.accountID)

	c.replicaOn(t, data).stopAtEnd(t)
	var charged int64
	for _, s := range dead {
		charged += c.chargedAtItsMark(t, s.id, s.delivered())
	}
	if after := c.balanceOf(t, c.accountID); before.Posted-after.Posted != charged || after.Held != 0 {
		t.Errorf("%d charged late, balance %+v → %+v", charged, before, after)
	}
	c.books(t)
}
