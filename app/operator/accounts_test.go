package operator_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"umg/app"
	"umg/app/operator"
)

// names lists accounts by name.
func (o *office) names(q operator.Query) []string {
	o.t.Helper()
	page, err := o.Accounts(o.t.Context(), q)
	if err != nil {
		o.t.Fatal(err)
	}
	names := []string{}
	for _, a := range page.Accounts {
		names = append(names, a.Name)
	}
	return names
}

func TestAccountsAreFoundByWhatPeopleKnowOfThem(t *testing.T) {
	t.Parallel()
	o := open(t)
	first, _ := o.account("Harbour 100%", "noor@harbour.example", 3*app.Dollar)
	second, shared := o.account("Quarry", "lee_x@quarry.example", 9*app.Dollar)
	third, _ := o.account("Lantern", "kim@lantern.example", 0)
	gone, _ := o.account("Gone", "gone@gone.example", 0)
	o.exec(`insert into memberships (account_id, user_id, role, created_at) values ($1, $2, 'developer', now())`, third, shared)
	o.exec(`update accounts set frozen_at = now(), frozen_reason = 'x' where id = any($1)`, "{"+second+","+gone+"}")
	o.exec(`update accounts set closed_at = now() where id = $1`, gone)
	o.exec(`insert into receivables (account_id, owed_nanos) values ($1, 5), ($2, 0)`, first, second)
	for _, c := range []struct {
		q    operator.Query
		want []string
	}{
		{operator.Query{}, []string{"Gone", "Lantern", "Quarry", "Harbour 100%"}},
		{operator.Query{Sort: operator.Balance}, []string{"Quarry", "Harbour 100%", "Gone", "Lantern"}},
		{operator.Query{Text: " HARBOUR"}, []string{"Harbour 100%"}},
		{operator.Query{Text: "Lee_X@"}, []string{"Lantern", "Quarry"}}, // Any member matches, not only the owner.
		{operator.Query{Text: second}, []string{"Quarry"}},
		{operator.Query{Text: second[:20]}, []string{}},
		{operator.Query{Text: "%"}, []string{"Harbour 100%"}},
		{operator.Query{Text: "a\x00"}, []string{}},
		{operator.Query{State: operator.Frozen}, []string{"Quarry"}},
		{operator.Query{State: operator.Owing}, []string{"Harbour 100%"}},
		{operator.Query{State: operator.Unpaid}, []string{"Lantern"}},
		{operator.Query{State: operator.Unpaid, Text: "harbour"}, []string{}},
	} {
		if got := o.names(c.q); !slices.Equal(got, c.want) {
			t.Errorf("%+v: %q, want %q", c.q, got, c.want)
		}
	}
	page, err := o.Accounts(t.Context(), operator.Query{Text: "lantern"})
	if err != nil || len(page.Accounts) != 1 || page.Accounts[0].People != 2 || page.Accounts[0].Owner != "kim@lantern.example" {
		t.Errorf("%+v, %v", page, err)
	}
	people, err := o.People(t.Context(), third)
	if err != nil || len(people) != 2 || people[0].Role != "owner" || people[1].Email != "lee_x@quarry.example" || people[0].SignedInAt != nil {
		t.Errorf("%+v, %v", people, err)
	}
}

func TestPagesOfAccountsFollowOneAnother(t *testing.T) {
	t.Parallel()
	o := open(t)
	const n = operator.PageMax + 7
	for i := range n {
		o.account(fmt.Sprintf("n%02d", i), fmt.Sprintf("n%02d@example.com", i), app.Amount(1+i%3))
	}
	for _, sort := range []operator.Sort{operator.Newest, operator.Balance} {
		first, err := o.Accounts(t.Context(), operator.Query{Sort: sort})
		if err != nil || len(first.Accounts) != operator.PageMax || !first.More {
			t.Fatalf("%d accounts, more is %v, %v", len(first.Accounts), first.More, err)
		}
		last := first.Accounts[operator.PageMax-1]
		rest, err := o.Accounts(t.Context(), operator.Query{Sort: sort, After: last.ID, Below: last.Balance})
		if err != nil || len(rest.Accounts) != n-operator.PageMax || rest.More {
			t.Fatalf("%d accounts, more is %v, %v", len(rest.Accounts), rest.More, err)
		}
		seen := map[string]bool{}
		all := slices.Concat(first.Accounts, rest.Accounts)
		for i, a := range all {
			seen[a.ID] = true
			if i > 0 && sort == operator.Balance && a.Balance > all[i-1].Balance || i > 0 && sort == operator.Newest && a.ID > all[i-1].ID {
				t.Errorf("%s comes after %s", a.Name, all[i-1].Name)
			}
		}
		if len(seen) != n {
			t.Errorf("%d of %d were listed", len(seen), n)
		}
	}
}

func TestSpendIsThatOfThirtyDays(t *testing.T) {
	t.Parallel()
	o := open(t)
	id, _ := o.account("Harbour", "noor@example.com", app.Dollar)
	for _, s := range []struct {
		ago  time.Duration
		cost app.Amount
	}{{time.Hour, 40}, {29 * 24 * time.Hour, 2}, {31 * 24 * time.Hour, 1000}} {
		o.exec(`insert into usage_rollups (account_id, slot, key_id, model, style, reason, requests, streamed, meters, cost_nanos,
			overrun_nanos, first_byte_micros, duration_micros, failed) select $1, date_bin('15 minutes', $2::timestamptz, '2000-01-01 00:00+00'), 'k', 'm', 'chat', 'r',
			1, 0, '{}', $3, 0, 0, 0, 0`, id, time.Now().Add(-s.ago), int64(s.cost))
	}
	page, err := o.Accounts(t.Context(), operator.Query{})
	if err != nil || page.Spent[id] != 42 {
		t.Errorf("%+v, %v", page, err)
	}
	if one, err := o.Account(t.Context(), id, ""); err != nil || one.Spent == nil || *one.Spent != 42 {
		t.Errorf("%+v, %v", one, err)
	}
	if _, err := o.Account(t.Context(), "acct_none", ""); app.KindOf(err) != app.NotFound {
		t.Errorf("an account that is none: %v", err)
	}
}
