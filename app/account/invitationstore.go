package account

import (
	"context"
	"time"

	"umg/app/postgres"
	"umg/app/seal"
)

// inviteRow is an invitation as the table holds it, with the account it is to.
type inviteRow struct {
	Invitation
	AccountID string  `db:"account_id"`
	Account   string  `db:"account_name"`
	Closed    bool    `db:"closed"`
	Ended     *string `db:"ended"`
}

const inviteColumns = `i.id, i.email, i.role, coalesce(b.email, '') as invited_by, i.created_at, i.sent_at, i.expires_at,
	i.account_id, a.name as account_name, a.closed_at is not null as closed, i.ended`

const inviteFrom = ` from invitations i join accounts a on a.id = i.account_id left join users b on b.id = i.invited_by `

func insertInvitation(ctx context.Context, q postgres.Queryer, accountID, userID string, i Invitation, f seal.Fingerprint) error {
	return postgres.Exec(ctx, q, `
		insert into invitations (id, account_id, email, role, token_hash, invited_by, created_at, sent_at, expires_at)
		values ($1, $2, $3, $4, $5, nullif($6, ''), $7, $7, $8)`,
		i.ID, accountID, i.Email, i.Role, f[:], userID, i.CreatedAt, i.ExpiresAt)
}

// invitationsOf lists those that are open, newest first.
func invitationsOf(ctx context.Context, q postgres.Queryer, accountID, after string, limit int) ([]inviteRow, error) {
	return postgres.Select[inviteRow](ctx, q, `
		select `+inviteColumns+inviteFrom+`
		where i.account_id = $1 and i.ended is null and ($2 = '' or i.id < $2) order by i.id desc limit $3`, accountID, after, limit)
}

func openInvitation(ctx context.Context, q postgres.Queryer, accountID, id string) (inviteRow, error) {
	return postgres.Get[inviteRow](ctx, q, `
		select `+inviteColumns+inviteFrom+`where i.account_id = $1 and i.id = $2 and i.ended is null`, accountID, id)
}

func endInvitation(ctx context.Context, q postgres.Queryer, accountID, id, how string, now time.Time) (bool, error) {
	return postgres.Changed(q.ExecContext(ctx, `
		update invitations set ended = $3, ended_at = $4 where account_id = $1 and id = $2 and ended is null`, accountID, id, how, now))
}

// deleteOldInvitations deletes invitations whose retention time is over.
func deleteOldInvitations(ctx context.Context, q postgres.Queryer, now time.Time, limit int) (int64, error) {
	return postgres.ChangedRows(q.ExecContext(ctx, `
		delete from invitations where id in (
			select id from invitations where expires_at < $1 limit $2 for update skip locked)`, now.Add(-invitationKeptMax), limit))
}
