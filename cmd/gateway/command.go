package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"umg/app"
	"umg/app/account"
	"umg/app/operator"
	"umg/app/postgres"
	"umg/app/postgres/local"
	"umg/billing"
)

// withDatabase runs work with the database that the flags select.
func withDatabase(ctx context.Context, flags databaseFlags, log *slog.Logger, work func(*database) error) error {
	s, err := commandDatabase(ctx, flags, log)
	if err != nil {
		return err
	}
	return errors.Join(work(s), s.close())
}

// withServices runs work with the services of accounts and of the ledger.
func withServices(
	ctx context.Context, flags databaseFlags, log *slog.Logger, work func(*database, *account.Service, *billing.Ledger) error,
) error {
	return withDatabase(ctx, flags, log, func(s *database) error {
		clock, err := postgres.NewClock(ctx, s.db, time.Now, log)
		if err != nil {
			return err
		}
		ids := app.IDs{Now: clock.Now, Random: rand.Reader}
		ledger := billing.NewLedger(s.db, billing.Options{Now: clock.Now, IDs: ids, Log: log})
		return work(s, account.New(s.db, ledger, account.Options{
			Now: clock.Now, IDs: ids, Random: rand.Reader, Log: log,
		}), ledger)
	})
}

// accountArg is an account as an operator names it: by id or by e-mail address.
type accountArg struct {
	databaseFlags

	Account string `arg:"" help:"Account id, or the e-mail address of its owner."`
}

// adjust performs an adjustment of the account, records it in the account's audit log, and prints the result with the balance.
func (a *accountArg) adjust(ctx context.Context, log *slog.Logger, command, result string, adjustment operator.Adjustment) error {
	return withServices(ctx, a.databaseFlags, log, func(s *database, accounts *account.Service, ledger *billing.Ledger) error {
		id, err := accounts.Resolve(ctx, a.Account)
		if err != nil {
			return err
		}
		service := operator.New(s.db, operator.Options{Ledger: ledger, Now: time.Now, IDs: app.IDs{Now: time.Now, Random: rand.Reader}})
		adjustment.AccountID, adjustment.Operator = id, operatorName()
		adjustment.From, adjustment.Once = commandPrincipal(id, command).From, service.Once()
		if _, err = service.Do(ctx, adjustment); err != nil {
			return err
		}
		b, err := ledger.Balance(ctx, id)
		fmt.Printf("%s: %s, balance $%s, available $%s\n", id, result, b.Posted, b.Available())
		return err
	})
}

// commandPrincipal is the principal of an operator who acts on an account with a command.
func commandPrincipal(accountID, command string) app.Principal {
	return app.Principal{AccountID: accountID, From: app.Origin{Agent: "gateway " + command}}
}

// operatorName is the name of the command's user in the ledger.
func operatorName() string {
	if name := os.Getenv("USER"); name != "" {
		return name
	}
	return "operator"
}

// commandDatabase opens the database for an operator's command: the configured one, the one of a running server on the same data
// folder, or the local cluster, started for the duration of the command.
func commandDatabase(ctx context.Context, flags databaseFlags, log *slog.Logger) (*database, error) {
	o := postgres.Options{Name: "gateway command", Connections: 4, StatementMax: commandTimeMax}
	if flags.DatabaseURL != "" {
		return openDatabase(ctx, flags, o, log)
	}
	dsn, err := local.RunningDSN(ctx, flags.Data, knownAddress(flags.Data)...)
	if err != nil {
		return nil, err
	}
	if dsn != "" {
		db, err := postgres.Open(ctx, dsn, o)
		if err != nil {
			return nil, fmt.Errorf("database: %w", err)
		}
		return &database{db: db, dsn: dsn, flags: flags, log: log}, nil
	}
	return openDatabase(ctx, flags, o, log)
}

// knownAddress returns the content of the address file. A copied data folder may contain the address of the original.
func knownAddress(dataDir string) []string {
	text, err := os.ReadFile(addressFile(dataDir))
	if address := strings.TrimSpace(string(text)); err == nil && address != "" {
		return []string{address}
	}
	return nil
}
