package postgres

import (
	"context"
	"database/sql"
)

// Get returns the one row of a query. It returns sql.ErrNoRows when there is none.
func Get[Row any](ctx context.Context, q Queryer, query string, args ...any) (row Row, err error) {
	err = q.GetContext(ctx, &row, query, args...)
	return row, err
}

// Select returns all rows of a query.
func Select[Row any](ctx context.Context, q Queryer, query string, args ...any) (rows []Row, err error) {
	err = q.SelectContext(ctx, &rows, query, args...)
	return rows, err
}

// Exec runs a statement and ignores how many rows it changed.
func Exec(ctx context.Context, q Queryer, statement string, args ...any) error {
	_, err := q.ExecContext(ctx, statement, args...)
	return err
}

// Changed reports whether a statement changed a row. It takes the results of ExecContext.
func Changed(result sql.Result, err error) (bool, error) {
	n, err := ChangedRows(result, err)
	return n > 0, err
}

// ChangedRows returns how many rows a statement changed. It takes the results of ExecContext.
func ChangedRows(result sql.Result, err error) (int64, error) {
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}
