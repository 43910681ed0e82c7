package account

import (
	"context"

	"github.com/lib/pq"

	"umg/app/postgres"
)

const recipientsMax = 20 // of one message about an account

// Recipients are the addresses of the members with one of the roles, who are to be told something about their account. They
// are read in the transaction that makes it true.
func (s *Service) Recipients(ctx context.Context, q postgres.Queryer, accountID string, roles ...Role) ([]string, error) {
	addresses, err := recipients(ctx, q, accountID, roles)
	return addresses, storeError("find who is to be told", err)
}

func recipients(ctx context.Context, q postgres.Queryer, accountID string, roles []Role) (addresses []string, err error) {
	err = q.SelectContext(ctx, &addresses, `
		select u.email from memberships m join users u on u.id = m.user_id
		where m.account_id = $1 and m.role = any($2) order by m.created_at, u.id limit $3`, accountID, pq.Array(roles), recipientsMax)
	return addresses, err
}
