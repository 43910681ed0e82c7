package console

import (
	"slices"
	"strings"
	"testing"

	"umg/e2e/harness"
)

// TestAuditTellsWhatOperatorsDoByCommand runs the commands of operators, and reads in the account's log what they did, with
// which command and why.
func TestAuditTellsWhatOperatorsDoByCommand(t *testing.T) {
	t.Parallel()
	g := harness.SharedDemo(t)
	c := g.NewCustomer(t, "commanded")
	env := []string{"DATABASE_URL=" + g.DatabaseURL(t)}
	for _, args := range [][]string{
		{"credit", "grant", c.Email, "2.5", "--reason", "a gift"}, {"credit", "debit", c.Email, "1", "--reason", "a mistake"},
		{"account", "freeze", c.Email, "--reason", "a question"}, {"account", "unfreeze", c.Email}, {"account", "set-limit-multiplier", c.Email, "3"}, {"operator", "add", c.Email},
	} {
		if out, status := harness.RunCommand(t, env, args...); status != 0 {
			t.Fatalf("%v: %s", args, out)
		}
	}
	if out, status := harness.RunCommand(t, env, "credit", "debit", c.Email, "1000000", "--reason", "too much"); status == 0 {
		t.Error(out)
	}
	var got []string
	err := c.DB(t).SelectContext(t.Context(), &got, `
		select action || ' by ' || agent || ' ' || coalesce((
			select string_agg(f->>'field' || '=' || (f->>'from') || '>' || (f->>'to'), ' ' order by f->>'field') from jsonb_array_elements(changes) f), '')
		from audit_entries where account_id = $1 and actor = 'operator' order by id`, c.AccountID)
	if err != nil {
		t.Fatal(err)
	}
	for i := range got {
		got[i] = strings.TrimSpace(got[i])
	}
	want := []string{
		"billing.credit_granted by gateway credit grant amount=>$2.5 reason=>a gift",
		"billing.credit_taken by gateway credit debit amount=>$1 reason=>a mistake",
		"account.frozen by gateway account freeze reason=>a question", "account.unfrozen by gateway account unfreeze",
		"account.settings_changed by gateway account set-limit-multiplier limit_factor=1>3", "user.made_operator by gateway operator add",
	}
	if !slices.Equal(got, want) {
		t.Errorf("the log says\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
