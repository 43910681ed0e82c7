package postgres

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"

	"github.com/jmoiron/sqlx"
)

// QueryRow runs one statement on db and scans the one row of its answer; it is sql.ErrNoRows when there is none. It is
// for the statements of every request: ctx bounds the wait for a connection, but not the statement, because the driver
// and database/sql each start a goroutine to watch a context that can end. The statement ends in time all the same, by
// the store's own limit, or by that of the connection's reads where the store does not answer.
//
// QueryRow skips connections that a restarted database has closed: all that the pool may have, and then tries a new one once.
func QueryRow(ctx context.Context, db *sqlx.DB, query string, args []any, dest ...any) error {
	for dead := 0; ; dead++ {
		conn, err := db.Conn(ctx)
		if err != nil {
			return err
		}
		rows, err := conn.QueryContext(context.WithoutCancel(ctx), query, args...)
		if err == nil {
			err = scanOne(rows, dest)
			_ = conn.Close()
			return err
		}
		_ = conn.Close()
		if !errors.Is(err, driver.ErrBadConn) || dead > db.Stats().MaxOpenConnections {
			return err
		}
	}
}

// scanOne reads the one row and closes the answer.
func scanOne(rows *sql.Rows, dest []any) error {
	defer func() { _ = rows.Close() }() // A second Close does nothing.
	if !rows.Next() {
		if err := rows.Err(); err != nil {
			return err
		}
		return sql.ErrNoRows
	}
	if err := rows.Scan(dest...); err != nil {
		return err
	}
	return rows.Close() // Close may return the error of a failed commit.
}
