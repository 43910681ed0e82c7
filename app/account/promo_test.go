package account

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"umg/app"
	"umg/billing"
)

func TestACodeIsRedeemedOnceByEachAccountAndNeverTooOften(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const times, accounts, each = 3, 6, 3
	_, err := b.CreatePromo(t.Context(), Promo{
		Code: "spring-2027", Amount: 7 * app.Dollar, Times: times, Days: 30, CreatedBy: "op", ExpiresAt: b.clock.Now().Add(time.Hour),
	})
	must(t, err)
	var won atomic.Int32
	var all sync.WaitGroup
	owners := make([]User, accounts)
	for i := range owners {
		owners[i] = b.member(t, fmt.Sprintf("u%d@example.com", i))
		must(t, b.ledger.OpenAccount(t.Context(), b.db, owners[i].AccountID))
		for range each {
			all.Go(func() {
				got, err := b.RedeemPromo(t.Context(), owners[i].Principal(), " Spring 2027 ")
				if err == nil {
					won.Add(1)
				}
				if code := app.AsError(err); err != nil && code.Code != "promo_redeemed" && code.Code != "promo_used_up" {
					t.Errorf("redeem: %v", err)
				}
				if err == nil && (got.Amount != 7*app.Dollar || !got.ExpiresAt.Equal(b.clock.Now().AddDate(0, 0, 30))) {
					t.Errorf("got %+v", got)
				}
			})
		}
	}
	all.Wait()
	var given app.Amount
	for _, u := range owners {
		c, err := b.ledger.Credit(t.Context(), u.AccountID)
		if err != nil || c.Granted != 0 && c.Granted != 7*app.Dollar {
			t.Errorf("credit of %s: %+v, %v", u.Email, c, err)
		}
		given += c.Granted
	}
	if won.Load() != times || given != times*7*app.Dollar {
		t.Errorf("%d redemptions gave $%s", won.Load(), given)
	}
	if list, err := b.Promos(t.Context()); err != nil || len(list) != 1 || list[0].Redeemed != times || list[0].Code != "SPRING2027" {
		t.Errorf("%+v, %v", list, err)
	}
}

func TestCodesAreNotGuessedAndEnd(t *testing.T) {
	t.Parallel()
	b := setup(t)
	u := b.member(t, "ada@example.com")
	dev := b.joined(t, u.AccountID, "dev@example.com", app.RoleDeveloper)
	must(t, b.ledger.OpenAccount(t.Context(), b.db, u.AccountID))
	_, err := b.CreatePromo(t.Context(), Promo{Code: "GOODCODE", Amount: app.Dollar, Times: 9, ExpiresAt: b.clock.Now().Add(time.Hour)})
	must(t, err)
	_, err = b.RedeemPromo(t.Context(), dev.Principal(), "GOODCODE")
	wantError(t, err, app.Forbidden, "role_not_allowed")
	must(t, b.EndPromo(t.Context(), "good code", "op"))
	_, err = b.RedeemPromo(t.Context(), u.Principal(), "GOODCODE")
	wantError(t, err, app.NotFound, "promo_not_found")
	for range promoAccount.free {
		if _, err = b.RedeemPromo(t.Context(), u.Principal(), "WRONGCODE"); app.KindOf(err) == app.Exhausted {
			break
		}
	}
	if _, err = b.RedeemPromo(t.Context(), u.Principal(), "WRONGCODE"); app.KindOf(err) != app.Exhausted {
		t.Errorf("codes can be guessed on and on: %v", err)
	}
}

func TestTheSpendLimitIsSetByThoseWhoMayAndStandsInTheAuditLog(t *testing.T) {
	t.Parallel()
	b := setup(t)
	u := b.member(t, "ada@example.com")
	dev := b.joined(t, u.AccountID, "dev@example.com", app.RoleDeveloper)
	must(t, b.ledger.OpenAccount(t.Context(), b.db, u.AccountID))
	hundred := &billing.Allowance{Limit: 100 * app.Dollar, Period: billing.EachMonth}
	wantError(t, b.SetSpendLimit(t.Context(), dev.Principal(), hundred), app.Forbidden, "role_not_allowed")
	wantError(t, b.SetSpendLimit(t.Context(), u.Principal(), &billing.Allowance{Limit: 1, Period: billing.InTotal}), app.Invalid, "invalid_value")
	must(t, b.SetSpendLimit(t.Context(), u.Principal(), hundred))
	if s, err := b.SpendLimit(t.Context(), dev.Principal()); err != nil || s.Limit != 100*app.Dollar || s.Left() != 100*app.Dollar {
		t.Errorf("%+v, %v", s, err)
	}
	if e := b.log(t, u.AccountID, "billing.spend_limit_changed"); len(e.Changes) != 1 || e.Changes[0].To != "$100 month" {
		t.Errorf("%+v", e)
	}
	must(t, b.SetSpendLimit(t.Context(), u.Principal(), nil))
	if s, err := b.SpendLimit(t.Context(), u.Principal()); err != nil || s.Set() {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestACodeThatWasMadeUpCanBeUsedAndWhoEndsACodeIsKept(t *testing.T) {
	t.Parallel()
	b := setup(t)
	code, err := b.NewPromoCode()
	must(t, err)
	_, err = b.CreatePromo(t.Context(), Promo{Code: code, Amount: app.Dollar, Times: 1, CreatedBy: "op", ExpiresAt: b.clock.Now().Add(time.Hour)})
	must(t, err)
	for _, by := range []string{"grace@example.com", "late@example.com"} {
		must(t, b.EndPromo(t.Context(), code, by))
	}
	p, err := b.FindPromo(t.Context(), code)
	if err != nil || p.Code != code || len(code) != promoMadeLength || p.EndedBy != "grace@example.com" || !p.ExpiresAt.Equal(b.clock.Now()) {
		t.Errorf("%+v, %v", p, err)
	}
	_, err = b.FindPromo(t.Context(), "NOSUCHCODE")
	wantError(t, err, app.NotFound, "promo_not_found")
}
