package account

import (
	"slices"
	"testing"
	"time"

	"umg/app"
	"umg/app/audit"
)

// command is where an operator's deed comes from.
var command = app.Origin{Agent: "gateway test"}

// told are the entries of an account's log, oldest first.
func (b bundle) told(t *testing.T, accountID string) (list []audit.Entry) {
	t.Helper()
	page, err := b.audit.List(t.Context(), accountID, audit.Filter{Limit: 100})
	must(t, err)
	for _, e := range slices.Backward(page.Entries) {
		list = append(list, e)
	}
	return list
}

func TestAnAccountIsToldThatItsLimitsWereChanged(t *testing.T) {
	t.Parallel()
	b := setup(t)
	u := b.member(t, "ada@example.com")
	p := app.Principal{AccountID: u.AccountID, From: command}
	for _, factor := range []int{1, 7, 7} { // only one of them changes something
		must(t, b.SetLimitFactor(t.Context(), p, factor))
	}
	wantError(t, b.SetLimitFactor(t.Context(), p, 0), app.Invalid, "invalid_value")
	wantError(t, b.SetLimitFactor(t.Context(), app.Principal{AccountID: "acct_none"}, 2), app.NotFound, "account_not_found")
	if got, err := b.User(t.Context(), u.ID); err != nil || got.LimitFactor != 7 {
		t.Errorf("%+v, %v", got, err)
	}
	list := b.told(t, u.AccountID)
	if len(list) != 1 || list[0].Action != "account.settings_changed" || list[0].Actor != audit.ByOperator || list[0].Agent != "gateway test" ||
		len(list[0].Changes) != 1 || list[0].Changes[0] != (audit.Change{Field: "limit_factor", From: "1", To: "7"}) {
		t.Errorf("%+v", list)
	}
}

func TestEveryAccountOfAUserIsToldThatTheyRunTheGateway(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada, bob := b.member(t, "ada@example.com"), b.member(t, "bob@example.com")
	b.db.MustExec(`insert into memberships (account_id, user_id, role, created_at) values ($1, $2, 'developer', $3)`,
		bob.AccountID, ada.ID, b.clock.Now().Add(time.Minute))
	for range 2 { // the second changes nothing
		must(t, b.MakeOperator(t.Context(), command, ada.Email))
	}
	for _, account := range []string{ada.AccountID, bob.AccountID} {
		list := b.told(t, account)
		if len(list) != 1 || list[0].Action != "user.made_operator" || list[0].Actor != audit.ByOperator || list[0].Object != ada.ID ||
			list[0].Name != ada.Email || list[0].Agent != "gateway test" {
			t.Errorf("%s is told %+v", account, list)
		}
	}
}

func TestOnlyThoseOfTheRolesAreRecipients(t *testing.T) {
	t.Parallel()
	b := setup(t)
	owner, admin, developer := b.member(t, "owner@example.com"), b.member(t, "admin@example.com"), b.member(t, "developer@example.com")
	for i, u := range []User{admin, developer} {
		b.db.MustExec(`insert into memberships (account_id, user_id, role, created_at) values ($1, $2, $3, $4)`,
			owner.AccountID, u.ID, []Role{Admin, Developer}[i], b.clock.Now().Add(time.Duration(i+1)*time.Minute))
	}
	got, err := b.Recipients(t.Context(), b.db, owner.AccountID, Owner, Admin)
	if err != nil || len(got) != 2 || got[0] != owner.Email || got[1] != admin.Email {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := b.Recipients(t.Context(), b.db, "acct_none", Owner); err != nil || len(got) != 0 {
		t.Errorf("%q, %v", got, err)
	}
}
