package account

import (
	"fmt"
	"testing"
	"time"

	"umg/app"
)

// TestAnAccountHasNoMoreMembersThanItMay fills an account before an invitation to it is accepted.
func TestAnAccountHasNoMoreMembersThanItMay(t *testing.T) {
	t.Parallel()
	b, post := verifying(t)
	owner := b.proven(t, b.member(t, "owner@example.com"))
	_, err := b.Invite(t.Context(), owner.Principal(), "new@example.com", app.RoleDeveloper)
	must(t, err)
	token := invited(t, post, "new@example.com")
	for n := range membersMax - 1 {
		id := fmt.Sprintf("user_%d", n)
		b.db.MustExec(`insert into users (id, email, password_hash, created_at) values ($1, $1 || '@example.com', '', now())`, id)
		b.db.MustExec(`insert into memberships (account_id, user_id, role, created_at) values ($1, $2, 'developer', now())`, owner.AccountID, id)
	}
	u := b.member(t, "new@example.com")
	must(t, b.ledger.OpenAccount(t.Context(), b.db, u.AccountID))
	b.clock.Advance(time.Second)
	_, err = b.Accept(t.Context(), u.Principal(), token)
	wantError(t, err, app.Conflict, "too_many_members")
}
