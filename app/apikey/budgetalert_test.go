package apikey

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"umg/app"
	"umg/billing"
)

// spendBudget makes it look as if so much of a key's budget was spent in this period.
func (b bundle) spendBudget(t *testing.T, keyID string, spent app.Amount) {
	t.Helper()
	_, err := b.db.Exec(`update key_budgets set spent_nanos = $2 where key_id = $1`, keyID, int64(spent))
	must(t, err)
}

func TestPeopleHearOnceOfEachShareOfABudgetThatIsSpent(t *testing.T) {
	t.Parallel()
	b, post, u := proving(t, "ada@example.com")
	p := u.Principal()
	dev := b.joins(t, u.AccountID, "dev@example.com", app.RoleDeveloper)
	b.joins(t, u.AccountID, "nosy@example.com", app.RoleDeveloper)
	deaf := b.joins(t, u.AccountID, "deaf@example.com", app.RoleAdmin)
	_, err := b.db.Exec(`insert into notification_preferences (user_id, account_id, event, by_mail, in_console) values ($1, $2, 'key_budget', false, true)`,
		deaf.ID, u.AccountID)
	must(t, err)
	maker := p
	maker.UserID = dev.ID
	k, _ := b.key(t, maker, Spec{Name: "busy", Budget: &billing.Allowance{Limit: app.Dollar, Period: billing.EachMonth}})
	told := 0
	look := func(what string, want ...string) {
		t.Helper()
		b.clock.Advance(budgetAlertEvery)
		must(t, b.keys.sendBudgetAlerts(t.Context()))
		must(t, b.keys.sendBudgetAlerts(t.Context())) // This is another replica, or the next round.
		var got []string
		mails, err := post.Outbox(t.Context(), 200)
		must(t, err)
		for _, m := range mails {
			if m.Kind == budgetEvent {
				_, said, _ := strings.Cut(m.Subject, "busy” has spent ")
				got = append(got, m.To+" "+said)
			}
		}
		fresh := got[:len(got)-told]
		slices.Sort(fresh)
		if told = len(got); !slices.Equal(fresh, want) {
			t.Errorf("%s: told %q, want %q", what, fresh, want)
		}
	}
	both := func(said string) []string { return []string{"ada@example.com " + said, "dev@example.com " + said} }
	b.spendBudget(t, k.ID, 799_999_999)
	look("just below")
	b.spendBudget(t, k.ID, 800_000_000)
	look("four fifths", both("80% of its budget")...)
	b.spendBudget(t, k.ID, app.Dollar)
	look("all of it", both("its budget")...)
	bigger := &billing.Allowance{Limit: 2 * app.Dollar, Period: billing.EachMonth}
	_, err = b.keys.Update(t.Context(), p, k.ID, Patch{Budget: &bigger, BudgetAlerts: &[]int{90, 50, 50}})
	must(t, err)
	look("half of a larger one, which is alerted now")
	b.spendBudget(t, k.ID, 1_800_000_000)
	look("nine tenths of it", both("90% of its budget")...)
	_, err = b.db.Exec(`update key_budgets set spent_nanos = 1000000000, period_start = period_start + interval '1 month'`)
	must(t, err)
	look("half of the next period", both("50% of its budget")...)
	_, err = b.keys.Update(t.Context(), p, k.ID, Patch{BudgetAlerts: &[]int{}})
	must(t, err)
	b.spendBudget(t, k.ID, 2*app.Dollar)
	look("alerts are switched off")
	if changes, _ := b.entry(t, "key.updated", k.ID); len(changes) != 1 || changes[0].From != "50%, 90%" || changes[0].To != "none" {
		t.Errorf("the audit log says %+v", changes)
	}
}

func TestAlertsAreSharesOfABudget(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p := b.fundedMember(t, "ada@example.com")
	usual, _ := b.key(t, p, Spec{Name: "usual"})
	silent, _ := b.key(t, p, Spec{Name: "silent", BudgetAlerts: []int{}})
	if fmt.Sprint(usual.BudgetAlerts, silent.BudgetAlerts) != "[80 100] []" {
		t.Errorf("%v, %v", usual.BudgetAlerts, silent.BudgetAlerts)
	}
	if k, err := b.keys.Update(t.Context(), p, silent.ID, Patch{Name: new("renamed")}); err != nil || len(k.BudgetAlerts) != 0 {
		t.Errorf("another change brought alerts: %v, %v", k.BudgetAlerts, err)
	}
	for _, wrong := range [][]int{{0}, {101}, {-1, 50}, {1, 2, 3, 4, 5, 6, 7, 8, 9}} {
		_, err := b.keys.Update(t.Context(), p, usual.ID, Patch{BudgetAlerts: &wrong})
		if e := wantError(t, err, app.Invalid, "invalid_value"); e.Param != "budget_alerts" {
			t.Errorf("%v: at %q", wrong, e.Param)
		}
	}
	for _, c := range []struct {
		limit, spent app.Amount
		want         int
	}{{100, 79, 0}, {100, 80, 80}, {3, 2, 0}, {3, 3, 100}, {billing.AllowanceMax, billing.AllowanceMax / 5 * 4, 80}, {billing.AllowanceMax, billing.AllowanceMax/5*4 - 1, 0}, {0, 5, 0}} {
		if got := (billing.Budget{Limit: c.limit, Spent: c.spent}).Reached([]int{80, 100}); got != c.want {
			t.Errorf("%d of %d passes %d, want %d", c.spent, c.limit, got, c.want)
		}
	}
}
