package console

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"umg/app"
	"umg/app/console/page"
	"umg/billing"
	"umg/billing/stripe"
	"umg/billing/usage"
	"umg/views"
	billingpages "umg/views/billing"
	"umg/views/format"
)

const (
	billingPath = page.ConsolePath + "/billing"
	receiptsMax = 12
)

// billingRoutes are the pages about money. Visitors may read the rules of settlement.
func (c *Console) billingRoutes() []page.Route {
	const (
		all   = "/billing"
		topUp = all + "/topups/:id"
	)
	a, pay := page.Area{Right: app.ReadUsage}, page.Area{Right: app.ManageMoney, Missing: !c.payable()}
	return []page.Route{
		a.Get(all, c.billing), a.Get(all+"/ledger", c.ledger), a.Get(all+"/ledger.csv", c.exportLedger),
		a.Get(all+"/ledger.json", c.exportLedgerJSON),
		page.Area{Open: true}.Get(all+"/rules", c.rules),
		pay.Post(all+"/topups", c.buyCredit), pay.Post(all+"/auto", c.setAutoTopUp), pay.Post(all+"/low", c.setLowBalance),
		pay.Post(all+"/portal", c.openPortal),
		a.Get(topUp, c.topUp), a.Get(topUp+"/progress", c.topUpProgress),
	}
}

// payable reports whether credit can be bought on this server.
func (c *Console) payable() bool { return c.o.Payments != nil && c.o.Payments.Enabled() }

func (c *Console) billing(p *page.Page) error {
	b, err := c.billingPage(p)
	return page.Show(c.Renderer, p, http.StatusOK, billingpages.OverviewPage, b, err)
}

// billingPage reads what the page shows. A part that cannot be read in time is missing, and the page says so.
func (c *Console) billingPage(p *page.Page) (billingpages.Overview, error) {
	ctx, id := p.Request().Context(), p.User.AccountID
	b := billingpages.Overview{Shell: c.Shell(p)}
	credit, err := c.o.Ledger.Credit(ctx, id)
	if b.Failure, err = page.Unavailable(p, err); err != nil {
		return b, err
	}
	b.Credit, b.Debt = page.ViewCredit(credit), credit.Indebted
	sums, err := c.o.Ledger.Reconcile(ctx, id)
	absent, err := page.Unavailable(p, err)
	if err != nil {
		return b, err
	}
	if absent == nil {
		b.Proof = &views.Proof{
			Usage: sums.Usage, Charges: sums.Charges, Entries: sums.Entries, Posted: sums.Posted, Grants: sums.Grants, At: sums.At,
		}
	}
	b.Spend, err = c.breakdown(p)
	if b.Spend.Failed, err = page.Unavailable(p, err); err != nil {
		return b, err
	}
	if err := c.fillLimit(p, &b); err != nil {
		return b, err
	}
	return b, c.fillPayments(p, &b)
}

// breakdown divides the spend of a month by model, key or day, as the address of the page asks.
func (c *Console) breakdown(p *page.Page) (billingpages.Breakdown, error) {
	b := billingpages.Breakdown{Query: billingpages.ParseSpendQuery(p.QueryParams(), c.o.Now())}
	q := usage.Query{AccountID: p.User.AccountID, From: b.Query.Month, To: b.Query.Month.AddDate(0, 1, 0)}
	var names map[string]string
	switch b.Query.By {
	case billingpages.SpendByKey:
		q.Group = usage.ByKey
		var err error
		if names, err = c.keyNames(p); err != nil {
			return b, err
		}
	case billingpages.SpendByDay:
		q.Step = usage.Daily
	default:
		q.Group = usage.ByModel
	}
	report, err := c.o.Reports.Report(p.Request().Context(), q)
	if err != nil {
		return b, err
	}
	b.Total = billingpages.SpendLine{Requests: report.Total.Requests, Cost: report.Total.Cost}
	for _, line := range report.Lines {
		b.Lines = append(b.Lines, spendLine(b.Query.By, line, names))
	}
	if b.Query.By != billingpages.SpendByDay {
		slices.SortStableFunc(b.Lines, func(x, y billingpages.SpendLine) int {
			return cmp.Or(cmp.Compare(y.Cost, x.Cost), strings.Compare(x.Name, y.Name))
		})
	}
	return b, nil
}

func spendLine(by string, line usage.Line, names map[string]string) billingpages.SpendLine {
	l := billingpages.SpendLine{Name: line.Group, Requests: line.Requests, Cost: line.Cost}
	switch by {
	case billingpages.SpendByDay:
		l.Name = line.Start.UTC().Format("Mon " + format.ShortDayForm)
	case billingpages.SpendByKey:
		name, known := names[line.Group]
		switch {
		case line.Group == "":
			l.Name = "Playground"
		case known:
			l.Name = name
		default:
			l.Name, l.Note = "Deleted key", line.Group
		}
	}
	return l
}

// fillPayments adds receipts and the forms of payments. Receipts are also shown when credit can no longer be bought.
func (c *Console) fillPayments(p *page.Page, b *billingpages.Overview) error {
	if c.o.Payments == nil {
		return nil
	}
	list, err := c.o.Payments.Topups(p.Request().Context(), p.User.AccountID, receiptsMax+1)
	failure, err := page.Unavailable(p, err)
	if err != nil {
		return err
	}
	b.MoreReceipts = len(list) > receiptsMax
	for _, t := range list[:min(len(list), receiptsMax)] {
		b.Receipts = append(b.Receipts, viewTopUp(t))
	}
	if !c.payable() {
		return nil
	}
	b.Pay = &billingpages.Payments{TopUp: billingpages.NewTopUpForm(c.o.IDs.New(payKeyPrefix)), Failure: failure}
	if failure != nil {
		return nil
	}
	b.Pay.Failure, err = page.Unavailable(p, c.fillSettings(p, b))
	return err
}

func (c *Console) fillSettings(p *page.Page, b *billingpages.Overview) error {
	ctx, id := p.Request().Context(), p.User.AccountID
	auto, err := c.o.Payments.AutoTopup(ctx, id)
	if err != nil {
		return err
	}
	low, err := c.o.Payments.LowBalance(ctx, id)
	if err != nil {
		return err
	}
	b.Pay.Auto, b.Pay.Low = viewAutoTopUp(auto, b.Credit.Available), billingpages.LowBalance{Threshold: low.String(), Email: p.User.Email}
	return nil
}

// topUpStates maps the states of the payment service to those of the pages.
var topUpStates = map[stripe.State]string{
	stripe.Created: billingpages.TopUpWaiting, stripe.Open: billingpages.TopUpWaiting,
	stripe.Paid: billingpages.TopUpPaid, stripe.Expired: billingpages.TopUpExpired,
	stripe.Failed: billingpages.TopUpFailed, stripe.PartlyRefunded: billingpages.TopUpPartly, stripe.Refunded: billingpages.TopUpRefunded,
	stripe.Disputed: billingpages.TopUpDisputed, stripe.Won: billingpages.TopUpWon, stripe.Lost: billingpages.TopUpLost,
}

func viewTopUp(t stripe.Topup) billingpages.TopUp {
	state, known := topUpStates[t.State]
	if !known {
		state = strings.ToLower(string(t.State))
	}
	return billingpages.TopUp{
		ID: t.ID, Amount: ofCents(t.Cents), Refunded: ofCents(t.RefundedCents), State: state, Failure: t.Failure, ReceiptURL: t.ReceiptURL,
		CreatedAt: t.CreatedAt, PaidAt: t.PaidAt, Auto: t.Auto,
	}
}

func ofCents(cents int64) app.Amount { return app.Amount(cents) * app.Cent }

// rules shows how every way in which a call can end is settled.
func (c *Console) rules(p *page.Page) error {
	r := billingpages.Rules{Shell: c.Shell(p)}
	for _, row := range billing.Rules() {
		r.Rows = append(r.Rows, viewRule(row))
	}
	return c.Render(p, http.StatusOK, billingpages.RulesPage(r))
}

func viewRule(r billing.Rule) views.SettlementRule {
	return views.SettlementRule{
		Reason: string(r.Reason), Outcome: r.Outcome, When: r.When, Charge: string(r.Charge), Text: r.Text, Estimated: r.Estimated,
		Recorded: r.Recorded,
	}
}
