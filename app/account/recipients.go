package account

import (
	"context"

	"github.com/lib/pq"

	"umg/app/postgres"
)

const recipientsMax = 20 // of one message about an account

// Recipients are the addresses of the members with one of the roles, who are to be told something about their account. They
// are read in the transaction that makes it true. Whoever chose no mails about the event is left out; one that nobody can
// choose about is empty.
func (s *Service) Recipients(ctx context.Context, q postgres.Queryer, accountID, event string, roles ...Role) ([]string, error) {
	addresses, err := recipients(ctx, q, accountID, event, roles)
	return addresses, storeError("find who is to be told", err)
}

func recipients(ctx context.Context, q postgres.Queryer, accountID, event string, roles []Role) (addresses []string, err error) {
	err = q.SelectContext(ctx, &addresses, `
		select u.email from memberships m join users u on u.id = m.user_id
		where m.account_id = $1 and m.role = any($2) and not exists (
			select 1 from notice_choices c
			where c.user_id = u.id and c.account_id = m.account_id and c.event = $4 and not c.by_mail)
		order by m.created_at, u.id limit $3`, accountID, pq.Array(roles), recipientsMax, event)
	return addresses, err
}
