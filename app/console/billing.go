package console

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"umg/app"
	"umg/billing"
	"umg/billing/stripe"
	"umg/views"
	billingpages "umg/views/billing"
)

const (
	billingPath = consolePath + "/billing"
	receiptsMax = 12 // receipts that the page shows
)

// billingRoutes are the pages about money. The rules are everybody's to read.
func billingRoutes() []Route {
	const (
		all   = "/billing"
		topUp = all + "/topups/:id"
	)
	get := func(path string, serve func(*Console, *page) error) Route {
		return Route{Method: http.MethodGet, Path: path, Right: app.ReadUsage, serve: serve}
	}
	post := func(path string, serve func(*Console, *page) error) Route {
		return Route{Method: http.MethodPost, Path: path, Right: app.ManageMoney, serve: withPayments(serve)}
	}
	return []Route{
		get(all, (*Console).billing), get(all+"/ledger", (*Console).ledger), get(all+"/ledger.csv", (*Console).exportLedger),
		get(all+"/ledger.json", (*Console).exportLedgerJSON),
		{Method: http.MethodGet, Path: all + "/rules", Open: true, serve: (*Console).rules},
		post(all+"/topups", (*Console).buyCredit), post(all+"/auto", (*Console).setAutoTopUp), post(all+"/low", (*Console).setLowBalance),
		post(all+"/portal", (*Console).openPortal),
		get(topUp, (*Console).topUp), get(topUp+"/progress", (*Console).topUpProgress),
	}
}

// payable reports whether credit can be bought on this server.
func (c *Console) payable() bool { return c.o.Payments != nil && c.o.Payments.Enabled() }

// withPayments keeps forms unknown where nothing can be bought.
func withPayments(serve func(*Console, *page) error) func(*Console, *page) error {
	return func(c *Console, p *page) error {
		if !c.payable() {
			return notFound(p)
		}
		return serve(c, p)
	}
}

func (c *Console) billing(p *page) error {
	b, err := c.billingPage(p)
	if err != nil {
		return err
	}
	return c.render(p, http.StatusOK, billingpages.OverviewPage(b))
}

// billingPage reads what the page shows. What the store does not answer in time is missing from it, and the page says so.
func (c *Console) billingPage(p *page) (billingpages.Overview, error) {
	ctx, id := p.Request().Context(), p.user.AccountID
	b := billingpages.Overview{Shell: c.shell(p)}
	credit, err := c.o.Ledger.Credit(ctx, id)
	if b.Failure, err = missing(p, err); err != nil {
		return b, err
	}
	b.Credit, b.Debt = viewCredit(credit), credit.Indebted
	sums, err := c.o.Ledger.Reconcile(ctx, id)
	absent, err := missing(p, err)
	if err != nil {
		return b, err
	}
	if absent == nil {
		b.Proof = &views.Proof{
			Usage: sums.Usage, Charges: sums.Charges, Entries: sums.Entries, Posted: sums.Posted, Grants: sums.Grants, At: sums.At,
		}
	}
	b.Spend, err = c.breakdown(p)
	if b.Spend.Failed, err = missing(p, err); err != nil {
		return b, err
	}
	if err := c.fillLimit(p, &b); err != nil {
		return b, err
	}
	return b, c.fillPayments(p, &b)
}

// missing turns a store that is away into the note on the page that a part of it is missing. Other faults come back.
func missing(p *page, err error) (*views.LoadFailure, error) {
	if err != nil && app.KindOf(err) == app.Unavailable {
		return &views.LoadFailure{RequestID: p.Response().Header().Get(echo.HeaderXRequestID)}, nil
	}
	return nil, err
}

func viewCredit(c billing.Credit) views.Credit {
	return views.Credit{
		Available: c.Spendable(), Trial: c.Trial, TrialExpires: c.TrialExpires, Purchased: c.Purchased, Granted: c.Granted,
		Held: c.Held - c.Leased, Owed: c.Owed,
	}
}

// breakdown is what a month's credit went to, as the address of the page asks.
func (c *Console) breakdown(p *page) (billingpages.Breakdown, error) {
	b := billingpages.Breakdown{Query: billingpages.ParseSpendQuery(p.QueryParams(), c.o.Now())}
	q := billing.UsageQuery{AccountID: p.user.AccountID, From: b.Query.Month, To: b.Query.Month.AddDate(0, 1, 0)}
	names := map[string]string{}
	switch b.Query.By {
	case billingpages.SpendByKey:
		q.Group = billing.ByKey
		keys, err := c.o.Accounts.Keys(p.Request().Context(), p.principal())
		if err != nil {
			return b, err
		}
		for _, k := range keys {
			names[k.ID] = k.Name
		}
	case billingpages.SpendByDay:
		q.Step = billing.Daily
	default:
		q.Group = billing.ByModel
	}
	report, err := c.o.Ledger.UsageReport(p.Request().Context(), q)
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

func spendLine(by string, line billing.UsageLine, names map[string]string) billingpages.SpendLine {
	l := billingpages.SpendLine{Name: line.Group, Requests: line.Requests, Cost: line.Cost}
	switch by {
	case billingpages.SpendByDay:
		l.Name = line.Start.UTC().Format("Mon 2 Jan")
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

// fillPayments adds what the payment service is needed for. What was bought is shown also where nothing can be any more.
func (c *Console) fillPayments(p *page, b *billingpages.Overview) error {
	if c.o.Payments == nil {
		return nil
	}
	list, err := c.o.Payments.Topups(p.Request().Context(), p.user.AccountID, receiptsMax+1)
	failure, err := missing(p, err)
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
	b.Pay.Failure, err = missing(p, c.fillSettings(p, b))
	return err
}

func (c *Console) fillSettings(p *page, b *billingpages.Overview) error {
	ctx, id := p.Request().Context(), p.user.AccountID
	auto, err := c.o.Payments.AutoTopup(ctx, id)
	if err != nil {
		return err
	}
	low, err := c.o.Payments.LowBalance(ctx, id)
	if err != nil {
		return err
	}
	b.Pay.Auto, b.Pay.Low = viewAutoTopUp(auto, b.Credit.Available), billingpages.LowBalance{Threshold: low.String(), Email: p.user.Email}
	return nil
}

// topUpStates are the states as the pages know them.
var topUpStates = map[stripe.State]string{
	stripe.Created: billingpages.TopUpWaiting, stripe.Open: billingpages.TopUpWaiting, stripe.Paid: billingpages.TopUpPaid,
	stripe.Expired: billingpages.TopUpExpired,
	stripe.Failed:  billingpages.TopUpFailed, stripe.PartlyRefunded: billingpages.TopUpPartly, stripe.Refunded: billingpages.TopUpRefunded,
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
func (c *Console) rules(p *page) error {
	r := billingpages.Rules{Shell: c.shell(p)}
	for _, row := range billing.Rules() {
		r.Rows = append(r.Rows, views.SettlementRule{
			Reason: string(row.Reason), Outcome: row.Outcome, When: row.When, Charge: string(row.Charge), Text: row.Text,
			Estimated: row.Estimated, Recorded: row.Recorded,
		})
	}
	return c.render(p, http.StatusOK, billingpages.RulesPage(r))
}
