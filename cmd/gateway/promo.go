package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"umg/app"
	"umg/app/account"
	"umg/billing"
)

// promoCommands manage the promotion codes that people redeem under Billing.
type promoCommands struct {
	Create promoCreate `cmd:"" help:"Create a code that adds credit to each account that redeems it, once."`
	List   promoList   `cmd:"" help:"List the codes, the newest first."`
	End    promoEnd    `cmd:"" help:"End a code now. Credit that was granted stays."`
}

type promoCreate struct {
	databaseFlags

	Amount app.Amount `arg:"" help:"Dollars for each account, such as 10."`
	Code   string     `help:"The code: 6 to 40 letters and digits; default: a random one." placeholder:"CODE"`

	MaxRedemptions int       `help:"How many accounts may redeem the code." required:""`
	Until          time.Time `help:"Last day on which the code can be redeemed, UTC." required:"" format:"2006-01-02" placeholder:"YYYY-MM-DD"`
	CreditDays     int       `help:"Days until the credit expires; 0 is never." default:"0"`

	Reason string `help:"Reason, shown to operators only."`
}

// Run creates the code and prints it.
func (c *promoCreate) Run(ctx context.Context, log *slog.Logger) error {
	return withServices(ctx, c.databaseFlags, log, func(_ *database, accounts *account.Service, _ *billing.Ledger) (err error) {
		if c.Code == "" {
			if c.Code, err = accounts.NewPromoCode(); err != nil {
				return err
			}
		}
		p, err := accounts.CreatePromo(ctx, account.Promo{
			Code: c.Code, Amount: c.Amount, Times: c.MaxRedemptions, Days: c.CreditDays, Reason: c.Reason, CreatedBy: operatorName(),
			ExpiresAt: c.Until.AddDate(0, 0, 1),
		})
		if err == nil {
			fmt.Printf("%s gives $%s, %d times until %s\n", p.Code, p.Amount, p.Times, p.ExpiresAt.Format(time.RFC3339))
		}
		return err
	})
}

type promoList struct {
	databaseFlags
}

// Run prints a line for each code.
func (c *promoList) Run(ctx context.Context, log *slog.Logger) error {
	return withServices(ctx, c.databaseFlags, log, func(_ *database, accounts *account.Service, _ *billing.Ledger) error {
		list, err := accounts.Promos(ctx)
		if err != nil {
			return err
		}
		w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
		_, _ = fmt.Fprintln(w, "CODE\tAMOUNT\tREDEEMED\tENDS\tCREDIT LASTS\tMADE BY\tREASON")
		for _, p := range list {
			lasts := "no end"
			if p.Days > 0 {
				lasts = fmt.Sprintf("%d days", p.Days)
			}
			_, _ = fmt.Fprintf(w, "%s\t$%s\t%d of %d\t%s\t%s\t%s\t%s\n", p.Code, p.Amount, p.Redeemed, p.Times,
				p.ExpiresAt.UTC().Format("2006-01-02 15:04"), lasts, p.CreatedBy, strings.Join(strings.Fields(p.Reason), " "))
		}
		return w.Flush() // Flush returns the error of any earlier write.
	})
}

type promoEnd struct {
	databaseFlags

	Code string `arg:"" help:"The code."`
}

// Run ends the code.
func (c *promoEnd) Run(ctx context.Context, log *slog.Logger) error {
	return withServices(ctx, c.databaseFlags, log, func(_ *database, accounts *account.Service, _ *billing.Ledger) error {
		err := accounts.EndPromo(ctx, c.Code, operatorName())
		if err == nil {
			fmt.Println(c.Code, "has ended")
		}
		return err
	})
}
