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

// ForgetPlaces removes network and domain from at most limit old trials, because the limits no longer count them, and returns how
// many trials it changed.
func (s *Service) ForgetPlaces(ctx context.Context, limit int) (int64, error) {
	return postgres.ChangedRows(s.db.ExecContext(ctx, `
		update trials set network = '', domain = '' where identity in (
			select identity from trials where granted_at < $1 and (network <> '' or domain <> '') limit $2 for update skip locked)`,
		s.o.Now().UTC().Add(-2*day), limit))
}
