package contentlog

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/lib/pq"

	"umg/app"
	"umg/app/postgres"
)

// settingsRow is a decision as the table holds it.
type settingsRow struct {
	AccountID string     `db:"account_id"`
	Keep      Policy     `db:"keep"`
	Days      int        `db:"days"`
	ClearedAt *time.Time `db:"cleared_at"`
	KeptBytes int64      `db:"kept_bytes"`
	ChangedAt time.Time  `db:"changed_at"`
}

func (r settingsRow) settings() Settings {
	return Settings{Keep: r.Keep, Days: r.Days, ClearedAt: r.ClearedAt, KeptBytes: r.KeptBytes, ChangedAt: r.ChangedAt}
}

const (
	settingsColumns = `s.account_id, s.keep, s.days, s.cleared_at, s.changed_at, s.kept_bytes + ` + runBytes + ` as kept_bytes`
	// runBytes are the bytes of the runs of the playground that an account keeps. They are few, and are not counted when they change.
	runBytes = `(select coalesce(sum(octet_length(r.content) + octet_length(r.title)), 0) from playground_runs r
		where r.account_id = s.account_id)`
	// since is the moment until which content counts as deleted, at the time $1.
	since    = `greatest(coalesce(s.cleared_at, '-infinity'), $1::timestamptz - make_interval(days => s.days))`
	rowBytes = `octet_length(c.request) + octet_length(c.answer)`
)

func settingsOf(ctx context.Context, q postgres.Queryer, accountID string) (Settings, error) {
	var r settingsRow
	err := q.GetContext(ctx, &r, `select `+settingsColumns+` from content_log_settings s where s.account_id = $1`, accountID)
	if errors.Is(err, sql.ErrNoRows) {
		return Settings{Keep: Never, Days: DaysStandard}, nil
	}
	return r.settings(), err
}

// lockSettings keeps the decision of an account that is open as it is until the transaction ends, and says what the account is called.
func lockSettings(ctx context.Context, q postgres.Queryer, accountID string, now time.Time) (before Settings, name string, err error) {
	err = q.GetContext(ctx, &name, `select name from accounts where id = $1 and closed_at is null for key share`, accountID)
	if errors.Is(err, sql.ErrNoRows) {
		return before, "", app.Errorf(app.NotFound, "account_not_found", "There is no such account.")
	}
	if err != nil {
		return before, "", err
	}
	if _, err = q.ExecContext(ctx, `
		insert into content_log_settings (account_id, keep, days, changed_at) values ($1, $2, $3, $4) on conflict (account_id) do nothing`,
		accountID, Never, DaysStandard, now); err != nil {
		return before, "", err
	}
	var r settingsRow
	err = q.GetContext(ctx, &r, `select `+settingsColumns+` from content_log_settings s where s.account_id = $1 for no key update`, accountID)
	return r.settings(), name, err
}

// contentOf is what is kept of a call, unless its time is over.
func contentOf(ctx context.Context, q postgres.Queryer, accountID, requestID string, now time.Time) (Record, error) {
	return postgres.Get[Record](ctx, q, `
		select c.request_id, c.key_id, c.style, c.at, c.request, c.request_bytes, c.request_cut, c.answer, c.answer_bytes, c.answer_cut,
			c.streamed, c.redacted, c.deleted_at, c.at + make_interval(days => s.days) as expires_at
		from content_logs c join content_log_settings s on s.account_id = c.account_id
		where c.account_id = $2 and c.request_id = $3 and c.at > `+since, now, accountID, requestID)
}

// lockWanted keeps the decisions of accounts as they are, in one order, since every replica does this. Closed accounts and those that
// want nothing kept are left out.
func lockWanted(ctx context.Context, q postgres.Queryer, accounts []string) (map[string]Settings, error) {
	var rows []settingsRow
	err := q.SelectContext(ctx, &rows, `
		select `+settingsColumns+` from content_log_settings s join accounts a on a.id = s.account_id
		where s.account_id = any($1) and s.keep <> 'never' and a.closed_at is null
		order by s.account_id for no key update of s`, pq.Array(accounts))
	wanted := make(map[string]Settings, len(rows))
	for _, r := range rows {
		wanted[r.AccountID] = r.settings()
	}
	return wanted, err
}

// insert writes calls in one statement.
func insert(ctx context.Context, q postgres.Queryer, rows []row) error {
	var texts [6][]string
	var numbers [3][]int64
	var at []time.Time
	var flags [3][]bool
	for i := range rows {
		r := &rows[i]
		for j, v := range []string{r.call.AccountID, r.call.RequestID, r.call.KeyID, r.call.Style, r.request, r.answer} {
			texts[j] = append(texts[j], v)
		}
		for j, v := range []int64{r.requestBytes, r.answerBytes, int64(r.redacted)} {
			numbers[j] = append(numbers[j], v)
		}
		for j, v := range []bool{r.requestCut, r.answerCut, r.streamed} {
			flags[j] = append(flags[j], v)
		}
		at = append(at, r.call.At.UTC())
	}
	return postgres.Exec(ctx, q, `
		with more as (
			insert into content_logs as c (account_id, request_id, key_id, style, request, answer, request_bytes, answer_bytes, redacted,
				request_cut, answer_cut, streamed, at)
			select * from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bigint[], $8::bigint[],
				$9::integer[], $10::boolean[], $11::boolean[], $12::boolean[], $13::timestamptz[])
			on conflict do nothing returning c.account_id, `+rowBytes+` as bytes)
		update content_log_settings s set kept_bytes = s.kept_bytes + m.bytes
		from (select account_id, sum(bytes) as bytes from more group by account_id) m where s.account_id = m.account_id`,
		pq.Array(texts[0]), pq.Array(texts[1]), pq.Array(texts[2]), pq.Array(texts[3]), pq.Array(texts[4]), pq.Array(texts[5]),
		pq.Array(numbers[0]), pq.Array(numbers[1]), pq.Array(numbers[2]), pq.Array(flags[0]), pq.Array(flags[1]), pq.Array(flags[2]),
		pq.Array(at))
}

// sweepOne deletes at most so many calls of an account whose decision is locked: the oldest, as long as their time is over or the
// account has more than it may, and the runs of the playground that are as old. It says how many calls.
func sweepOne(ctx context.Context, q postgres.Queryer, accountID string, now time.Time, bytesMax int64, limit int) (int, error) {
	return postgres.Get[int](ctx, q, `
		with dead as (
			select d.request_id, d.at from (
				select c.request_id, c.at <= `+since+` as over,
					s.kept_bytes + `+runBytes+` - sum(`+rowBytes+`) over (order by c.at, c.request_id) + `+rowBytes+` as left_with, c.at
				from content_log_settings s join lateral (
					select * from content_logs c where c.account_id = s.account_id order by c.at, c.request_id limit $4) c on true
				where s.account_id = $2) d
			where d.over or d.left_with > $3),
		gone as (
			delete from content_logs c using dead d where c.account_id = $2 and c.request_id = d.request_id
			returning `+rowBytes+` as bytes),
		runs as (delete from playground_runs r where r.account_id = $2 and r.at <= (select max(at) from dead)),
		less as (
			update content_log_settings s set kept_bytes = greatest(0, s.kept_bytes - (select coalesce(sum(bytes), 0) from gone))
			where s.account_id = $2 and exists (select from gone))
		select count(*) from gone`, now, accountID, bytesMax, limit)
}
