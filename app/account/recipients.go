package account

import (
	"context"

	"github.com/lib/pq"

	"umg/app"
	"umg/app/postgres"
)

const recipientsMax = 20 // A message about an account has at most this many addresses.

// Recipients returns the addresses of the members with one of the roles, for a notification about their account. It reads them in
// the transaction of the event. Members who switched off mails about the event are left out; an empty event cannot be switched off.
func (s *Service) Recipients(ctx context.Context, q postgres.Queryer, accountID, event string, roles ...app.Role) ([]string, error) {
	addresses, err := postgres.Select[string](ctx, q, `
		select u.email from memberships m join users u on u.id = m.user_id
		where m.account_id = $1 and m.role = any($2) and not exists (
			select 1 from notification_preferences c
			where c.user_id = u.id and c.account_id = m.account_id and c.event = $4 and not c.by_mail)
		order by m.created_at, u.id limit $3`, accountID, pq.Array(roles), recipientsMax, event)
	return addresses, postgres.StoreError("account: find who is to be told", err)
}
