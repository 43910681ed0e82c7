package trial

import (
	"context"
	"time"

	"umg/app"
	"umg/app/postgres"
)

// row is who was given trial credit.
type row struct {
	Identity                           identity
	UserID, AccountID, Network, Domain string
	Amount                             app.Amount
	GrantedAt                          time.Time
}

// dayRow is what was given since a time, and whether the identity or the user has ever had any.
type dayRow struct {
	Had     bool       `db:"had"`
	Network int        `db:"network"`
	Domain  int        `db:"domain"`
	Amount  app.Amount `db:"amount"`
}

// lockAll lets one transaction at a time give trial credit.
func lockAll(ctx context.Context, q postgres.Queryer) error {
	return postgres.Exec(ctx, q, `select pg_advisory_xact_lock(hashtext('umg trials'))`)
}

func hasHad(ctx context.Context, q postgres.Queryer, userID string, who identity) (bool, error) {
	return postgres.Get[bool](ctx, q, `select exists(select from trials where identity = $1 or user_id = $2)`, who[:], userID)
}

func sumDay(ctx context.Context, q postgres.Queryer, r row, since time.Time) (dayRow, error) {
	return postgres.Get[dayRow](ctx, q, `
		select exists(select from trials where identity = $1 or user_id = $2) as had,
			count(*) filter (where network = $3 and network <> '') as network, count(*) filter (where domain = $4) as domain,
			coalesce(sum(amount_nanos), 0)::bigint as amount
		from trials where granted_at > $5`, r.Identity[:], r.UserID, r.Network, r.Domain, since)
}

func insert(ctx context.Context, q postgres.Queryer, r row) error {
	return postgres.Exec(ctx, q, `
		insert into trials (identity, user_id, account_id, network, domain, amount_nanos, granted_at)
		values ($1, $2, $3, $4, $5, $6, $7)`, r.Identity[:], r.UserID, r.AccountID, r.Network, r.Domain, int64(r.Amount), r.GrantedAt)
}

// ForgetPlaces removes network and domain from at most limit old trials, because the limits no longer count them, and returns how
// many trials it changed.
func (s *Service) ForgetPlaces(ctx context.Context, limit int) (int64, error) {
	return postgres.ChangedRows(s.db.ExecContext(ctx, `
		update trials set network = '', domain = '' where identity in (
			select identity from trials where granted_at < $1 and (network <> '' or domain <> '') limit $2 for update skip locked)`,
		s.o.Now().UTC().Add(-2*day), limit))
}
