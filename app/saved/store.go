package saved

import (
	"context"
	"database/sql"

	"umg/app/postgres"
)

func viewsOf(ctx context.Context, q postgres.Queryer, o Owner, page Page, limit int) (views []View, err error) {
	err = q.SelectContext(ctx, &views, `
		select name, query, saved_at from saved_views where user_id = $1 and account_id = $2 and page = $3
		order by lower(name), name limit $4`, o.UserID, o.AccountID, string(page), limit)
	return views, err
}

// lockOwner keeps two windows of one person from counting at the same time.
func lockOwner(ctx context.Context, q postgres.Queryer, o Owner) error {
	_, err := q.ExecContext(ctx, `select from memberships where user_id = $1 and account_id = $2 for no key update`, o.UserID, o.AccountID)
	return err
}

func others(ctx context.Context, q postgres.Queryer, o Owner, page Page, name string) (n int, err error) {
	err = q.GetContext(ctx, &n, `
		select count(*) from saved_views where user_id = $1 and account_id = $2 and page = $3 and name <> $4`,
		o.UserID, o.AccountID, string(page), name)
	return n, err
}

func has(ctx context.Context, q postgres.Queryer, o Owner, page Page, name string) (there bool, err error) {
	err = q.GetContext(ctx, &there, `
		select exists (select from saved_views where user_id = $1 and account_id = $2 and page = $3 and name = $4)`,
		o.UserID, o.AccountID, string(page), name)
	return there, err
}

func put(ctx context.Context, q postgres.Queryer, o Owner, page Page, v View) error {
	_, err := q.ExecContext(ctx, `
		insert into saved_views (user_id, account_id, page, name, query, saved_at) values ($1, $2, $3, $4, $5, $6)
		on conflict (user_id, account_id, page, name) do update set query = excluded.query, saved_at = excluded.saved_at`,
		o.UserID, o.AccountID, string(page), v.Name, v.Query, v.SavedAt)
	return err
}

func rename(ctx context.Context, q postgres.Queryer, o Owner, page Page, from, to string) (bool, error) {
	return changed(q.ExecContext(ctx, `
		update saved_views set name = $5 where user_id = $1 and account_id = $2 and page = $3 and name = $4`,
		o.UserID, o.AccountID, string(page), from, to))
}

func remove(ctx context.Context, q postgres.Queryer, o Owner, page Page, name string) (bool, error) {
	return changed(q.ExecContext(ctx, `
		delete from saved_views where user_id = $1 and account_id = $2 and page = $3 and name = $4`,
		o.UserID, o.AccountID, string(page), name))
}

func changed(done sql.Result, err error) (bool, error) {
	if err != nil {
		return false, err
	}
	n, err := done.RowsAffected()
	return n > 0, err
}
