package apikey

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/lib/pq"

	"umg/app"
	"umg/app/postgres"
	"umg/app/seal"
	"umg/billing"
)

const keyColumns = `k.id, k.account_id, k.name, k.prefix, k.last_four, k.env, k.error_mode, k.models, k.scopes,
	k.addresses::text[] as addresses, k.requests_per_minute, k.tokens_per_minute, k.log_content, k.strict, k.concurrency, k.created_by_key,
	k.created_at, k.expires_at, k.last_used_at, k.last_used_ip, k.rotated_at, k.previous_until,
	coalesce(k.previous_last_four, '') as previous_last_four, k.previous_used_at, k.leaked_at, k.disabled_at is not null as disabled,
	k.budget_alerts`

const (
	keyBudget    = `, coalesce((select b.key_id from key_budgets b where b.key_id = k.id), '') as budget_id`
	keyMaker     = `, coalesce(u.email, '') as created_by`
	keyFromMaker = ` from api_keys k left join users u on u.id = k.created_by `
)

// keyRow is a key as the table holds it.
type keyRow struct {
	ID                string         `db:"id"`
	AccountID         string         `db:"account_id"`
	Name              string         `db:"name"`
	Prefix            string         `db:"prefix"`
	LastFour          string         `db:"last_four"`
	Env               string         `db:"env"`
	ErrorMode         ErrorMode      `db:"error_mode"`
	Models            pq.StringArray `db:"models"`
	Scopes            pq.StringArray `db:"scopes"`
	Addresses         prefixes       `db:"addresses"`
	RequestsPerMinute int64          `db:"requests_per_minute"`
	TokensPerMinute   int64          `db:"tokens_per_minute"`
	LogContent        bool           `db:"log_content"`
	Strict            bool           `db:"strict"`
	Concurrency       int            `db:"concurrency"`
	CreatedBy         string         `db:"created_by"`
	CreatedByKey      string         `db:"created_by_key"`
	CreatedAt         time.Time      `db:"created_at"`
	ExpiresAt         *time.Time     `db:"expires_at"`
	LastUsedAt        *time.Time     `db:"last_used_at"`
	LastUsedIP        string         `db:"last_used_ip"`
	RotatedAt         *time.Time     `db:"rotated_at"`
	PreviousUntil     *time.Time     `db:"previous_until"`
	PreviousLastFour  string         `db:"previous_last_four"`
	PreviousUsedAt    *time.Time     `db:"previous_used_at"`
	LeakedAt          *time.Time     `db:"leaked_at"`
	Disabled          bool           `db:"disabled"`
	LimitFactor       int            `db:"limit_factor"`
	BudgetID          string         `db:"budget_id"`
	BudgetAlerts      pq.Int64Array  `db:"budget_alerts"`
	Frozen            bool           `db:"frozen"`
	Uncharged         bool           `db:"uncharged"`
	Paid              bool           `db:"paid"`
	KeepContent       bool           `db:"keep_content"`
}

func (r keyRow) key() Key {
	scopes := make([]app.Scope, len(r.Scopes))
	for i, s := range r.Scopes {
		scopes[i] = app.Scope(s)
	}
	alerts := make([]int, len(r.BudgetAlerts))
	for i, share := range r.BudgetAlerts {
		alerts[i] = int(share)
	}
	return Key{
		Spec: Spec{
			Name: r.Name, Env: r.Env, ErrorMode: r.ErrorMode, Models: r.Models, Addresses: r.Addresses, Scopes: scopes,
			LogContent: r.LogContent, Strict: r.Strict, Concurrency: r.Concurrency, RequestsPerMinute: r.RequestsPerMinute,
			TokensPerMinute: r.TokensPerMinute, ExpiresAt: r.ExpiresAt, BudgetAlerts: alerts,
		},
		Secret: Secret{
			Prefix: r.Prefix, LastFour: r.LastFour, RotatedAt: r.RotatedAt, LeakedAt: r.LeakedAt, PreviousUntil: r.PreviousUntil,
			PreviousLastFour: r.PreviousLastFour, PreviousUsedAt: r.PreviousUsedAt,
		},
		LastUse: LastUse{At: r.LastUsedAt, IP: r.LastUsedIP},
		ID:      r.ID, AccountID: r.AccountID, CreatedBy: r.CreatedBy, CreatedByKey: r.CreatedByKey, CreatedAt: r.CreatedAt,
		Disabled: r.Disabled, Rights: app.RightsOfScopes(scopes), BudgetID: r.BudgetID,
		LimitFactor: r.LimitFactor, Paid: r.Paid, Frozen: r.Frozen, Uncharged: r.Uncharged, KeepContent: r.KeepContent,
	}
}

// prefixes are networks in a column. One that cannot be read is an error: a shorter list would let more in, or all.
type prefixes []netip.Prefix

// Scan reads a column of text that the database made of networks.
func (l *prefixes) Scan(value any) error {
	var words pq.StringArray
	if err := words.Scan(value); err != nil {
		return err
	}
	*l = nil
	for _, w := range words {
		p, err := netip.ParsePrefix(w)
		if err != nil {
			return fmt.Errorf("apikey: the address %q of a key: %w", w, err)
		}
		*l = append(*l, p)
	}
	return nil
}

func wordsOf(list []netip.Prefix) pq.StringArray {
	words := make(pq.StringArray, len(list))
	for i, p := range list {
		words[i] = p.String()
	}
	return words
}

// insertKey stores a key and reports false when the account has as many as it may.
func insertKey(ctx context.Context, q postgres.Queryer, k Key, f seal.Fingerprint) (bool, error) {
	return postgres.Changed(q.ExecContext(ctx, `
		insert into api_keys (id, account_id, secret_hash, name, prefix, last_four, env, error_mode, models, scopes, concurrency,
			created_by, created_at, expires_at, addresses, requests_per_minute, tokens_per_minute, log_content, created_by_key,
			budget_alerts, strict)
		select $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, nullif($12, ''), $13, $14, $15::text[]::cidr[], $16, $17, $18, $19,
			$21::smallint[], $22
		where (select count(*) from api_keys where account_id = $2 and deleted_at is null) < $20`,
		k.ID, k.AccountID, f[:], k.Name, k.Secret.Prefix, k.Secret.LastFour, k.Env, k.ErrorMode, pq.StringArray(orEmpty(k.Models)),
		pq.Array(k.Scopes), k.Concurrency, k.CreatedBy, k.CreatedAt, k.ExpiresAt, wordsOf(k.Addresses), k.RequestsPerMinute, k.TokensPerMinute,
		k.LogContent, k.CreatedByKey, keysMax, pq.Array(k.BudgetAlerts), k.Strict))
}

func orEmpty(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

func keyByID(ctx context.Context, q postgres.Queryer, accountID, id string) (Key, error) {
	var r keyRow
	err := q.GetContext(ctx, &r, `select `+keyColumns+keyBudget+keyMaker+keyFromMaker+`
		where k.account_id = $1 and k.id = $2 and k.deleted_at is null`, accountID, id)
	return r.key(), err
}

// keysOf reads the keys after the one with an id, which may be deleted, or from the first; newest first or the other way.
func keysOf(ctx context.Context, q postgres.Queryer, accountID string, page Query) ([]Key, error) {
	than, order := "<", "desc"
	if page.OldestFirst {
		than, order = ">", "asc"
	}
	var found []keyRow
	err := q.SelectContext(ctx, &found, `select `+keyColumns+keyBudget+keyMaker+keyFromMaker+`
		where k.account_id = $1 and k.deleted_at is null and ($2 = '' or
			(k.created_at, k.id) `+than+` (select a.created_at, a.id from api_keys a where a.account_id = $1 and a.id = $2))
		order by k.created_at `+order+`, k.id `+order+` limit $3`, accountID, page.After, page.Limit)
	keys := make([]Key, len(found))
	for i, r := range found {
		keys[i] = r.key()
	}
	return keys, err
}

// keyByFingerprint is how a secret is recognised; the account is what it finds out. It reports false for an unknown
// or deleted key, and whether the secret is the one of before the last rotation.
func keyByFingerprint(ctx context.Context, q postgres.Queryer, f seal.Fingerprint) (k Key, previous, found bool, err error) {
	var r struct {
		keyRow
		Previous bool `db:"previous"`
	}
	err = q.GetContext(ctx, &r, `
		select `+keyColumns+keyBudget+`, coalesce(k.created_by, '') as created_by, a.limit_factor, a.frozen_at is not null as frozen,
			a.paid_at is not null as paid, a.uncharged, k.secret_hash <> $1 as previous,
			coalesce(c.keep = 'all' or c.keep = 'asked' and k.log_content, false) as keep_content
		from api_keys k join accounts a on a.id = k.account_id left join content_log_settings c on c.account_id = k.account_id
		where (k.secret_hash = $1 or k.previous_hash = $1) and k.deleted_at is null`, f[:])
	if errors.Is(err, sql.ErrNoRows) {
		return Key{}, false, false, nil
	}
	return r.key(), r.Previous, err == nil, err
}

// lockKey keeps a key as it is until the transaction ends, and reads it with its budget.
func lockKey(ctx context.Context, q postgres.Queryer, accountID, id string) (Key, error) {
	var r struct {
		keyRow
		Limit  app.Amount     `db:"budget_limit"`
		Period billing.Period `db:"budget_period"`
	}
	err := q.GetContext(ctx, &r, `
		select `+keyColumns+keyMaker+`, coalesce(b.key_id, '') as budget_id, coalesce(b.limit_nanos, 0) as budget_limit,
			coalesce(b.period, '') as budget_period`+keyFromMaker+`left join key_budgets b on b.key_id = k.id
		where k.account_id = $1 and k.id = $2 and k.deleted_at is null for no key update of k`, accountID, id)
	if errors.Is(err, sql.ErrNoRows) {
		return Key{}, keyNotFound()
	}
	k := r.key()
	if err == nil && r.BudgetID != "" {
		k.Budget = &billing.Allowance{Limit: r.Limit, Period: r.Period}
	}
	return k, err
}

func updateKey(ctx context.Context, q postgres.Queryer, accountID, id string, s Spec) error {
	return postgres.Exec(ctx, q, `
		update api_keys set name = $3, env = $4, error_mode = $5, models = $6, scopes = $7, addresses = $8::text[]::cidr[],
			requests_per_minute = $9, tokens_per_minute = $10, log_content = $11, concurrency = $12, expires_at = $13,
			budget_alerts = $14::smallint[], strict = $15
		where account_id = $1 and id = $2 and deleted_at is null`,
		accountID, id, s.Name, s.Env, s.ErrorMode, pq.StringArray(orEmpty(s.Models)), pq.Array(s.Scopes), wordsOf(s.Addresses),
		s.RequestsPerMinute, s.TokensPerMinute, s.LogContent, s.Concurrency, s.ExpiresAt, pq.Array(s.BudgetAlerts), s.Strict)
}

// setKeySecret gives a key another secret. The one it had is good until a time, or no longer without one.
func setKeySecret(ctx context.Context, q postgres.Queryer, k Key, f seal.Fingerprint, now time.Time, until *time.Time) error {
	return postgres.Exec(ctx, q, `
		update api_keys set secret_hash = $3, prefix = $4, last_four = $5, rotated_at = $6, previous_until = $7, previous_used_at = null,
			previous_hash = case when $7::timestamptz is not null then secret_hash end,
			previous_last_four = case when $7::timestamptz is not null then last_four end,
			leaked_at = null
		where account_id = $1 and id = $2 and deleted_at is null`, k.AccountID, k.ID, f[:], k.Secret.Prefix, k.Secret.LastFour, now, until)
}

// secretUse is when and from where a secret was used last.
type secretUse struct {
	at time.Time
	ip string
}

// setSecretsUsed stores when secrets of keys of any account were last used. A secret that was rotated at the same time counts as
// the previous one, and a deleted secret is ignored. It locks rows in one order, because every replica runs it.
func setSecretsUsed(ctx context.Context, q postgres.Queryer, secrets []seal.Fingerprint, uses []secretUse) error {
	hashes, at, ips := make(pq.ByteaArray, len(secrets)), make([]time.Time, len(secrets)), make(pq.StringArray, len(secrets))
	for i := range secrets {
		hashes[i], at[i], ips[i] = secrets[i][:], uses[i].at, uses[i].ip
	}
	return postgres.Exec(ctx, q, `
		with used as (select * from unnest($1::bytea[], $2::timestamptz[], $3::text[]) as u (hash, at, ip)),
		found as (
			select k.id, u.at, u.ip, false as previous from used u join api_keys k on k.secret_hash = u.hash
			union all select k.id, u.at, u.ip, true from used u join api_keys k on k.previous_hash = u.hash),
		last as (
			select id, max(at) as at, (array_agg(ip order by at desc))[1] as ip, max(at) filter (where previous) as previous_at
			from found group by id),
		locked as (select k.id from api_keys k join last using (id) order by k.id for no key update of k)
		update api_keys k set
			last_used_ip = case when k.last_used_at is null or k.last_used_at <= last.at then last.ip else k.last_used_ip end,
			last_used_at = greatest(k.last_used_at, last.at),
			previous_used_at = greatest(k.previous_used_at, last.previous_at)
		from last join locked using (id) where k.id = last.id`, hashes, pq.Array(at), ips)
}
