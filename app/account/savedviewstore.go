package account

import (
	"context"

	"umg/app/postgres"
)

func selectViews(ctx context.Context, q postgres.Queryer, o ViewOwner, page ViewPage) (views []SavedView, err error) {
	err = q.SelectContext(ctx, &views, `
		select name, query, saved_at from saved_views where user_id = $1 and account_id = $2 and page = $3
		order by lower(name), name limit $4`, o.UserID, o.AccountID, string(page), SavedViewsMax)
	return views, err
}

// lockViewOwner keeps two windows of one person from counting at the same time.
func lockViewOwner(ctx context.Context, q postgres.Queryer, o ViewOwner) error {
	_, err := q.ExecContext(ctx, `select from memberships where user_id = $1 and account_id = $2 for no key update`, o.UserID, o.AccountID)
	return err
}

func countOtherViews(ctx context.Context, q postgres.Queryer, o ViewOwner, page ViewPage, name string) (n int, err error) {
	err = q.GetContext(ctx, &n, `
		select count(*) from saved_views where user_id = $1 and account_id = $2 and page = $3 and name <> $4`,
		o.UserID, o.AccountID, string(page), name)
	return n, err
}

func viewExists(ctx context.Context, q postgres.Queryer, o ViewOwner, page ViewPage, name string) (there bool, err error) {
	err = q.GetContext(ctx, &there, `
		select exists (select from saved_views where user_id = $1 and account_id = $2 and page = $3 and name = $4)`,
		o.UserID, o.AccountID, string(page), name)
	return there, err
}

func upsertView(ctx context.Context, q postgres.Queryer, o ViewOwner, page ViewPage, v SavedView) error {
	_, err := q.ExecContext(ctx, `
		insert into saved_views (user_id, account_id, page, name, query, saved_at) values ($1, $2, $3, $4, $5, $6)
		on conflict (user_id, account_id, page, name) do update set query = excluded.query, saved_at = excluded.saved_at`,
		o.UserID, o.AccountID, string(page), v.Name, v.Query, v.SavedAt)
	return err
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
