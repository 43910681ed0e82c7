package billing_test

import (
	"testing"
	"time"

	"umg/app"
)

// TestLeasesThatAreLongOverGo keeps what may still matter: open and recently closed leases, and replicas whose journal
// position is recorded.
func TestLeasesThatAreLongOverGo(t *testing.T) {
	t.Parallel()
	h := setup(t)
	account := h.account(app.Dollar)
	old := time.Now().UTC().AddDate(0, 0, -9)
	for _, r := range []struct {
		id, replica, lease string
		applied            int
		touched            time.Time
	}{
		{"rep_gone", "ended", "closed", 0, old},
		{"rep_numbered", "ended", "closed", 7, old},
		{"rep_recent", "ended", "closed", 0, time.Now().UTC()},
		{"rep_open", "live", "open", 0, old},
	} {
		h.exec(`insert into replicas (id, epoch, state, heartbeat_at) values ($1, 1, $2, $3)`, r.id, r.replica, old)
		h.exec(`insert into journal_cursors (replica_id, applied_lsn) values ($1, $2)`, r.id, r.applied)
		h.exec(`insert into leases (replica_id, epoch, credit_account_id, state, touched_at) values ($1, 1, $2, $3, $4)`, r.id, account, r.lease, r.touched)
	}
	for range 2 { // A replica is deleted in the pass after its leases.
		if err := h.ledger.DeleteOldLeases(h.ctx); err != nil {
			t.Fatal(err)
		}
	}
	var left string
	if err := h.db.GetContext(h.ctx, &left, `
		select string_agg(id || (select count(*) from leases l where l.replica_id = r.id), ' ' order by id) from replicas r`); err != nil {
		t.Fatal(err)
	}
	if left != "rep_numbered0 rep_open1 rep_recent1" {
		t.Errorf("left are %s", left)
	}
}
