package billing_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/postgres"
	"umg/billing"
)

// holdJob holds credit for a job in its own transaction.
func (h *fixture) holdJob(account, id string, want app.Amount) (hold billing.Hold, err error) {
	err = postgres.InTx(h.ctx, h.db, func(tx *sqlx.Tx) (err error) {
		hold, err = h.ledger.HoldFor(h.ctx, tx, billing.HoldRequest{ID: id, AccountID: account, Want: want}, time.Hour)
		return err
	})
	return hold, err
}

func (h *fixture) settleJob(hold billing.Hold, cost app.Amount) error {
	return postgres.InTx(h.ctx, h.db, func(tx *sqlx.Tx) error {
		return h.ledger.SettleIn(h.ctx, tx, hold, billing.Settlement{Cost: cost, Record: record(hold)})
	})
}

func TestAJobIsHeldAndChargedWithWhatHappensBesideIt(t *testing.T) {
	t.Parallel()
	h := setup(t)
	account := h.account(app.Dollar)
	undone := errors.New("the transaction fails")
	err := postgres.InTx(h.ctx, h.db, func(tx *sqlx.Tx) error {
		if _, err := h.ledger.HoldFor(h.ctx, tx, billing.HoldRequest{ID: "video_0", AccountID: account, Want: app.Cent}, time.Hour); err != nil {
			return err
		}
		return undone
	})
	if !errors.Is(err, undone) {
		t.Fatal(err)
	}
	h.balance(account, app.Dollar, 0)
	hold, err := h.holdJob(account, "video_1", 80*app.Cent)
	if err != nil {
		t.Fatal(err)
	}
	h.balance(account, app.Dollar, 80*app.Cent)
	if _, err := h.holdJob(account, "video_2", 21*app.Cent); !isUnfunded(err) {
		t.Errorf("a job beyond the balance: %v", err)
	}
	err = postgres.InTx(h.ctx, h.db, func(tx *sqlx.Tx) error {
		if err := h.ledger.SettleIn(h.ctx, tx, hold, billing.Settlement{Cost: 80 * app.Cent, Record: record(hold)}); err != nil {
			return err
		}
		return undone
	})
	if !errors.Is(err, undone) {
		t.Fatal(err)
	}
	h.balance(account, app.Dollar, 80*app.Cent)
	if err := h.settleJob(hold, 80*app.Cent); err != nil {
		t.Fatal(err)
	}
	h.balance(account, 20*app.Cent, 0)
	h.books()
}

func TestARenewedJobSurvivesTheReleaseOfExpiredHolds(t *testing.T) {
	t.Parallel()
	h := setup(t)
	account := h.account(app.Dollar)
	hold, err := h.holdJob(account, "video_1", app.Cent)
	if err != nil {
		t.Fatal(err)
	}
	h.exec(`update holds set expires_at = expires_at - interval '50 minutes' where id = $1`, hold.ID)
	h.sweep()
	h.balance(account, app.Dollar, app.Cent)
	h.exec(`update holds set expires_at = expires_at - interval '10 minutes' where id = $1`, hold.ID)
	h.sweep()
	h.balance(account, app.Dollar, 0)
	if err := h.settleJob(hold, app.Cent); err != nil { // The settlement is late, so free credit pays for it.
		t.Fatal(err)
	}
	h.balance(account, 99*app.Cent, 0)
	h.books()
}

func TestOneOfManyEndsOfAJobIsCharged(t *testing.T) {
	t.Parallel()
	h := setup(t)
	account := h.account(app.Dollar)
	hold, err := h.holdJob(account, "video_1", 40*app.Cent)
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for i := range 50 {
		group.Go(func() {
			if err := h.settleJob(hold, app.Amount(i%2)*40*app.Cent); err != nil {
				t.Errorf("settle: %v", err)
			}
		})
	}
	group.Wait()
	b, err := h.ledger.Balance(t.Context(), account)
	if err != nil || b.Held != 0 || b.Posted != app.Dollar && b.Posted != 60*app.Cent {
		t.Errorf("balance %+v, %v", b, err)
	}
	h.books()
}

func TestAJobThatIsAskedForWronglyIsRefused(t *testing.T) {
	t.Parallel()
	h := setup(t)
	account := h.account(app.Dollar)
	for name, r := range map[string]billing.HoldRequest{
		"no id": {AccountID: account, Want: 1}, "less than nothing": {ID: "video_1", AccountID: account, Want: -1},
	} {
		if _, err := h.ledger.HoldFor(t.Context(), h.db, r, time.Hour); err == nil {
			t.Errorf("%s: held", name)
		}
	}
	if _, err := h.ledger.HoldFor(t.Context(), h.db, billing.HoldRequest{ID: "video_1", AccountID: account}, time.Second); err == nil {
		t.Error("a job of a second is held")
	}
	if _, err := h.holdJob("acc_unknown", "video_1", 1); err == nil {
		t.Error("an unknown account holds")
	}
	if err := h.settleJob(billing.Hold{ID: "video_9", AccountID: account}, 0); err == nil {
		t.Error("a hold that does not exist is settled")
	}
	h.balance(account, app.Dollar, 0)
}

// TestAJobOfAnUnchargedAccountCostsNothing holds and settles a job of an account without credit.
func TestAJobOfAnUnchargedAccountCostsNothing(t *testing.T) {
	t.Parallel()
	h := setup(t)
	account := h.account(0)
	var hold billing.Hold
	err := postgres.InTx(h.ctx, h.db, func(tx *sqlx.Tx) (err error) {
		hold, err = h.ledger.HoldFor(h.ctx, tx, billing.HoldRequest{ID: "video_1", AccountID: account, Want: app.Dollar, Uncharged: true}, time.Hour)
		return err
	})
	if err != nil || hold.Amount != 0 {
		t.Fatalf("hold %+v, %v", hold, err)
	}
	hold.Uncharged = false // The row of the job does not have it.
	for range 2 {
		if err := h.settleJob(hold, 80*app.Cent); err != nil {
			t.Fatal(err)
		}
	}
	h.balance(account, 0, 0)
	u, err := h.reports.Record(h.ctx, account, hold.ID)
	if err != nil || u.Cost != 0 || u.Overrun != 0 || !u.HasFlag(billing.FlagUncharged) {
		t.Errorf("record %+v, %v", u, err)
	}
	if n, err := h.entries(account); err != nil || len(n) != 0 || h.internal("internal:platform_loss") != 0 {
		t.Errorf("entries %+v, %v", n, err)
	}
	h.books()
}
