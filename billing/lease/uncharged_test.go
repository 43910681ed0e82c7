package lease

import (
	"errors"
	"testing"
	"time"

	"umg/app"
	"umg/billing"
)

// TestAnUnchargedAccountNeedsNoCredit makes calls of an account without credit, with a budget that is used up and a spend limit.
func TestAnUnchargedAccountNeedsNoCredit(t *testing.T) {
	t.Parallel()
	for name, journaled := range map[string]bool{"journal": true, "database": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openShop(t)
			if err := s.ledger.OpenAccount(t.Context(), s.db, "acc_free"); err != nil {
				t.Fatal(err)
			}
			manager, stop := s.open("one", journaled)
			r := billing.HoldRequest{ID: "req_1", AccountID: "acc_free", BudgetID: "key_none", Want: 1000, Uncharged: true}
			if err := manager.CheckCredit(t.Context(), r); err != nil {
				t.Errorf("its credit is checked: %v", err)
			}
			hold, err := manager.Hold(t.Context(), r)
			if err != nil || hold.Amount != 1000 || !hold.Uncharged {
				t.Fatalf("hold %+v, %v", hold, err)
			}
			if err := manager.Extend(t.Context(), &hold, 500); err != nil || hold.Amount != 1500 {
				t.Fatalf("extended hold %+v, %v", hold, err)
			}
			settlement := billing.Settlement{Cost: 2000, Delivered: true, Record: billing.UsageRecord{
				RequestID: "req_1", Model: "aurora", Outcome: "succeeded", Reason: string(billing.ReasonCompleted),
				Costs: billing.Costs{UpstreamCost: new(app.Amount(1900)), CostCardID: "card_1"}, Flags: billing.FlagUnpriced,
			}}
			manager.Progress(hold, settlement)
			if err := manager.Settle(t.Context(), hold, settlement); err != nil {
				t.Fatal(err)
			}
			if b := s.balance("acc_free"); b.Posted != 0 || b.Held != 0 {
				t.Errorf("balance %+v", b)
			}
			stop()
			rows := s.records("acc_free")
			if len(rows) != 1 {
				t.Fatalf("%d records", len(rows))
			}
			u := rows[0].Record()
			if u.Cost != 0 || u.Overrun != 0 || u.Reserved != 0 || u.UpstreamCost == nil || *u.UpstreamCost != 1900 || u.TransactionID != "" ||
				!u.HasFlag(billing.FlagUncharged) || !u.HasFlag(billing.FlagUnpriced) {
				t.Errorf("record %+v", u)
			}
			var entries, leases int
			err = errors.Join(s.db.Get(&entries, `select count(*) from ledger_entries`), s.db.Get(&leases, `select count(*) from leases`))
			if err != nil || entries != 0 || leases != 0 {
				t.Errorf("%d entries and %d leases, %v", entries, leases, err)
			}
			s.books()
		})
	}
}

// TestAnUnchargedCallThatWasCutIsNotCharged settles a call from its last mark after a crash.
func TestAnUnchargedCallThatWasCutIsNotCharged(t *testing.T) {
	t.Parallel()
	hold := billing.Hold{ID: "req_1", AccountID: "acc_free", Amount: 1000, Epoch: 3, Uncharged: true}
	marked := billing.Settlement{Cost: 700, Record: billing.UsageRecord{RequestID: "req_1", StartedAt: time.Now()}}.
		Encode(hold, "one", time.Now())
	read, err := billing.DecodeSettlement(marked)
	if err != nil || !read.Hold.Uncharged || read.Settlement.Cost != 0 {
		t.Fatalf("read %+v, %v", read, err)
	}
	if again := read.Settlement.Encode(read.Hold, read.ReplicaID, time.Time{}); string(again) != string(marked) {
		t.Errorf("encoded %s\nagain   %s", marked, again)
	}
}

func (s *shop) records(account string) (rows []billing.UsageRow) {
	s.Helper()
	if err := s.db.SelectContext(s.Context(), &rows, `select `+billing.UsageColumns+` from usage_records where account_id = $1`, account); err != nil {
		s.Fatal(err)
	}
	return rows
}
