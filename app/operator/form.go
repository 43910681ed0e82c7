package operator

import (
	"context"

	"umg/app"
	"umg/app/postgres"
)

// formPathBytesMax bounds the path of a form that is stored with its use.
const formPathBytesMax = 200

// UseForm marks a form of an operator as used. It returns false for one that was used before. The id is from Once.
func (d *Service) UseForm(ctx context.Context, id, path, operator string) (first bool, err error) {
	first, err = postgres.Changed(d.db.ExecContext(ctx, `
		insert into operator_actions (idempotency_key, action, operator, at, object) values ($1, 'form', $2, $3, $4)
		on conflict (idempotency_key) do nothing`, id, operator, d.o.Now().UTC(), app.MakeStorable(path, formPathBytesMax)))
	return first, postgres.StoreError("operator: use a form", err)
}

// ReleaseForm lets a form be sent again, because its change was not made.
func (d *Service) ReleaseForm(ctx context.Context, id string) error {
	return postgres.StoreError("operator: release a form", postgres.Exec(ctx, d.db, `
		delete from operator_actions where idempotency_key = $1 and action = 'form'`, id))
}
