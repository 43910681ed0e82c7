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
	Add        operatorAdd        `cmd:"" help:"Make a user an operator of this gateway."`
	ResetLink  operatorReset      `cmd:"" help:"Print a link to set a new password, for a server that sends no mail."`
	DisableMFA operatorDisableMFA `cmd:"" name:"disable-mfa" help:"Disable multi-factor authentication of a user without device and codes."`
}

// emailArg is a user as an operator names one.
type emailArg struct {
	databaseFlags
	Email string `arg:"" help:"E-mail address the user signed up with."`
}

// change changes the user, and prints the e-mail address with the result.
func (a *emailArg) change(ctx context.Context, log *slog.Logger, result string, do func(*account.Service) error) error {
	return withServices(ctx, a.databaseFlags, log, func(_ *database, users *account.Service, _ *billing.Ledger) error {
		err := do(users)
		if err == nil {
			fmt.Println(a.Email, result)
		}
		return err
	})
}

type operatorAdd struct{ emailArg }

// Run sets the flag.
func (c *operatorAdd) Run(ctx context.Context, log *slog.Logger) error {
	return c.change(ctx, log, "is an operator", func(users *account.Service) error {
		return users.MakeOperator(ctx, commandPrincipal("", "operator add").From, c.Email)
	})
}

type operatorReset struct {
	databaseFlags
	BaseURL string `env:"UMG_BASE_URL" default:"http://localhost:8080" help:"URL that users reach the server at." placeholder:"URL"`
	Email   string `arg:"" help:"E-mail address the user signed up with."`
}

// Run prints the link, which works once, for one hour. The user can then sign in with the new password, and with a code where
// multi-factor authentication is on.
func (c *operatorReset) Run(ctx context.Context, log *slog.Logger) error {
	return withServices(ctx, c.databaseFlags, log, func(_ *database, accounts *account.Service, _ *billing.Ledger) error {
		path, err := accounts.MakeResetLink(ctx, commandPrincipal("", "operator reset-link").From, c.Email)
		if err != nil {
			return err
		}
		fmt.Println(strings.TrimSuffix(c.BaseURL, "/") + path)
		return nil
	})
}

type operatorDisableMFA struct{ emailArg }

// Run disables multi-factor authentication.
func (c *operatorDisableMFA) Run(ctx context.Context, log *slog.Logger) error {
	return c.change(ctx, log, "signs in with the password alone", func(users *account.Service) error {
		return users.RemoveTOTP(ctx, c.Email)
	})
}
