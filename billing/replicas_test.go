package billing_test

import (
	"testing"

	"umg/app"
)

func TestReplicasAreToldWhileTheyLiveOrHaveLeftSomething(t *testing.T) {
	t.Parallel()
	h := setup(t)
	creditAccountID := h.account(10 * app.Dollar)
	for _, r := range []struct{ id, state, heard string }{
		{"live", "live", "1 second"}, {"left", "lost", "3 days"}, {"lost", "lost", "2 hours"}, {"gone", "lost", "2 days"}, {"ended", "ended", "1 minute"},
	} {
		h.exec(`insert into replicas (id, epoch, state, heartbeat_at) values ($1, 2, $2, now() - $3::interval)`, r.id, r.state, r.heard)
	}
	for _, l := range []struct {
		replica string
		epoch   int
		state   string
	}{{"live", 2, "open"}, {"left", 2, "open"}, {"gone", 2, "reclaimed"}, {"live", 1, "closed"}} {
		h.exec(`insert into leases (replica_id, epoch, credit_account_id, granted_nanos, spent_nanos, state) values ($1, $2, $3, 9, 4, $4)`,
			l.replica, l.epoch, creditAccountID, l.state)
	}
	h.exec(`insert into call_checkpoints (request_id, replica_id, epoch, record) values ('req_1', 'left', 2, '{}'), ('req_2', 'live', 2, '{}')`)
	list, err := h.ledger.Replicas(t.Context())
	if err != nil || len(list) != 3 || list[0].ID != "live" || list[1].ID != "lost" || list[2].ID != "left" {
		t.Fatalf("%+v, %v", list, err)
	}
	if r := list[0]; r.Left != 0 || r.Leases != 0 || r.Marks != 0 || r.State != "live" {
		t.Errorf("what runs counts as left: %+v", r)
	}
	if r := list[2]; r.Left != 5 || r.Leases != 1 || r.Marks != 1 {
		t.Errorf("left: %+v", r)
	}
}
