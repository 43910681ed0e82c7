package main

import (
	"context"
	"log/slog"

	"umg/app/account"
	"umg/app/operator"
	"umg/billing"
)

type limitsCommand struct {
	storeFlags
	Account string `arg:"" help:"Account id, or the e-mail address of its owner."`
	Factor  int    `arg:"" help:"How many times the usual limits of calls at once and of models the account has."`
}

// Run sets the factor; running servers follow within a second.
func (c *limitsCommand) Run(ctx context.Context, log *slog.Logger) error {
	return withServices(ctx, c.storeFlags, log, func(_ *store, accounts *account.Service, _ *billing.Ledger) error {
		id, err := accounts.Resolve(ctx, c.Account)
		if err != nil {
			return err
		}
		return accounts.SetLimitFactor(ctx, commandPrincipal(id, "limits"), c.Factor)
	})
}

type creditFreeze struct {
	accountArg

	Reason string `required:"" help:"Why; the account's people read it."`
}

// Run freezes the account. Running calls end as usual.
func (c *creditFreeze) Run(ctx context.Context, log *slog.Logger) error {
	return c.deal(ctx, log, "credit freeze", "frozen", operator.Adjustment{Kind: operator.Freeze, Reason: c.Reason})
}

type creditUnfreeze struct{ accountArg }

// Run lets the account spend again.
func (c *creditUnfreeze) Run(ctx context.Context, log *slog.Logger) error {
	return c.deal(ctx, log, "credit unfreeze", "not frozen", operator.Adjustment{Kind: operator.Unfreeze})
}
