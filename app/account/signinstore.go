package account

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/lib/pq"

	"umg/app/postgres"
	"umg/app/seal"
)

// personRow is a user with the fields that signing in needs.
type personRow struct {
	ID        string     `db:"id"`
	Email     string     `db:"email"`
	Name      string     `db:"name"`
	Hash      string     `db:"password_hash"`
	ChangedAt *time.Time `db:"password_changed_at"` // ChangedAt is when the password was changed; it is nil since sign-up.
}

const personColumns = `id, email, name, password_hash, password_changed_at`

func personByID(ctx context.Context, q postgres.Queryer, userID string) (personRow, error) {
	return postgres.Get[personRow](ctx, q, `select `+personColumns+` from users where id = $1`, userID)
}

// lockPerson locks how a user signs in until the transaction ends. Every writer of these fields takes this lock first.
func lockPerson(ctx context.Context, q postgres.Queryer, userID string) (personRow, error) {
	return postgres.Get[personRow](ctx, q, `select `+personColumns+` from users where id = $1 for no key update`, userID)
}

// setPassword also voids all links that would change how the user signs in, because their requester knew the old password or read
// the mail at that time.
func setPassword(ctx context.Context, q postgres.Queryer, userID, hash string, now time.Time) error {
	return postgres.Exec(ctx, q, `
		with ended as (update change_links set used_at = $3 where user_id = $1 and used_at is null)
		update users set password_hash = $2, password_changed_at = $3 where id = $1`, userID, hash, now)
}

// uniqueViolation is the SQLSTATE of a value that another row has.
const uniqueViolation = "23505"

// setEmail reports false when the address belongs to another user, which ends the transaction. It marks the address as verified.
func setEmail(ctx context.Context, q postgres.Queryer, userID, email string, now time.Time) (bool, error) {
	_, err := q.ExecContext(ctx, `update users set email = $2, verified_at = $3 where id = $1`, userID, email, now)
	if refused, ok := errors.AsType[*pq.Error](err); ok && refused.Code == uniqueViolation {
		return false, nil
	}
	return err == nil, err
}

// changeRow is a link as the table holds it, beside the address that its user has now.
type changeRow struct {
	UserID    string     `db:"user_id"`
	Email     string     `db:"email"`
	NewEmail  *string    `db:"new_email"`
	Current   string     `db:"current"`
	ExpiresAt time.Time  `db:"expires_at"`
	UsedAt    *time.Time `db:"used_at"`
}

// insertResetLink stores a link for the user of an address, and reports false where there is none.
func insertResetLink(ctx context.Context, q postgres.Queryer, f seal.Fingerprint, email string, now, expires time.Time) (bool, error) {
	return postgres.Changed(q.ExecContext(ctx, `
		insert into change_links (token_hash, user_id, email, created_at, expires_at)
		select $1, id, email, $3, $4 from users where email = $2`, f[:], email, now, expires))
}

// insertEmailLink stores a link to another address, which replaces those to others that are still open.
func insertEmailLink(ctx context.Context, q postgres.Queryer, f seal.Fingerprint, p personRow, email string, now, expires time.Time) error {
	return postgres.Exec(ctx, q, `
		with ended as (update change_links set used_at = $5 where user_id = $2 and used_at is null and new_email is not null)
		insert into change_links (token_hash, user_id, email, new_email, created_at, expires_at) values ($1, $2, $3, $4, $5, $6)`,
		f[:], p.ID, p.Email, email, now, expires)
}

// pendingEmail is the address that an open link would give the user, empty for none.
func pendingEmail(ctx context.Context, q postgres.Queryer, userID string, now time.Time) (email string, err error) {
	err = q.GetContext(ctx, &email, `
		select l.new_email from change_links l join users u on u.id = l.user_id
		where l.user_id = $1 and l.new_email is not null and l.used_at is null and l.expires_at > $2 and l.email = u.email
		order by l.created_at desc limit 1`, userID, now)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return email, err
}

// useChange ends a link that is still good, and reports false for any other.
func useChange(ctx context.Context, q postgres.Queryer, f seal.Fingerprint, now time.Time) (bool, error) {
	return postgres.Changed(q.ExecContext(ctx, `
		update change_links l set used_at = $2 from users u
		where l.token_hash = $1 and l.used_at is null and l.expires_at > $2 and u.id = l.user_id and u.email = l.email`, f[:], now))
}

// deleteOldChanges deletes links that ended long ago, and second steps whose setup was not finished.
func deleteOldChanges(ctx context.Context, q postgres.Queryer, now time.Time, limit int) (int64, error) {
	return postgres.ChangedRows(q.ExecContext(ctx, `
		with unfinished as (delete from totp_secrets where enabled_at is null and created_at < $3)
		delete from change_links where token_hash in (
			select token_hash from change_links where expires_at < $1 limit $2 for update skip locked)`,
		now.Add(-linkKeptMax), limit, now.Add(-enrolMax)))
}

// totpRow is a second step of signing in. seed is sealed.
type totpRow struct {
	Seed      []byte     `db:"seed"`
	CreatedAt time.Time  `db:"created_at"`
	EnabledAt *time.Time `db:"enabled_at"`
	LastStep  int64      `db:"last_step"`
}

func (r totpRow) enabled() bool { return r.EnabledAt != nil }

// totpOf is the second step of a user; a zero row where there is none.
func totpOf(ctx context.Context, q postgres.Queryer, userID string) (r totpRow, err error) {
	err = q.GetContext(ctx, &r, `select seed, created_at, enabled_at, last_step from totp_secrets where user_id = $1`, userID)
	if errors.Is(err, sql.ErrNoRows) {
		return totpRow{}, nil
	}
	return r, err
}

// beginTOTP stores a seed that is being set up, and reports false when another is in force.
func beginTOTP(ctx context.Context, q postgres.Queryer, userID string, seed []byte, now time.Time) (bool, error) {
	return postgres.Changed(q.ExecContext(ctx, `
		insert into totp_secrets (user_id, seed, created_at) values ($1, $2, $3)
		on conflict (user_id) do update set seed = $2, created_at = $3, last_step = 0 where totp_secrets.enabled_at is null`, userID, seed, now))
}

func enableTOTP(ctx context.Context, q postgres.Queryer, userID string, step int64, now time.Time) error {
	return postgres.Exec(ctx, q, `update totp_secrets set enabled_at = $3, last_step = $2 where user_id = $1`, userID, step, now)
}

func replaceCodes(ctx context.Context, q postgres.Queryer, userID string, hashes []seal.Fingerprint) error {
	if _, err := q.ExecContext(ctx, `delete from recovery_codes where user_id = $1`, userID); err != nil {
		return err
	}
	for _, h := range hashes {
		if _, err := q.ExecContext(ctx, `insert into recovery_codes (user_id, code_hash) values ($1, $2)`, userID, h[:]); err != nil {
			return err
		}
	}
	return nil
}

func codesLeft(ctx context.Context, q postgres.Queryer, userID string) (int, error) {
	return postgres.Get[int](ctx, q, `select count(*) from recovery_codes where user_id = $1 and used_at is null`, userID)
}

// forgetTries makes the next try of something the first again.
func forgetTries(ctx context.Context, q postgres.Queryer, t try) error {
	return postgres.Exec(ctx, q, `delete from auth_throttles where scope = $1 and subject = $2`, t.rule.scope, t.subject[:])
}
