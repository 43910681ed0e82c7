package account

import (
	"context"
	"time"

	"umg/app"
	"umg/app/postgres"
)

func membershipsOf(ctx context.Context, q postgres.Queryer, userID string) ([]Membership, error) {
	return postgres.Select[Membership](ctx, q, `
		select m.account_id, a.name, m.role, m.created_at from memberships m join accounts a on a.id = m.account_id
		where m.user_id = $1 and a.closed_at is null order by m.created_at, m.account_id limit $2`, userID, membershipsMax)
}

// insertOwnedAccount makes an account with its owner, and reports false for a user who owns as many as they may. It locks the
// user's row, so that parallel calls cannot exceed the limit.
func insertOwnedAccount(ctx context.Context, q postgres.Queryer, userID string, m Membership) (bool, error) {
	if _, err := q.ExecContext(ctx, `select from users where id = $1 for no key update`, userID); err != nil {
		return false, err
	}
	done, err := q.ExecContext(ctx, `
		insert into accounts (id, name, created_at) select $1, $2, $3
		where (select count(*) from memberships s join accounts a on a.id = s.account_id
			where s.user_id = $4 and s.role = 'owner' and a.closed_at is null) < $5`, m.AccountID, m.Name, m.JoinedAt, userID, accountsOwnedMax)
	if made, err := postgres.Changed(done, err); err != nil || !made {
		return false, err
	}
	_, err = q.ExecContext(ctx, `
		insert into memberships (account_id, user_id, role, created_at) values ($1, $2, $3, $4)`, m.AccountID, userID, m.Role, m.JoinedAt)
	return err == nil, err
}

const memberColumns = `m.user_id, u.email, u.name, m.role, m.created_at,
	exists(select from totp_secrets t where t.user_id = u.id and t.enabled_at is not null) as two_factor`

// membersOf lists members in the order in which they joined, after one of them if there is such a one.
func membersOf(ctx context.Context, q postgres.Queryer, accountID, after string, limit int) ([]Member, error) {
	return postgres.Select[Member](ctx, q, `
		select `+memberColumns+` from memberships m join users u on u.id = m.user_id
		where m.account_id = $1 and ($2 = '' or (m.created_at, m.user_id) > (
			select a.created_at, a.user_id from memberships a where a.account_id = $1 and a.user_id = $2))
		order by m.created_at, m.user_id limit $3`, accountID, after, limit)
}

func memberByID(ctx context.Context, q postgres.Queryer, accountID, userID string) (Member, error) {
	return postgres.Get[Member](ctx, q, `
		select `+memberColumns+` from memberships m join users u on u.id = m.user_id
		where m.account_id = $1 and m.user_id = $2`, accountID, userID)
}

// lockAccount lets one transaction at a time change who belongs to an account that is not closed, and returns its name.
func lockAccount(ctx context.Context, q postgres.Queryer, accountID string) (string, error) {
	return postgres.Get[string](ctx, q, `select name from accounts where id = $1 and closed_at is null for no key update`, accountID)
}

func insertMembership(ctx context.Context, q postgres.Queryer, accountID, userID string, role app.Role, now time.Time) error {
	return postgres.Exec(ctx, q, `
		insert into memberships (account_id, user_id, role, created_at) values ($1, $2, $3, $4)`, accountID, userID, role, now)
}
