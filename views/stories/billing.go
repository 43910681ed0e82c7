package stories

import (
	"net/url"
	"slices"
	"time"

	"github.com/a-h/templ"

	"umg/app"
	"umg/views"
	billingpages "umg/views/billing"
)

const topUpID = "topup_01kb4a6zt4h2s8j5y7r3w9mvkd"

// billing is every state of the pages about money.
func billing() []Story {
	return slices.Concat(billingPages(), limitPages(), topUps(), ledgerPages(), rulePages())
}

func billingStory(name, title string, status int, balance views.Balance, change func(*billingpages.Overview)) Story {
	return Story{Name: name, Group: "Billing", Title: title, Status: status, Path: "/console/billing",
		Adjust: func(s *views.Shell) { s.Balance = balance },
		View: func(s views.Shell) templ.Component {
			b := billingpages.Overview{Shell: s, Credit: fullCredit(), Proof: exactProof(), Spend: spendOf(billingpages.SpendByModel),
				Pay: payments()}
			b.Receipts, b.Limit = exampleTopUps(), monthLimit(31_482_905_118)
			change(&b)
			return billingpages.OverviewPage(b)
		}}
}

func full() views.Balance {
	return views.Balance{Known: true, Available: 53_236_331_450, LowAt: app.Dollar}
}

func fullCredit() views.Credit {
	expires := Now().Add(30 * 24 * time.Hour)
	return views.Credit{
		Available: 53_236_331_450, Trial: 4_998_731_450, TrialExpires: &expires, Purchased: 45_750_000_000,
		Granted: 2_500_000_000, Held: 12_400_000,
	}
}

func exactProof() *views.Proof {
	return &views.Proof{
		Usage: 31_482_905_118, Charges: 31_482_905_118, Entries: 53_248_731_450, Posted: 53_248_731_450, Grants: 53_248_731_450,
		At: at(3 * time.Second),
	}
}

func payments() *billingpages.Payments {
	return &billingpages.Payments{
		TopUp: billingpages.NewTopUpForm("pay_01kb4a00000000000000000001"),
		Auto:  billingpages.AutoTopUp{Threshold: "10", Amount: "50", Cap: "200", HasCard: true, Balance: 53_236_331_450},
		Low:   billingpages.LowBalance{Threshold: "5", Email: Email},
	}
}

// monthLimit is a spend limit of $100 a month of which so much is spent.
func monthLimit(spent app.Amount) billingpages.SpendLimit {
	resets := time.Date(Now().Year(), Now().Month()+1, 1, 0, 0, 0, 0, time.UTC)
	b := views.KeyBudget{Limit: 100 * app.Dollar, Spent: spent, Left: max(100*app.Dollar-spent, 0), Period: "month", ResetsAt: &resets}
	return billingpages.SpendLimit{Limit: &b, Form: billingpages.NewLimitForm(&b)}
}

func exampleTopUps() []billingpages.TopUp {
	const day = 24 * time.Hour
	receipt := "https://pay.example.com/receipts/1"
	return []billingpages.TopUp{
		{ID: topUpID, Amount: 25 * app.Dollar, State: billingpages.TopUpWaiting, CreatedAt: at(40 * time.Second)},
		{ID: "topup_2", Amount: 50 * app.Dollar, State: billingpages.TopUpPaid, ReceiptURL: receipt, CreatedAt: at(3 * day),
			PaidAt: ago(3 * day), Auto: true},
		{ID: "topup_3", Amount: 50 * app.Dollar, State: billingpages.TopUpFailed, CreatedAt: at(4 * day), Auto: true},
		{ID: "topup_4", Amount: 12*app.Dollar + 50*app.Cent, State: billingpages.TopUpPartly, Refunded: 2*app.Dollar + 50*app.Cent,
			ReceiptURL: receipt,
			CreatedAt:  at(30 * day), PaidAt: ago(30 * day)},
		{ID: "topup_5", Amount: 10_000 * app.Dollar, State: billingpages.TopUpExpired, CreatedAt: at(31 * day)},
		{ID: "topup_6", Amount: 100 * app.Dollar, State: billingpages.TopUpDisputed, ReceiptURL: receipt, CreatedAt: at(60 * day),
			PaidAt: ago(60 * day)},
	}
}

func spendQuery(by, month string) billingpages.SpendQuery {
	return billingpages.ParseSpendQuery(url.Values{"by": {by}, "month": {month}}, Now())
}

func spendOf(by string) billingpages.Breakdown {
	b := billingpages.Breakdown{Query: spendQuery(by, "")}
	switch by {
	case billingpages.SpendByKey:
		b.Lines = []billingpages.SpendLine{
			{Name: "Support assistant, production", Requests: 80_411, Cost: 20_004_100_020},
			{Name: "Batch nightly", Requests: 40_000, Cost: 8_478_805_055},
			{Name: "Deleted key", Note: "key_01kb4a6zt4h2s8j5y7r3w9mvaq", Requests: 7_990, Cost: 3_000_000_000},
			{Name: "Playground", Requests: 11, Cost: 43},
		}
	case billingpages.SpendByDay:
		days, weight := month()[:21], app.Amount(0)
		for _, spent := range days {
			weight += spent / app.Cent
		}
		whole := spendOf(billingpages.SpendByModel).Total
		rest := whole
		for i, spent := range days {
			line := billingpages.SpendLine{
				Name:     at(time.Duration(20-i) * 24 * time.Hour).Format("Mon 2 Jan"),
				Requests: whole.Requests * int64(spent/app.Cent) / int64(weight), Cost: whole.Cost * (spent / app.Cent) / weight,
			}
			if i == len(days)-1 {
				line.Requests, line.Cost = rest.Requests, rest.Cost
			}
			rest.Requests, rest.Cost = rest.Requests-line.Requests, rest.Cost-line.Cost
			b.Lines = append(b.Lines, line)
		}
	default:
		b.Lines = []billingpages.SpendLine{
			{Name: "aurora-large", Requests: 60_120, Cost: 18_400_218_500}, {Name: "cobalt-code", Requests: 41_093, Cost: 9_018_206_400},
			{Name: "sage-reasoning-long-context-preview", Requests: 211, Cost: 4_054_000_175}, {Name: "quarry/reel:pro", Requests: 4,
				Cost: 9_600_000},
			{Name: Model, Requests: 26_984, Cost: 880_043},
		}
	}
	for _, l := range b.Lines {
		b.Total.Requests += l.Requests
		b.Total.Cost += l.Cost
	}
	return b
}

// limitPages are the states of the spend limit and of promotion codes.
func limitPages() []Story {
	return []Story{
		billingStory("billing-uncharged", "An account whose calls are not charged", 200, views.Balance{Known: true, Uncharged: true},
			func(b *billingpages.Overview) {
				b.Credit, b.Pay, b.Receipts, b.Proof, b.Spend = views.Credit{}, nil, nil, &views.Proof{At: at(3 * time.Second)},
					billingpages.Breakdown{Query: b.Spend.Query}
			}),
		billingStory("billing-limit-near", "Nearly all of the spend limit is spent", 200, full(),
			func(b *billingpages.Overview) { b.Limit = monthLimit(91_400_000_000) }),
		billingStory("billing-limit-reached", "The spend limit is reached", 200, full(),
			func(b *billingpages.Overview) { b.Limit = monthLimit(100 * app.Dollar) }),
		billingStory("billing-limit-refused", "A spend limit that is no amount, a code that is none", 422, full(),
			func(b *billingpages.Overview) {
				b.Limit.Form = billingpages.LimitForm{Amount: "a hundred", Period: "month",
					AmountError: "Write dollars with a point and at most 9 decimals, such as 100 or 12.50."}
				b.Promo = billingpages.PromoForm{Code: "WELCOME", Error: "Unknown or expired code."}
			}),
	}
}

func billingPages() []Story {
	story := func(name, title string, change func(*billingpages.Overview)) Story {
		return billingStory(name, title, 200, full(), change)
	}
	refused := func(name, title string, change func(*billingpages.Overview)) Story {
		return billingStory(name, title, 422, full(), change)
	}
	return []Story{
		story("billing", "Credit of three kinds, top-ups", func(*billingpages.Overview) {}),
		story("billing-by-key", "Spend by key", func(b *billingpages.Overview) { b.Spend = spendOf(billingpages.SpendByKey) }),
		story("billing-by-day", "Spend by day", func(b *billingpages.Overview) { b.Spend = spendOf(billingpages.SpendByDay) }),
		story("billing-month", "Nothing used in a month before", func(b *billingpages.Overview) {
			b.Spend = billingpages.Breakdown{Query: spendQuery(billingpages.SpendByModel, "2026-09")}
		}),
		billingStory("billing-new", "A new account with trial credit", 200, views.Balance{Known: true, Available: 5 * app.Dollar,
			LowAt: app.Dollar},
			func(b *billingpages.Overview) {
				expires := Now().Add(30 * 24 * time.Hour)
				b.Credit = views.Credit{Available: 5 * app.Dollar, Trial: 5 * app.Dollar, TrialExpires: &expires}
				b.Proof = &views.Proof{Entries: 5 * app.Dollar, Posted: 5 * app.Dollar, Grants: 5 * app.Dollar, At: Now()}
				b.Spend, b.Receipts, b.Pay.Auto.HasCard = billingpages.Breakdown{Query: spendQuery("", "")}, nil, false
				b.Limit = billingpages.SpendLimit{}
			}),
		billingStory("billing-empty", "No credit left", 200, views.Balance{Known: true, LowAt: app.Dollar}, func(b *billingpages.Overview) {
			b.Credit = views.Credit{}
			b.Proof.Entries, b.Proof.Posted, b.Proof.Grants = 0, 0, 0
		}),
		billingStory("billing-low", "Little credit left", 200, views.Balance{Known: true, Available: 412_905_310, LowAt: app.Dollar},
			func(b *billingpages.Overview) {
				b.Credit = views.Credit{Available: 412_905_310, Purchased: 412_905_310}
				b.Pay.Auto.On, b.Pay.Auto.Enabled, b.Pay.Auto.Failures = true, true, 2
			}),
		frozen(billingStory("billing-frozen", "A frozen account that owes", 200, views.Balance{Known: true, LowAt: app.Dollar},
			func(b *billingpages.Overview) {
				b.Credit = views.Credit{Owed: 12*app.Dollar + 43}
				b.Proof = &views.Proof{Usage: 43, Charges: 43, At: Now()}
			})),
		story("billing-no-payments", "No payment service is configured", func(b *billingpages.Overview) { b.Pay, b.Receipts = nil, nil }),
		refused("billing-amount-wrong", "Own amount refused", func(b *billingpages.Overview) {
			b.Pay.TopUp.Choice, b.Pay.TopUp.Own = billingpages.OwnAmount, "4.999"
			b.Pay.TopUp.OwnError = "Enter an amount from $5 to $10,000 in whole cents, such as 50 or 12.50."
		}),
		refused("billing-pay-away", "The payment service is away", func(b *billingpages.Overview) {
			b.Pay.TopUp.FormError = "The payment service cannot be reached right now. Nothing was charged twice; try again in a minute."
		}),
		story("billing-auto-on", "Automatic top-up is on", func(b *billingpages.Overview) {
			b.Pay.Auto.On, b.Pay.Auto.Enabled = true, true
			b.Pay.Auto.SavedThreshold, b.Pay.Auto.SavedSize, b.Pay.Auto.SavedIn = 10*app.Dollar, 50*app.Dollar, 200*app.Dollar
		}),
		story("billing-auto-off", "Automatic top-up was turned off", func(b *billingpages.Overview) {
			b.Pay.Auto.Off = "The saved card was refused 3 times in a row. Your card was declined."
		}),
		refused("billing-auto-wrong", "Automatic top-up refused", func(b *billingpages.Overview) {
			b.Pay.Auto.Enabled, b.Pay.Auto.Threshold, b.Pay.Auto.Amount, b.Pay.Auto.Cap = true, "ten", "2", "1"
			b.Pay.Auto.ThresholdError = "Enter an amount from $1 to $10,000 in whole cents, such as 10."
			b.Pay.Auto.AmountError = "Enter an amount from $5 to $10,000 in whole cents, such as 50."
			b.Pay.Auto.CapError = "Enter an amount from $5 to $1,000,000 in whole cents, such as 200."
			b.Pay.Low.Threshold, b.Pay.Low.Error = "-1", "Enter an amount from $0 to $10,000 in whole cents, such as 5."
		}),
		refused("billing-auto-ask", "Automatic top-up would charge at once", func(b *billingpages.Overview) {
			b.Pay.Auto.Enabled, b.Pay.Auto.Threshold, b.Pay.Auto.ChargesNow = true, "100", 50*app.Dollar
		}),
		story("billing-proof-wrong", "The sums do not agree", func(b *billingpages.Overview) { b.Proof.Charges -= 43 }),
		billingStory("billing-store-error", "Nothing can be read", 200, views.Balance{}, func(b *billingpages.Overview) {
			trouble := &views.LoadFailure{RequestID: "req_01kb4a7m9x3v5d2c8n6q1w0zpr"}
			b.Failure, b.Proof, b.Spend.Failed, b.Receipts = trouble, nil, trouble, nil
			b.Pay.Failure = trouble
		}),
	}
}

func topUps() []Story {
	story := func(name, title string, change func(*billingpages.TopUpDetail)) Story {
		return Story{Name: name, Group: "Billing", Title: title, Status: 200, Path: "/console/billing/topups/" + topUpID,
			Adjust: func(s *views.Shell) { s.Balance = full() },
			View: view(billingpages.TopUpPage, func(s views.Shell) billingpages.TopUpDetail {
				return billingpages.TopUpDetail{Shell: s, TopUp: exampleTopUps()[0], Since: Now().Unix(), Asking: true}
			}, change)}
	}
	state := func(name, title, state string) Story {
		return story(name, title, func(d *billingpages.TopUpDetail) {
			d.TopUp.State, d.TopUp.PaidAt, d.TopUp.ReceiptURL = state, ago(2*time.Second), "https://pay.example.com/receipts/1"
			if state == billingpages.TopUpPartly || state == billingpages.TopUpRefunded {
				d.TopUp.Refunded = 10 * app.Dollar
			}
		})
	}
	ended := func(name, title, state string) Story {
		return story(name, title, func(d *billingpages.TopUpDetail) { d.TopUp.State, d.TopUp.Failure = state, "Your card was declined." })
	}
	return []Story{
		story("topup-waiting", "Top-up, waiting for the payment", func(*billingpages.TopUpDetail) {}),
		story("topup-slow", "Top-up, not confirmed for long", func(d *billingpages.TopUpDetail) { d.Asking = false }),
		state("topup-paid", "Top-up, paid", billingpages.TopUpPaid),
		story("topup-cancelled", "Top-up, left before paying", func(d *billingpages.TopUpDetail) {
			d.Cancelled, d.PayURL = true, "https://pay.example.com/c/1"
		}),
		ended("topup-expired", "Top-up, expired", billingpages.TopUpExpired),
		ended("topup-failed", "Top-up, failed", billingpages.TopUpFailed),
		state("topup-refunded", "Top-up, partly refunded", billingpages.TopUpPartly),
		state("topup-disputed", "Top-up, disputed", billingpages.TopUpDisputed),
		state("topup-lost", "Top-up, charged back", billingpages.TopUpLost),
		{Name: "topup-leaving", Group: "Billing", Title: "On the way to the payment page", Status: 200, Path: "/console/billing",
			View: func(s views.Shell) templ.Component {
				return billingpages.LeavingPage(billingpages.Leaving{
					Shell: s, Title: "On to the payment page", Link: "Go to the payment page", URL: "https://pay.example.com/c/1",
					Text: "You pay $25.00 there and come back here. If your browser stays on this page, use the button.",
				})
			}},
	}
}

func frozen(s Story) Story {
	adjust := s.Adjust
	s.Adjust = func(shell *views.Shell) {
		adjust(shell)
		shell.Frozen = &views.Freeze{Reason: "A payment of this account is disputed by the owner of the card."}
	}
	return s
}
