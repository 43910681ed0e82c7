package postgres

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"
)

// InTx runs fn in one transaction: committed when fn returns nil, rolled back when it returns an error or panics. It
// retries nothing, because only the caller knows whether a second try is harmless. An error of fn comes back as it is.
func InTx(ctx context.Context, db *sqlx.DB, fn func(tx *sqlx.Tx) error) error {
	tx, err := db.BeginTxx(ctx, nil)
	if err != nil {
		return fmt.Errorf("postgres: begin: %w", err)
	}
	defer func() { _ = tx.Rollback() }() // After a commit, Rollback does nothing.
	if err := fn(tx); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("postgres: commit: %w", err)
	}
	return nil
}

// unavailableCodes are the conditions in which the store is away or too busy, by SQLSTATE; two characters stand for a whole class.
var unavailableCodes = []string{
	"08",    // This class is about connections.
	"25006", // The database is read-only: a standby answered.
	"53",    // The server is out of connections, memory or disk.
	"57014", // A statement exceeded its time limit.
	"57P01", // An administrator shut the server down.
	"57P02", // The server restarts after a crash.
	"57P03", // The server is starting or stopping.
	"57P05", // The server ended an idle session.
}

// Unavailable reports whether err means that the store cannot be reached or does not answer in time, as opposed to an
// answer that says no. A caller who left is neither.
func Unavailable(err error) bool {
	if err == nil || errors.Is(err, context.Canceled) {
		return false
	}
	if fromServer, ok := errors.AsType[*pq.Error](err); ok {
		return slices.ContainsFunc(unavailableCodes, func(code string) bool { return strings.HasPrefix(string(fromServer.Code), code) })
	}
	lost := []error{
		driver.ErrBadConn, sql.ErrConnDone, io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, context.DeadlineExceeded, os.ErrDeadlineExceeded,
	}
	var operation *net.OpError
	var name *net.DNSError
	return slices.ContainsFunc(lost, func(e error) bool { return errors.Is(err, e) }) || errors.As(err, &operation) || errors.As(err, &name)
}
