package main

import (
	"context"
	"fmt"
	"log/slog"

	"umg/app/catalog"
	"umg/billing"
)

type ledgerCommands struct {
	Verify    ledgerVerify    `cmd:"" help:"Check every invariant and the cost of every record. The exit status is 1 when one is violated."`
	Reconcile ledgerReconcile `cmd:"" help:"Compare a provider's own export with the usage records. The exit status is 1 when they differ."`
}

type ledgerVerify struct {
	databaseFlags
}

// Run prints a line for each invariant.
func (c *ledgerVerify) Run(ctx context.Context, log *slog.Logger) error {
	return withDatabase(ctx, c.databaseFlags, log, func(s *database) error {
		checks, err := billing.Books(ctx, s.db)
		if err != nil {
			return err
		}
		costs, err := billing.CheckCosts(ctx, s.db, func(ctx context.Context, id string) ([]billing.RateCard, error) {
			return catalog.LoadCards(ctx, s.db, id)
		}, func(ctx context.Context, id string) ([]billing.RateCard, error) {
			card, err := catalog.LoadCostCard(ctx, s.db, id)
			return []billing.RateCard{card}, err
		})
		if err != nil {
			return err
		}
		checks = append(checks, costs)
		violated := 0
		for _, check := range checks {
			result := "ok      "
			if !check.Holds {
				result = "VIOLATED"
				violated++
			}
			fmt.Println(result, check.Name, check.Detail)
		}
		if violated > 0 {
			return fmt.Errorf("%d of %d invariants of the ledger are violated", violated, len(checks))
		}
		fmt.Println("all invariants of the ledger hold")
		return nil
	})
}
