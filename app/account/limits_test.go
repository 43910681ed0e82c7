package account

import (
	"slices"
	"testing"
	"time"

	"umg/app"
	"umg/app/audit"
)

// command is the source of an operator's action.
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
	for _, factor := range []int{1, 7, 7} { // Only the first 7 is a change.
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

func TestAnAccountIsToldThatItIsNotCharged(t *testing.T) {
	t.Parallel()
	b := setup(t)
	u := b.member(t, "ada@example.com")
	p := app.Principal{AccountID: u.AccountID, From: command}
	for _, uncharged := range []bool{false, true, true} { // Only the first true is a change.
		must(t, b.SetUncharged(t.Context(), p, uncharged))
	}
	wantError(t, b.SetUncharged(t.Context(), app.Principal{AccountID: "acct_none"}, true), app.NotFound, "account_not_found")
	got, err := b.User(t.Context(), u.ID)
	if err != nil || !got.Uncharged || !got.Principal().Uncharged {
		t.Errorf("%+v, %v", got, err)
	}
	if got.Frozen = true; got.Principal().Uncharged {
		t.Error("a frozen account needs no credit, so nothing refuses its calls")
	}
	list := b.told(t, u.AccountID)
	if len(list) != 1 || list[0].Action != "account.settings_changed" || list[0].Actor != audit.ByOperator ||
		len(list[0].Changes) != 1 || list[0].Changes[0] != (audit.Change{Field: "uncharged", From: "false", To: "true"}) {
		t.Errorf("%+v", list)
	}
}

func TestEveryAccountOfAUserIsToldThatTheyRunTheGateway(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada, bob := b.member(t, "ada@example.com"), b.member(t, "bob@example.com")
	b.db.MustExec(`insert into memberships (account_id, user_id, role, created_at) values ($1, $2, 'developer', $3)`,
		bob.AccountID, ada.ID, b.clock.Now().Add(time.Minute))
	for range 2 { // The second call changes nothing.
		must(t, b.MakeOperator(t.Context(), command, ada.Email))
	}
	for _, account := range []string{ada.AccountID, bob.AccountID} {
		list := b.told(t, account)
		if len(list) != 1 || list[0].Action != "user.made_operator" || list[0].Actor != audit.ByOperator || list[0].Object != ada.ID ||
			list[0].Name != ada.Email || list[0].Agent != "gateway test" {
			t.Errorf("%s is notified of %+v", account, list)
		}
	}
}

func TestOnlyThoseOfTheRolesAreRecipients(t *testing.T) {
	t.Parallel()
	b := setup(t)
	owner, admin, developer := b.member(t, "owner@example.com"), b.member(t, "admin@example.com"), b.member(t, "developer@example.com")
	for i, u := range []User{admin, developer} {
		b.db.MustExec(`insert into memberships (account_id, user_id, role, created_at) values ($1, $2, $3, $4)`,
			owner.AccountID, u.ID, []app.Role{app.RoleAdmin, app.RoleDeveloper}[i], b.clock.Now().Add(time.Duration(i+1)*time.Minute))
	}
	got, err := b.Recipients(t.Context(), b.db, owner.AccountID, "webhook", app.RoleOwner, app.RoleAdmin)
	if err != nil || len(got) != 2 || got[0] != owner.Email || got[1] != admin.Email {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := b.Recipients(t.Context(), b.db, "acct_none", "", app.RoleOwner); err != nil || len(got) != 0 {
		t.Errorf("%q, %v", got, err)
	}
}

func TestAnAccountAsksForHigherLimitsOnceAtATime(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada, other, op := b.member(t, "ada@example.com"), b.member(t, "other@example.com"), b.member(t, "op@example.com")
	must(t, b.SetLimitFactor(t.Context(), app.Principal{AccountID: ada.AccountID, From: command}, 3))
	p := ada.Principal()
	for name, ask := range map[string]struct {
		times  int
		reason string
	}{"times": {1, "x"}, "reason": {2, " "}} {
		_, err := b.AskLimits(t.Context(), p, "", ask.times, ask.reason)
		if app.AsError(err).Param != name {
			t.Errorf("%s: %v", name, err)
		}
	}
	asked, err := b.AskLimits(t.Context(), p, "aurora-large", 5, "A launch on Monday.")
	if err != nil || asked.FactorThen != 3 || asked.Factor != 15 || asked.Email != ada.Email {
		t.Fatalf("%+v, %v", asked, err)
	}
	_, err = b.AskLimits(t.Context(), p, "", 2, "And more.")
	wantError(t, err, app.Conflict, "limit_request_open")
	if list, err := b.LimitRequests(t.Context(), other.AccountID); err != nil || len(list) != 0 {
		t.Errorf("a stranger sees %+v, %v", list, err)
	}
	wantError(t, b.AnswerLimits(t.Context(), op, command, asked.ID, LimitDone, ""), app.NotFound, "not_found")
	op.Operator = true
	wantError(t, b.AnswerLimits(t.Context(), op, command, asked.ID, "open", ""), app.Invalid, "invalid_value")
	must(t, b.AnswerLimits(t.Context(), op, command, asked.ID, LimitDone, "Have fun."))
	wantError(t, b.AnswerLimits(t.Context(), op, command, asked.ID, LimitDeclined, ""), app.NotFound, "limit_request_not_found")
	list, err := b.AllLimitRequests(t.Context())
	if err != nil || len(list) != 1 || list[0].State != LimitDone || list[0].Answer != "Have fun." || list[0].AnsweredBy != op.Email ||
		list[0].FactorNow != 3 || list[0].Account == "" {
		t.Errorf("%+v, %v", list, err)
	}
	if _, err := b.AskLimits(t.Context(), p, "", 2, "And more."); err != nil {
		t.Errorf("a second one after the answer: %v", err)
	}
	actions := map[audit.Action]int{}
	for _, e := range b.told(t, ada.AccountID) {
		actions[e.Action]++
	}
	if actions["account.limits_requested"] != 2 || actions["account.limits_answered"] != 1 {
		t.Errorf("the log tells %v", actions)
	}
}
