package account

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"umg/app/postgres"
	"umg/app/seal"
)

const userColumns = `u.id, u.email, u.operator, u.created_at,
	exists(select from totp_secrets t where t.user_id = u.id and t.enabled_at is not null) as second_step,
	u.verified_at is not null as verified, u.password_changed_at, u.time_zone, u.clock, u.log_hidden,
	coalesce(m.account_id, '') as account_id, coalesce(m.role, '') as role, coalesce(m.name, '') as account_name,
	coalesce(m.limit_factor, 1) as limit_factor, coalesce(m.frozen, false) as frozen, coalesce(m.frozen_reason, '') as frozen_reason,
	coalesce(m.keep_content, false) as keep_content, coalesce(m.uncharged, false) as uncharged`

// A user who is a member of several accounts works in the one with the id $2, if it is theirs, else in the one joined
// first. A user may be without any.
const userFrom = ` from users u left join lateral (
	select s.account_id, s.role, a.name, a.limit_factor, a.frozen_at is not null as frozen, a.frozen_reason, c.keep = 'all' as keep_content,
		a.uncharged
	from memberships s join accounts a on a.id = s.account_id left join content_log_settings c on c.account_id = a.id
	where s.user_id = u.id and a.closed_at is null order by s.account_id = $2 desc, s.created_at, s.account_id limit 1) m on true `

func userByID(ctx context.Context, q postgres.Queryer, id string) (User, error) {
	return userIn(ctx, q, id, "")
}

// userIn is the user as a member of an account, or as userFrom says where they are none.
func userIn(ctx context.Context, q postgres.Queryer, id, accountID string) (User, error) {
	return postgres.Get[User](ctx, q, `select `+userColumns+userFrom+`where u.id = $1`, id, accountID)
}

// userByEmail also returns the password's hash; both are empty when there is no such user.
func userByEmail(ctx context.Context, q postgres.Queryer, email string) (User, string, error) {
	var row struct {
		User
		Hash string `db:"password_hash"`
	}
	err := q.GetContext(ctx, &row, `select `+userColumns+`, u.password_hash`+userFrom+`where u.email = $1`, email, "")
	if errors.Is(err, sql.ErrNoRows) {
		return User{}, "", nil
	}
	return row.User, row.Hash, err
}

// insertUser makes a user with an account of their own. It reports false when the e-mail address is taken.
func insertUser(ctx context.Context, q postgres.Queryer, u User, hash string) (bool, error) {
	done, err := q.ExecContext(ctx, `
		insert into users (id, email, password_hash, created_at) values ($1, $2, $3, $4) on conflict (email) do nothing`,
		u.ID, u.Email, hash, u.CreatedAt)
	if made, err := postgres.Changed(done, err); err != nil || !made {
		return false, err
	}
	_, err = q.ExecContext(ctx, `
		with made as (insert into accounts (id, name, created_at) values ($1, $5, $2) returning id)
		insert into memberships (account_id, user_id, role, created_at) select id, $3, $4, $2 from made`,
		u.AccountID, u.CreatedAt, u.ID, u.Role, accountNameFor(u.Email))
	return err == nil, err
}

// throttleRow is how often something was tried since a time.
type throttleRow struct {
	Tries        int        `db:"tries"`
	Since        time.Time  `db:"since"`
	BlockedUntil *time.Time `db:"blocked_until"`
}

func (r throttleRow) blockedFor(now time.Time) time.Duration {
	if r.BlockedUntil == nil {
		return 0
	}
	return max(0, r.BlockedUntil.Sub(now))
}

// lockThrottle returns the row of one try, new or not, and keeps others from counting until the transaction ends.
func lockThrottle(ctx context.Context, q postgres.Queryer, t try, now time.Time) (throttleRow, error) {
	return postgres.Get[throttleRow](ctx, q, `
		insert into auth_throttles (scope, subject, tries, since) values ($1, $2, 0, $3)
		on conflict (scope, subject) do update set tries = auth_throttles.tries
		returning tries, since, blocked_until`, t.rule.scope, t.subject[:], now)
}

// trustedPlace reports whether the user of this e-mail address has signed up or in from this place since then.
func trustedPlace(ctx context.Context, q postgres.Queryer, pair try, since time.Time) (bool, error) {
	var trusted bool
	err := q.GetContext(ctx, &trusted, `
		select exists(select from auth_throttles where scope = $1 and subject = $2 and trusted_at > $3)`, pair.rule.scope, pair.subject[:], since)
	return trusted, err
}

func trustPlace(ctx context.Context, q postgres.Queryer, pair try, now time.Time) error {
	return postgres.Exec(ctx, q, `
		insert into auth_throttles (scope, subject, tries, since, trusted_at) values ($1, $2, 0, $3, $3)
		on conflict (scope, subject) do update set tries = 0, since = $3, blocked_until = null, trusted_at = $3`,
		pair.rule.scope, pair.subject[:], now)
}

// deleteOldThrottles removes what no rule looks at any more.
func deleteOldThrottles(ctx context.Context, q postgres.Queryer, now time.Time, limit int) (int64, error) {
	return postgres.ChangedRows(q.ExecContext(ctx, `
		delete from auth_throttles where (scope, subject) in (
			select scope, subject from auth_throttles
			where since < $1 and (blocked_until is null or blocked_until < $2) and (trusted_at is null or trusted_at < $3)
			limit $4 for update skip locked)`,
		now.Add(-signInPair.window), now, now.Add(-trustMax), limit))
}

// sessionRow is a session as the table holds it. data is sealed.
type sessionRow struct {
	ID        string         `db:"id"`
	UserID    sql.NullString `db:"user_id"`
	Data      []byte         `db:"data"`
	IP        string         `db:"ip"`
	UserAgent string         `db:"user_agent"`
	CreatedAt time.Time      `db:"created_at"`
	SeenAt    time.Time      `db:"seen_at"`
	Renew     bool           `db:"renew"`
}

// sessionAlive is the condition under which a session still counts; $1 is now.
const sessionAlive = `
	created_at > $1::timestamptz - make_interval(secs => $2::float8) and
	seen_at > $1::timestamptz - make_interval(secs => case when user_id is null then $4::float8 else $3::float8 end)`

func aliveArgs(now time.Time, more ...any) []any {
	return append([]any{now, seconds(sessionAgeMax), seconds(sessionIdleMax), seconds(visitorIdleMax)}, more...)
}

func seconds(d time.Duration) int64 { return int64(d / time.Second) }

// sessionByToken reports false when there is no such session or it has expired.
func sessionByToken(ctx context.Context, q postgres.Queryer, f seal.Fingerprint, now time.Time) (r sessionRow, found bool, err error) {
	err = q.GetContext(ctx, &r, `
		select id, user_id, data, ip, user_agent, created_at, seen_at, renew from sessions
		where token_hash = $5 and `+sessionAlive, aliveArgs(now, f[:])...)
	if errors.Is(err, sql.ErrNoRows) {
		return sessionRow{}, false, nil
	}
	return r, err == nil, err
}

func deleteSession(ctx context.Context, q postgres.Queryer, f seal.Fingerprint) error {
	return postgres.Exec(ctx, q, `delete from sessions where token_hash = $1`, f[:])
}

func deleteOtherSessions(ctx context.Context, q postgres.Queryer, userID, keep string) (int64, error) {
	return postgres.ChangedRows(q.ExecContext(ctx, `delete from sessions where user_id = $1 and id <> $2`, userID, keep))
}

// renewSessions has every session of a user renewed at its next request. Whatever changes what a user may do calls this, unless it
// ends their sessions.
func renewSessions(ctx context.Context, q postgres.Queryer, userID string) error {
	return postgres.Exec(ctx, q, `update sessions set renew = true where user_id = $1`, userID)
}

func deleteExpiredSessions(ctx context.Context, q postgres.Queryer, now time.Time, limit int) (int64, error) {
	return postgres.ChangedRows(q.ExecContext(ctx, `
		delete from sessions where id in (
			select id from sessions where not (`+sessionAlive+`) limit $5 for update skip locked)`, aliveArgs(now, limit)...))
}
