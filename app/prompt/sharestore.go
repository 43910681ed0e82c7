package prompt

import (
	"context"
	"time"

	"umg/app/postgres"
)

// shareRow is a link as the table holds it.
type shareRow struct {
	ID        string     `db:"id"`
	Number    int        `db:"number"`
	Author    string     `db:"author"`
	CreatedAt time.Time  `db:"created_at"`
	ExpiresAt time.Time  `db:"expires_at"`
	ViewedAt  *time.Time `db:"viewed_at"`
}

func insertShare(ctx context.Context, q postgres.Queryer, accountID, promptID, authorID string, hash []byte, s shareRow) error {
	return postgres.Exec(ctx, q, `
		insert into prompt_shares (id, account_id, prompt_id, number, token_hash, author, created_at, expires_at)
		values ($1, $2, $3, $4, $5, $6, $7, $8)`, s.ID, accountID, promptID, s.Number, hash, authorID, s.CreatedAt, s.ExpiresAt)
}

// liveShares lists the links of a prompt that still work, the newest first.
func liveShares(ctx context.Context, q postgres.Queryer, accountID, promptID string, now time.Time) ([]shareRow, error) {
	return postgres.Select[shareRow](ctx, q, `
		select s.id, s.number, coalesce(nullif(u.name, ''), u.email, '') as author, s.created_at, s.expires_at, s.viewed_at
		from prompt_shares s left join users u on u.id = s.author
		where s.account_id = $1 and s.prompt_id = $2 and s.revoked_at is null and s.expires_at > $3 order by s.id desc limit $4`,
		accountID, promptID, now, sharesMax)
}

// dropShares deletes links that ended so long ago that their retention time is over.
func dropShares(ctx context.Context, q postgres.Queryer, accountID, promptID string, before time.Time) error {
	return postgres.Exec(ctx, q, `
		delete from prompt_shares where account_id = $1 and prompt_id = $2 and least(expires_at, revoked_at) < $3`, accountID, promptID, before)
}

// revokeShare returns the name of the prompt that the link showed.
func revokeShare(ctx context.Context, q postgres.Queryer, accountID, promptID, id string, now time.Time) (string, error) {
	return postgres.Get[string](ctx, q, `
		update prompt_shares s set revoked_at = $4 from prompts p
		where p.id = s.prompt_id and s.account_id = $1 and s.prompt_id = $2 and s.id = $3 and s.revoked_at is null returning p.name`,
		accountID, promptID, id, now)
}

// sharedRow is what a link shows.
type sharedRow struct {
	ID        string     `db:"id"`
	Name      string     `db:"name"`
	Document  string     `db:"content"`
	ExpiresAt time.Time  `db:"expires_at"`
	ViewedAt  *time.Time `db:"viewed_at"`
}

// sharedByHash finds what a link shows, for anybody. Nothing of accounts that are closed or frozen is shown.
func sharedByHash(ctx context.Context, q postgres.Queryer, hash []byte, now time.Time) (sharedRow, error) {
	return postgres.Get[sharedRow](ctx, q, `
		select s.id, p.name, v.content, s.expires_at, s.viewed_at
		from prompt_shares s join prompts p on p.id = s.prompt_id
			join prompt_versions v on v.prompt_id = s.prompt_id and v.number = s.number join accounts a on a.id = s.account_id
		where s.token_hash = $1 and s.revoked_at is null and s.expires_at > $2 and a.closed_at is null and a.frozen_at is null`, hash, now)
}

func markViewed(ctx context.Context, q postgres.Queryer, id string, now time.Time) error {
	return postgres.Exec(ctx, q, `update prompt_shares set viewed_at = greatest(viewed_at, $2) where id = $1`, id, now)
}
