package lease_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"umg/app"
	"umg/billing"
	"umg/billing/lease"
)

func TestAReclaimedLeaseIsChargedFromWhatIsFree(t *testing.T) {
	t.Parallel()
	v := openVault(t)
	account := v.account(1000)
	dead, other := v.register("dead"), v.register("other")
	v.take(dead, account, 600, 600)
	v.exec(`update replicas set heartbeat_at = now() - interval '2 minutes' where id = 'dead'`)
	if lost, err := v.bank.Reap(t.Context(), 85*time.Second); err != nil || lost != 1 {
		t.Fatalf("%d lost, %v", lost, err)
	}
	v.balance(account, 1000, 0)
	if err := v.bank.Renew(t.Context(), dead); !errors.Is(err, lease.ErrFenced) {
		t.Errorf("a lost run renews: %v", err)
	}
	if _, err := v.bank.Return(t.Context(), dead, account, 1); !errors.Is(err, lease.ErrFenced) {
		t.Errorf("a lost run returns: %v", err)
	}
	v.take(other, account, 900, 900)
	v.apply(dead, v.settlement(dead, account, 80, 70), v.settlement(dead, account, 80, 70))
	v.balance(account, 900, 900)
	if loss := v.internal("internal:platform_loss"); loss != -40 {
		t.Errorf("the platform lost %d, want 40", -loss)
	}
	if c := v.bank.Counts(); c.Late != 2 || c.Overruns != 1 {
		t.Errorf("counts %+v", c)
	}
	v.books()
}

func TestTooLittleRecallsWhatOthersHold(t *testing.T) {
	t.Parallel()
	v := openVault(t)
	account := v.account(1000)
	one, two := v.register("one"), v.register("two")
	row := v.take(one, account, 700, 1000)
	if row.Granted != 700 || !row.ReturnImmediately {
		t.Errorf("a small account is granted %+v", row)
	}
	_, err := v.bank.Take(t.Context(), two, lease.TakeRequest{CreditAccountID: account, Need: 301})
	var short *lease.InsufficientCredit
	if !errors.As(err, &short) || !short.Elsewhere || short.Balance.Available() != 300 {
		t.Fatalf("short: %v", err)
	}
	_, err = v.bank.Take(t.Context(), one, lease.TakeRequest{CreditAccountID: account, Need: 301})
	if !errors.As(err, &short) || short.Elsewhere {
		t.Errorf("its own credit is elsewhere: %v", err)
	}
	for r, want := range map[lease.Replica][]string{one: {account}, two: nil} {
		if recalled, err := v.bank.Recalled(t.Context(), r); err != nil || !slices.Equal(recalled, want) {
			t.Errorf("of %s the leases of %v are recalled, %v", r.ID, recalled, err)
		}
	}
	if _, err := v.bank.Return(t.Context(), one, account, 500); err != nil {
		t.Fatal(err)
	}
	v.take(two, account, 301, 301)
	v.balance(account, 1000, 501)
	if _, err := v.bank.Take(t.Context(), one, lease.TakeRequest{CreditAccountID: "acc_none", Need: 1}); err == nil || app.KindOf(err) != app.Internal {
		t.Errorf("take from an unknown account: %v", err)
	}
	v.books()
}

func TestAFrozenAccountIsGrantedNothing(t *testing.T) {
	t.Parallel()
	v := openVault(t)
	account := v.account(app.Dollar)
	v.exec(`insert into accounts (id, created_at) values ($1, now())`, account)
	r := v.register("one")
	v.take(r, account, 1, 1)
	if err := v.ledger.Freeze(t.Context(), v.db, account, "a dispute"); err != nil {
		t.Fatal(err)
	}
	if _, err := v.bank.Take(t.Context(), r, lease.TakeRequest{CreditAccountID: account, Need: 1}); err == nil || app.KindOf(err) != app.Forbidden {
		t.Errorf("a frozen account: %v", err)
	}
	var recalled bool
	if err := v.db.GetContext(t.Context(), &recalled, `select recall_at is not null from leases where credit_account_id = $1`, account); err != nil || !recalled {
		t.Errorf("recalled %t, %v", recalled, err)
	}
}

func TestABudgetPaysFromItsLeaseAndNeverBlocks(t *testing.T) {
	t.Parallel()
	v := openVault(t)
	account, key := v.account(app.Dollar), v.ids.New("key")
	r := v.register("one")
	if err := v.ledger.OpenBudget(t.Context(), v.db, billing.Budget{KeyID: key, AccountID: account, Limit: 100, Period: billing.EachDay}); err != nil {
		t.Fatal(err)
	}
	v.take(r, account, 1000, 1000)
	v.take(r, key, 60, 60)
	v.apply(r, v.settlementOf("req_1", r, account, key, 60, 50))
	v.balance(key, 50, 10)
	v.apply(r, v.settlementOf("req_2", r, account, key, 80, 70)) // The settlement costs more than the budget has left.
	v.balance(key, 0, 0)
	v.apply(r, v.settlementOf("req_3", r, account, key, 80, 70))
	v.balance(key, 0, 0)
	budgets, err := v.ledger.Budgets(t.Context(), account)
	if err != nil || budgets[key].Spent != 190 {
		t.Errorf("budgets %+v, %v", budgets, err)
	}
	v.balance(account, app.Dollar-190, 810)
	v.books()
}

func TestMarksWaitForTheirSettlement(t *testing.T) {
	t.Parallel()
	v := openVault(t)
	account := v.account(app.Dollar)
	r := v.register("one")
	v.take(r, account, 1000, 1000)
	mark := func(id string, cost app.Amount) []byte { return v.settlementOf(id, r, account, "", 100, cost) }
	first := lease.Batch{Marks: [][]byte{mark("req_1", 0), mark("req_2", 0)}}
	second := lease.Batch{Marks: [][]byte{mark("req_2", 20)}, Records: [][]byte{mark("req_1", 10)}}
	for _, batch := range []lease.Batch{first, second, {Marks: [][]byte{mark("req_1", 5)}}} {
		if _, err := v.bank.Apply(t.Context(), r, batch); err != nil {
			t.Fatal(err)
		}
	}
	next := v.register("one")
	marks, err := v.bank.Marks(t.Context(), next)
	if err != nil || len(marks) != 1 {
		t.Fatalf("%d marks, %v", len(marks), err)
	}
	cut, err := billing.DecodeSettlement(marks[0])
	if err != nil || cut.Hold.ID != "req_2" || cut.Settlement.Cost != 20 || cut.Hold.Epoch != r.Epoch {
		t.Fatalf("the mark is %+v, %v", cut, err)
	}
	v.apply(next, cut.Settlement.Encode(cut.Hold, cut.ReplicaID, time.Now()))
	if err := v.bank.Retire(t.Context(), next); err != nil {
		t.Fatal(err)
	}
	if marks, err := v.bank.Marks(t.Context(), next); err != nil || len(marks) != 0 {
		t.Errorf("%d marks are left, %v", len(marks), err)
	}
	v.balance(account, app.Dollar-30, 0)
	v.books()
}

// oldSettlement is a settlement in the format of releases that had a member for each meter. It lacks what differs between calls.
const oldSettlement = `{"started_at":"2026-11-01T10:00:00Z","day":"2026-11-01","request_id":%q,"account_id":%q,"budget_id":"","replica_id":%q,` +
	`"key_id":"k","model":"m","provider":"p","upstream_model":"u","style":"chat","rate_card_id":"c","end_user":"","finish_reason":"stop",` +
	`"error_code":"","outcome":"succeeded","reason":"completed","epoch":%d,"reserved_nanos":9,"cost_nanos":7,"overrun_nanos":0,"attempts":2,` +
	`"input_tokens":1,"cache_read_tokens":2,"cache_write_tokens":0,"output_tokens":4,"reasoning_tokens":0,"images":0,"milliseconds":0,` +
	`"characters":0,"requests":1,"first_byte_micros":5,"duration_micros":6,"streamed":true,"estimated":false}`

// TestSettlementsOfEarlierReleasesAreApplied applies a journal that an earlier release has left, with settlements of this release among
// them, and a mark that it left in the database.
func TestSettlementsOfEarlierReleasesAreApplied(t *testing.T) {
	t.Parallel()
	v := openVault(t)
	account := v.account(app.Dollar)
	r := v.register("one")
	v.take(r, account, 1000, 1000)
	old := func(id string) []byte { return fmt.Appendf(nil, oldSettlement, id, account, r.ID, r.Epoch) }
	batch := lease.Batch{To: 3, Records: [][]byte{old("req_1"), v.settlementOf("req_2", r, account, "", 100, 50), old("req_3")}}
	if at, err := v.bank.Apply(t.Context(), r, batch); err != nil || at != 3 {
		t.Fatalf("applied up to %d, %v", at, err)
	}
	v.exec(`insert into call_checkpoints (request_id, replica_id, epoch, record) values ('req_4', $1, $2, $3)`, r.ID, r.Epoch, string(old("req_4")))
	next := v.register("one")
	marks, err := v.bank.Marks(t.Context(), next)
	if err != nil || len(marks) != 1 {
		t.Fatalf("%d marks, %v", len(marks), err)
	}
	v.apply(next, marks...)
	if err := v.bank.Retire(t.Context(), next); err != nil {
		t.Fatal(err)
	}
	var rows []string
	err = v.db.Select(&rows, `select request_id || ' ' || cost_nanos || ' ' || meters::text from usage_records order by 1`)
	if want := []string{
		"req_1 7 {1,2,0,4,0,0,0,0,1}", "req_2 50 {}", "req_3 7 {1,2,0,4,0,0,0,0,1}", "req_4 7 {1,2,0,4,0,0,0,0,1}",
	}; err != nil || !slices.Equal(rows, want) {
		t.Errorf("records are %q, %v; want %q", rows, err, want)
	}
	v.balance(account, app.Dollar-71, 0)
	v.books()
}
