// Package postgres connects the gateway to its database: it opens pools, runs transactions and migrations, and listens for
// notifications. Start with a configured address or that of a server of package local, and call Open.
package postgres

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"
)

// These limits apply to a pool. A statement that takes longer than statementMax fails, because a quick 503 serves callers better than a
// long queue.
const (
	connectionsMax = 24
	idleTimeMax    = 5 * time.Minute
	lifetimeMax    = time.Hour
	connectMax     = 5 * time.Second         // A listener, for which no caller waits, may take this long to connect.
	poolConnectMax = 2500 * time.Millisecond // Callers get an error within 3 s when packets to the database are lost.
	statementMax   = 2 * time.Second
)

// Options configure a pool. Zero values take the defaults that serve requests.
type Options struct {
	Name         string        // Name is the application_name that pg_stat_activity shows.
	Connections  int           // At most this many connections are open.
	StatementMax time.Duration // StatementMax is the statement_timeout. A negative one means none, for migrations.
	OneCore      bool          // OneCore keeps each statement from using more than one core of the database.
}

// Queryer is what a store function needs: a pool, a connection or a transaction, so that the caller decides what is atomic.
type Queryer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryxContext(ctx context.Context, query string, args ...any) (*sqlx.Rows, error)
	QueryRowxContext(ctx context.Context, query string, args ...any) *sqlx.Row
	GetContext(ctx context.Context, dest any, query string, args ...any) error
	SelectContext(ctx context.Context, dest any, query string, args ...any) error
}

// Open returns a pool whose first connection works. Parameters travel with their statement in one round trip (binary
// parameters of lib/pq), so JSON for a jsonb column is passed as a string, never as bytes.
func Open(ctx context.Context, dsn string, o Options) (*sqlx.DB, error) {
	cfg, err := pq.NewConfig(dsn)
	if err != nil {
		return nil, addressError(err)
	}
	cfg.BinaryParameters = true
	cfg.TZ = "UTC"
	if cfg.ApplicationName == "" {
		cfg.ApplicationName = cmp.Or(o.Name, "umg")
	}
	if cfg.ConnectTimeout == 0 {
		cfg.ConnectTimeout = poolConnectMax
	}
	if cfg.Runtime == nil {
		cfg.Runtime = map[string]string{}
	}
	if o.OneCore {
		cfg.Runtime["max_parallel_workers_per_gather"] = "0"
	}
	limit := cmp.Or(o.StatementMax, statementMax)
	if limit > 0 {
		cfg.Runtime["statement_timeout"] = strconv.FormatInt(limit.Milliseconds(), 10)
	}
	connector, err := pq.NewConnectorConfig(cfg)
	if err != nil {
		return nil, addressError(err)
	}
	if limit > 0 {
		connector.Dialer(boundedDialer{limit: limit + answerSlack})
	}
	db := sqlx.NewDb(sql.OpenDB(boundedConnector{connector}), "postgres")
	open := cmp.Or(o.Connections, connectionsMax)
	db.SetMaxOpenConns(open)
	db.SetMaxIdleConns(open) // With fewer, the pool would close and open connections under load.
	db.SetConnMaxIdleTime(idleTimeMax)
	db.SetConnMaxLifetime(lifetimeMax)
	if err := db.PingContext(ctx); err != nil {
		_ = db.Close()
		return nil, fmt.Errorf("postgres: open: %w", err)
	}
	return db, nil
}

// addressError describes what is wrong with an address without repeating it, because it may contain a password. The driver quotes
// the address, or the invalid part, unless only the value of a known parameter is wrong.
func addressError(err error) error {
	if text := err.Error(); strings.HasPrefix(text, "pq: wrong value for ") {
		return fmt.Errorf("postgres: the database address cannot be used: %s", text)
	}
	return errors.New("postgres: the database address cannot be read: it must be postgres://USER:PASSWORD@HOST:PORT/DATABASE, " +
		"with special characters of the password as %XX, or host=… user=… password=… dbname=…")
}

// withConnectTimeout adds a bound for one dial to an address that has none.
func withConnectTimeout(dsn string, limit time.Duration) string {
	separator := " "
	switch isURL := strings.HasPrefix(dsn, "postgres://") || strings.HasPrefix(dsn, "postgresql://"); {
	case strings.Contains(dsn, "connect_timeout"):
		return dsn
	case isURL && strings.Contains(dsn, "?"):
		separator = "&"
	case isURL:
		separator = "?"
	}
	return dsn + separator + "connect_timeout=" + strconv.Itoa(int(limit/time.Second))
}
