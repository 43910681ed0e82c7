package account

import (
	"context"

	"umg/app/postgres"
)

func membershipsOf(ctx context.Context, q postgres.Queryer, userID string) (list []Membership, err error) {
	err = q.SelectContext(ctx, &list, `
		select m.account_id, a.name, m.role, m.created_at from memberships m join accounts a on a.id = m.account_id
		where m.user_id = $1 and a.closed_at is null order by m.created_at, m.account_id limit $2`, userID, membershipsMax)
	return list, err
}

// insertOwnedAccount makes an account with its owner, and reports false for a user who owns as many as they may. The
// user's row is locked meanwhile, so that many at once do not add up to more.
func insertOwnedAccount(ctx context.Context, q postgres.Queryer, userID string, m Membership) (bool, error) {
	if _, err := q.ExecContext(ctx, `select from users where id = $1 for no key update`, userID); err != nil {
		return false, err
	}
	done, err := q.ExecContext(ctx, `
		insert into accounts (id, name, created_at) select $1, $2, $3
		where (select count(*) from memberships s join accounts a on a.id = s.account_id
			where s.user_id = $4 and s.role = 'owner' and a.closed_at is null) < $5`, m.AccountID, m.Name, m.JoinedAt, userID, accountsOwnedMax)
	if made, err := changed(done, err); err != nil || !made {
		return false, err
	}
	_, err = q.ExecContext(ctx, `
		insert into memberships (account_id, user_id, role, created_at) values ($1, $2, $3, $4)`, m.AccountID, userID, m.Role, m.JoinedAt)
	return err == nil, err
}
