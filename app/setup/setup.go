package setup

import (
	"io"
	"log/slog"
	"sync/atomic"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/account"
	"umg/app/audit"
	"umg/app/catalog"
	"umg/app/provider"
	"umg/billing"
)

// Options configure a service. All but CheckValue, Addresses and Credit are required.
type Options struct {
	DB        *sqlx.DB
	Accounts  *account.Service
	Ledger    *billing.Ledger
	Catalog   *catalog.Catalog
	Providers *provider.Client
	// Env finds the values of variables.
	Env catalog.SecretLookup
	// CheckValue returns why a credential cannot be used; it may be nil.
	CheckValue func(catalog.Auth, catalog.Secret) error
	// Addresses has other base URLs than those of the presets, by preset.
	Addresses map[string]string
	// Credit is what the account of the first operator gets; zero means none.
	Credit app.Amount
	Now    app.Clock
	IDs    app.IDs
	Random io.Reader
	Log    *slog.Logger
}

// Service takes a gateway into operation.
type Service struct {
	o     Options
	audit *audit.Log
	// code is the code of this process. It is empty before Begin and for a gateway with an operator.
	code atomic.Pointer[string]
	// claimed is set once the gateway has an operator, which it then always has.
	claimed atomic.Bool
}

// New returns the service. It panics when a required option is missing.
func New(o Options) *Service {
	app.RequireOptions("setup.New", map[string]bool{
		"Options.DB": o.DB != nil, "Options.Accounts": o.Accounts != nil, "Options.Ledger": o.Ledger != nil, "Options.Catalog": o.Catalog != nil,
		"Options.Providers": o.Providers != nil, "Options.Env": o.Env != nil, "Options.Now": o.Now != nil, "Options.IDs.Now": o.IDs.Now != nil,
		"Options.IDs.Random": o.IDs.Random != nil, "Options.Random": o.Random != nil, "Options.Log": o.Log != nil,
	})
	return &Service{o: o, audit: audit.New(o.DB, o.Now, o.IDs)}
}

// Find returns the providers whose credentials are in the environment of this process.
func (s *Service) Find() []Found { return Find(s.o.Env, s.o.Addresses) }

// Credit is what the account of the first operator gets.
func (s *Service) Credit() app.Amount { return s.o.Credit }
