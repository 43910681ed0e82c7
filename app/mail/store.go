package mail

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/app/postgres"
)

const columns = `id, kind, recipient, subject, body_text, body_html, body_sealed, state, attempts, due_at, last_error, created_at, ended_at`

func byID(ctx context.Context, db *sqlx.DB, id string) (m Mail, found bool, err error) {
	err = db.GetContext(ctx, &m, `select `+columns+` from mails where id = $1`, id)
	if errors.Is(err, sql.ErrNoRows) {
		return m, false, nil
	}
	return m, err == nil, err
}

// claimed is a mail that this replica may send until the claim ends. The end also tells this claim from a later one.
type claimed struct {
	Mail
	Until time.Time `db:"claimed_until"`
}

// claim takes mails that are due. It counts attempts, so that a mail that crashes its sender is given up too.
func claim(ctx context.Context, db *sqlx.DB, limit int, now, until time.Time) ([]claimed, error) {
	return postgres.Select[claimed](ctx, db, `
		update mails set claimed_until = $2, attempts = attempts + 1
		where id in (
			select id from mails where state = 'queued' and due_at <= $1 and (claimed_until is null or claimed_until <= $1)
			order by due_at, id limit $3 for update skip locked)
		returning `+columns+`, claimed_until`, now, until, limit)
}

// sendResult is what follows from an attempt.
type sendResult struct {
	state State
	dueAt *time.Time // DueAt is the time of the next attempt; nil for none.
	words string     // Words say why the attempt failed.
}

// finish stores the result of an attempt, unless another replica has taken the mail over. A mail that ends loses its body.
func finish(ctx context.Context, db *sqlx.DB, c claimed, v sendResult, now time.Time) (ours bool, err error) {
	var ended *time.Time
	if v.state != Queued {
		ended = &now
	}
	return postgres.Changed(db.ExecContext(ctx, `
		update mails set state = $3, due_at = $4, last_error = $5, ended_at = $6, claimed_until = null,
			body_sealed = case when $6::timestamptz is null then body_sealed end,
			body_text = case when $6::timestamptz is null then body_text else '' end,
			body_html = case when $6::timestamptz is null then body_html else '' end
		where id = $1 and claimed_until = $2`, c.ID, c.Until, v.state, v.dueAt, v.words, ended))
}
