package main

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"umg/app/account"
	"umg/billing"
)

type operatorCommands struct {
	Add       operatorAdd   `cmd:"" help:"Let a user run the gateway."`
	ResetLink operatorReset `cmd:"" help:"Print a link with which a user sets a new password, for a server that sends no mail."`
	TOTPOff   operatorTOTP  `cmd:"" name:"totp-off" help:"Turn off the sign-in codes of a user who lost their device and all recovery codes."`
}

type operatorAdd struct {
	storeFlags
	Email string `arg:"" help:"E-mail address the user signed up with."`
}

// Run sets the flag.
func (c *operatorAdd) Run(ctx context.Context, log *slog.Logger) error {
	return withServices(ctx, c.storeFlags, log, func(_ *store, accounts *account.Service, _ *billing.Ledger) error {
		if err := accounts.MakeOperator(ctx, commandPrincipal("", "operator add").From, c.Email); err != nil {
			return err
		}
		fmt.Println(c.Email, "is an operator")
		return nil
	})
}

type operatorReset struct {
	storeFlags
	BaseURL string `env:"UMG_BASE_URL" default:"http://localhost:8080" help:"Address the server is reached at." placeholder:"URL"`
	Email   string `arg:"" help:"E-mail address the user signed up with."`
}

// Run prints the link, which works once, for one hour. Its holder takes over the account, unless the account requires sign-in
// codes.
func (c *operatorReset) Run(ctx context.Context, log *slog.Logger) error {
	return withServices(ctx, c.storeFlags, log, func(_ *store, accounts *account.Service, _ *billing.Ledger) error {
		path, err := accounts.MakeResetLink(ctx, c.Email)
		if err != nil {
			return err
		}
		fmt.Println(strings.TrimSuffix(c.BaseURL, "/") + path)
		return nil
	})
}

type operatorTOTP struct {
	storeFlags
	Email string `arg:"" help:"E-mail address the user signed up with."`
}

// Run removes the second step of signing in.
func (c *operatorTOTP) Run(ctx context.Context, log *slog.Logger) error {
	return withServices(ctx, c.storeFlags, log, func(_ *store, accounts *account.Service, _ *billing.Ledger) error {
		if err := accounts.RemoveTOTP(ctx, c.Email); err != nil {
			return err
		}
		fmt.Println(c.Email, "signs in with the password alone")
		return nil
	})
}
