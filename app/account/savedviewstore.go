package account

import (
	"context"

	"umg/app/postgres"
)

func selectViews(ctx context.Context, q postgres.Queryer, o ViewOwner, page ViewPage) ([]SavedView, error) {
	return postgres.Select[SavedView](ctx, q, `
		select name, query, saved_at from saved_views where user_id = $1 and account_id = $2 and page = $3
		order by lower(name), name limit $4`, o.UserID, o.AccountID, string(page), SavedViewsMax)
}

// lockViewOwner keeps two windows of one person from counting at the same time.
func lockViewOwner(ctx context.Context, q postgres.Queryer, o ViewOwner) error {
	return postgres.Exec(ctx, q, `select from memberships where user_id = $1 and account_id = $2 for no key update`, o.UserID, o.AccountID)
}

func countOtherViews(ctx context.Context, q postgres.Queryer, o ViewOwner, page ViewPage, name string) (int, error) {
	return postgres.Get[int](ctx, q, `
		select count(*) from saved_views where user_id = $1 and account_id = $2 and page = $3 and name <> $4`,
		o.UserID, o.AccountID, string(page), name)
}

func viewExists(ctx context.Context, q postgres.Queryer, o ViewOwner, page ViewPage, name string) (bool, error) {
	return postgres.Get[bool](ctx, q, `
		select exists (select from saved_views where user_id = $1 and account_id = $2 and page = $3 and name = $4)`,
		o.UserID, o.AccountID, string(page), name)
}

func upsertView(ctx context.Context, q postgres.Queryer, o ViewOwner, page ViewPage, v SavedView) error {
	return postgres.Exec(ctx, q, `
		insert into saved_views (user_id, account_id, page, name, query, saved_at) values ($1, $2, $3, $4, $5, $6)
		on conflict (user_id, account_id, page, name) do update set query = excluded.query, saved_at = excluded.saved_at`,
		o.UserID, o.AccountID, string(page), v.Name, v.Query, v.SavedAt)
}

func updateViewName(ctx context.Context, q postgres.Queryer, o ViewOwner, page ViewPage, from, to string) (bool, error) {
	return postgres.Changed(q.ExecContext(ctx, `
		update saved_views set name = $5 where user_id = $1 and account_id = $2 and page = $3 and name = $4`,
		o.UserID, o.AccountID, string(page), from, to))
}

func deleteView(ctx context.Context, q postgres.Queryer, o ViewOwner, page ViewPage, name string) (bool, error) {
	return postgres.Changed(q.ExecContext(ctx, `
		delete from saved_views where user_id = $1 and account_id = $2 and page = $3 and name = $4`,
		o.UserID, o.AccountID, string(page), name))
}
