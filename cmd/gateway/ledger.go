package main

import (
	"context"
	"fmt"
	"log/slog"

	"umg/billing"
)

type booksCommand struct {
	storeFlags
}

// Run prints each invariant and whether it holds.
func (c *booksCommand) Run(ctx context.Context, log *slog.Logger) error {
	return withStore(ctx, c.storeFlags, log, func(s *store) error {
		checks, err := billing.Books(ctx, s.db)
		if err != nil {
			return err
		}
		broken := 0
		for _, check := range checks {
			verdict := "holds "
			if !check.Holds {
				verdict = "BROKEN"
				broken++
			}
			fmt.Println(verdict, check.Name, check.Detail)
		}
		if broken > 0 {
			return fmt.Errorf("%d of %d invariants do not hold", broken, len(checks))
		}
		fmt.Println("the books balance")
		return nil
	})
}
