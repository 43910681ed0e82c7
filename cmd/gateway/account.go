package main

import (
	"context"
	"log/slog"

	"umg/app/account"
	"umg/app/operator"
	"umg/billing"
)

type accountCommands struct {
	SetLimitMultiplier accountSetLimitMultiplier `cmd:"" help:"Multiply the limits of an account."`
	Freeze             accountFreeze             `cmd:"" help:"Block an account from spending credit."`
	Unfreeze           accountUnfreeze           `cmd:"" help:"Let a frozen account spend credit again."`
}

type accountSetLimitMultiplier struct {
	accountArg

	Multiplier int `arg:"" help:"Multiplier of the account's usual concurrency and model limits; 1 is the usual limit."`
}

// Run sets the multiplier. Running servers apply it within a second.
func (c *accountSetLimitMultiplier) Run(ctx context.Context, log *slog.Logger) error {
	return withServices(ctx, c.databaseFlags, log, func(_ *database, accounts *account.Service, _ *billing.Ledger) error {
		id, err := accounts.Resolve(ctx, c.Account)
		if err != nil {
			return err
		}
		return accounts.SetLimitFactor(ctx, commandPrincipal(id, "account set-limit-multiplier"), c.Multiplier)
	})
}

type accountFreeze struct {
	accountArg

	Reason string `required:"" help:"Reason, shown to the members of the account."`
}

// Run freezes the account. Running calls end as usual.
func (c *accountFreeze) Run(ctx context.Context, log *slog.Logger) error {
	return c.adjust(ctx, log, "account freeze", "frozen", operator.Adjustment{Kind: operator.Freeze, Reason: c.Reason})
}

type accountUnfreeze struct{ accountArg }

// Run lets the account spend credit again.
func (c *accountUnfreeze) Run(ctx context.Context, log *slog.Logger) error {
	return c.adjust(ctx, log, "account unfreeze", "not frozen", operator.Adjustment{Kind: operator.Unfreeze})
}
