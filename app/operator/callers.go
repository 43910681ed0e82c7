package operator

import (
	"context"
	"strings"
	"time"

	"github.com/lib/pq"

	"umg/app"
	"umg/app/postgres"
)

const (
	callersSpan    = time.Hour
	callersShown   = 10
	callersTimeMax = time.Second // timeout for adding the traffic of accounts up; a page works without it
)

// Caller is the traffic of one account in the last hour.
type Caller struct {
	AccountID   string `db:"id"`
	Account     string `db:"name"`
	KeyID       string `db:"key_id"` // KeyID is the key that the search names. It is empty for all keys.
	Refused     int64  `db:"refused"`
	RefusedMost string `db:"refused_most"` // RefusedMost is the code that most refusals have.
	// Calls, Failed and FirstByte are zero where no search asks for them. FirstByte is a mean.
	Calls           int64 `db:"calls"`
	Failed          int64 `db:"failed"`
	FirstByteMicros int64 `db:"first_byte_micros"`
}

// FirstByte is the mean time to the first byte. It is zero when unknown.
func (c Caller) FirstByte() time.Duration { return time.Duration(c.FirstByteMicros) * time.Microsecond }

// Refused are the accounts with the most refused requests in the last hour, at most ten, and how many requests for each model were
// refused. The time of a refusal is indexed, and refusals are bounded for each account, so that this is quick.
func (d *Service) Refused(ctx context.Context) (list []Caller, models map[string]int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, callersTimeMax)
	defer cancel()
	since := d.o.Now().UTC().Add(-callersSpan)
	list, err = postgres.Select[Caller](ctx, d.db, `
		with codes as (select account_id, code, sum(represents)::bigint as n from refusals where at > $1 group by 1, 2)
		select a.id, a.name, '' as key_id, sum(c.n)::bigint as refused, (array_agg(c.code order by c.n desc, c.code))[1] as refused_most
		from codes c join accounts a on a.id = c.account_id group by a.id, a.name order by 4 desc, a.id limit $2`, since, callersShown)
	if err != nil {
		return nil, nil, postgres.StoreError("operator: list refused accounts", err)
	}
	rows, err := postgres.Select[struct {
		Model string `db:"model"`
		N     int64  `db:"n"`
	}](ctx, d.db, `select model, sum(represents)::bigint as n from refusals where at > $1 and model <> '' group by 1`, since)
	models = make(map[string]int64, len(rows))
	for _, r := range rows {
		models[r.Model] = r.N
	}
	return list, models, postgres.StoreError("operator: count refusals of models", err)
}

// Callers are the accounts that match a search, at most ten, those with most refusals, then failures, then the slowest first. The text
// is what Accounts takes, or the whole id of a key.
func (d *Service) Callers(ctx context.Context, text string) ([]Caller, error) {
	text = strings.ToLower(strings.TrimSpace(text))
	if text == "" || len(text) > queryMax || !app.Storable(text) {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, callersTimeMax)
	defer cancel()
	keyID := ""
	accounts, err := postgres.Select[string](ctx, d.db, `select account_id from api_keys where id = $1`, text)
	switch {
	case err != nil:
		return nil, postgres.StoreError("operator: find a key", err)
	case len(accounts) > 0:
		keyID = text
	default:
		found, err := selectAccounts(ctx, d.db, Query{Text: text}, callersShown)
		if err != nil {
			return nil, postgres.StoreError("operator: find accounts", err)
		}
		for _, a := range found {
			accounts = append(accounts, a.ID)
		}
	}
	since := d.o.Now().UTC().Add(-callersSpan)
	list, err := postgres.Select[Caller](ctx, d.db, `
		select a.id, a.name, $3 as key_id, coalesce(u.calls, 0) as calls, coalesce(u.failed, 0) as failed,
			coalesce(u.first_byte_micros, 0) as first_byte_micros, coalesce(r.n, 0) as refused, coalesce(r.code, '') as refused_most
		from accounts a left join lateral (
			select sum(requests)::bigint as calls, sum(failed)::bigint as failed,
				(sum(first_byte_micros) / nullif(sum(requests), 0))::bigint as first_byte_micros
			from usage_rollups where account_id = a.id and slot > $2 and ($3 = '' or key_id = $3)) u on true
		left join lateral (
			select sum(n)::bigint as n, (array_agg(code order by n desc, code))[1] as code from (
				select code, sum(represents) as n from refusals where account_id = a.id and at > $2 and ($3 = '' or key_id = $3) group by 1) c) r
			on true
		where a.id = any($1) order by refused desc, failed desc, first_byte_micros desc, a.id`, pq.Array(accounts), since, keyID)
	return list, postgres.StoreError("operator: add up the traffic of accounts", err)
}
