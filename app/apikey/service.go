// Package apikey manages the API keys of accounts: it makes, rotates and ends them, recognises their secrets, and notifies people of
// their budgets and leaks. Make a Service with New for changes, and a Cache with NewCache for requests; keep the Run of both running.
package apikey

import (
	"context"
	"io"
	"log/slog"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/audit"
	"umg/app/mail"
	"umg/app/postgres"
	"umg/app/workqueue"
	"umg/billing"
)

// Accounts is what the service needs to know of accounts and their members.
type Accounts interface {
	// LockKeyMaker locks the principal who makes a key in a transaction, and refuses one who may not make it.
	LockKeyMaker(ctx context.Context, tx *sqlx.Tx, p app.Principal, scopes []app.Scope) error
	// AdmitLeakReports counts reports of leaked keys from an address, and refuses more than the limit.
	AdmitLeakReports(ctx context.Context, ip string, count int) error
	// Recipients are the addresses of the members with one of the roles who receive mails about an event.
	Recipients(ctx context.Context, q postgres.Queryer, accountID, event string, roles ...app.Role) ([]string, error)
}

// Options configure a service. Accounts, Ledger, Now, IDs, Random and Log are required.
type Options struct {
	Accounts Accounts
	Ledger   *billing.Ledger
	Now      app.Clock
	IDs      app.IDs
	Random   io.Reader
	Log      *slog.Logger
	Mail     mail.Sender // Without it, no one is notified of budgets and leaked keys.
	BaseURL  string      // BaseURL is the scheme and host of links in mails.
}

// Service makes, changes and ends the API keys of accounts.
type Service struct {
	db    *sqlx.DB
	o     Options
	audit *audit.Log
}

// New returns the service. It panics when a required option is missing.
func New(db *sqlx.DB, o Options) *Service {
	if db == nil || o.Accounts == nil || o.Ledger == nil || o.Now == nil || o.IDs.Now == nil || o.IDs.Random == nil || o.Random == nil ||
		o.Log == nil {
		panic("apikey.New: db and Options.Accounts, Ledger, Now, IDs, Random and Log are required")
	}
	return &Service{db: db, o: o, audit: audit.New(db, o.Now, o.IDs)}
}

// Run notifies people of the budgets of their keys until ctx ends. Any number of replicas may run it. It returns ctx's error.
func (s *Service) Run(ctx context.Context) error {
	workqueue.Run(ctx, s.o.Log,
		workqueue.Task{Name: "send budget alerts", Every: budgetAlertEvery, Work: workqueue.Repeat(s.sendBudgetAlerts)})
	return ctx.Err()
}
