package stories

import (
	"time"

	"github.com/a-h/templ"

	"umg/app"
	"umg/views"
	billingpages "umg/views/billing"
)

func ledgerPages() []Story {
	story := func(name, title string, change func(*billingpages.Ledger)) Story {
		return Story{Name: name, Group: "Billing", Title: title, Status: 200, Path: "/console/billing/ledger",
			Adjust: func(s *views.Shell) { s.Balance = full() },
			View: view(billingpages.LedgerPage, func(s views.Shell) billingpages.Ledger {
				return billingpages.Ledger{Shell: s, Entries: exampleEntries()}
			}, change)}
	}
	return []Story{
		story("ledger", "The ledger, every kind", func(*billingpages.Ledger) {}),
		story("ledger-filtered", "The ledger, a page of charges", func(l *billingpages.Ledger) {
			l.Query = views.LedgerQuery{Kinds: []string{views.EntryCharge}, From: "2026-11-01", To: "2026-11-21", Before: 98_001}
			l.Entries, l.More = l.Entries[:2], true
		}),
		story("ledger-empty", "The ledger, before the first entry", func(l *billingpages.Ledger) { l.Entries = nil }),
		story("ledger-none", "The ledger, no entry matches", func(l *billingpages.Ledger) {
			l.Entries, l.Query.Kinds = nil, []string{views.EntryDispute}
		}),
		story("ledger-backwards", "The ledger, the last day before the first", func(l *billingpages.Ledger) {
			l.Entries, l.Query = nil, views.LedgerQuery{From: "2026-11-21", To: "2026-11-01"}
		}),
	}
}

func exampleEntries() []views.LedgerEntry {
	entries := []views.LedgerEntry{
		{Kind: views.EntryCharge, Amount: -21_480_250, Requests: 12, At: at(4 * time.Second)},
		{Kind: views.EntryCharge, Amount: -43, Requests: 1, At: at(2 * time.Minute)},
		{Kind: views.EntryGrant, TopUp: topUpID, Ref: "stripe:cs_1", Reason: "Credit bought", Amount: 25 * app.Dollar, At: at(3 * time.Hour)},
		{Kind: views.EntryReversal, Amount: 2_913_400, Requests: 1, At: at(5 * time.Hour),
			Reason: "The answer was kept back, as its charge was not known to be recorded"},
		{Kind: views.EntryRefund, Amount: -10 * app.Dollar, Reason: "Part of a top-up went back to the card", TopUp: topUpID,
			At: at(26 * time.Hour)},
		{Kind: views.EntryExpiry, Amount: -1_204_918_750, Reason: "Trial credit that was not used in 30 days", At: at(50 * time.Hour)},
		{Kind: views.EntryDispute, Amount: -50 * app.Dollar, Reason: "A bank took a payment back", At: at(80 * time.Hour)},
		{Kind: views.EntryAdjustment, Amount: 1, Reason: "Rounding of an invoice", At: at(90 * time.Hour)},
		{Kind: views.EntryGrant, Ref: "operator:adj_1", Reason: "Thank you for the bug report", Amount: 2_500_000_000, At: at(99 * time.Hour)},
		{Kind: views.EntryGrant, Ref: "trial:usr_1", Amount: 5 * app.Dollar, At: at(31 * 24 * time.Hour)},
	}
	after := app.Amount(53_248_731_450)
	for i := range entries {
		e := &entries[i]
		e.ID, e.Transaction, e.After = int64(98_120-7*i), "txn_01kb4a6zt4h2s8j5y7r3w9mv"+string(rune('a'+i))+"q", after
		after -= e.Amount
	}
	return entries
}

func rulePages() []Story {
	rules := func(name, title string, out bool, rows []views.SettlementRule) Story {
		return Story{Name: name, Group: "Billing", Title: title, Status: 200, Path: "/console/billing/rules", Out: out,
			View: func(s views.Shell) templ.Component {
				return billingpages.RulesPage(billingpages.Rules{Shell: s, Rows: rows})
			}}
	}
	rows := []views.SettlementRule{
		{Reason: "completed", Outcome: "succeeded", Charge: "usage", Recorded: true,
			When: "The answer is complete, and the provider said what it used.", Text: "Charged what the provider counted."},
		{Reason: "usage_missing", Outcome: "succeeded", Charge: "delivered", Estimated: true, Recorded: true,
			When: "The answer is complete, but the provider did not say what it used.",
			Text: "The provider reported no usage, so the tokens were counted here. The count is an estimate."},
		{Reason: "overrun", Outcome: "succeeded", Charge: "reserve", Recorded: true,
			When: "The answer is complete, and by the provider's count it costs more than was reserved.",
			Text: "Charged what was reserved for the call. It cost more, and we bear the rest."},
		{Reason: "timed_out_unanswered", Outcome: "timed_out", Charge: "nothing", Recorded: true,
			When: "The provider did not answer in time.", Text: "Nothing was charged."},
		{Reason: "client_left_waiting", Outcome: "client_left", Charge: "received", Estimated: true, Recorded: true,
			When: "The client closed the connection when a provider had its request, and before anything was delivered.",
			Text: "Charged the input and the delivered part of the answer, by an estimate."},
		{Reason: "video_completed", Outcome: "succeeded", Charge: "seconds", Recorded: true, When: "The video is ready.",
			Text: "Charged its seconds."},
		{Reason: "refused", Outcome: "refused", Charge: "nothing", When: "The call was refused before it was sent on.",
			Text: "Nothing was charged."},
	}
	return []Story{
		rules("rules", "What is charged", false, rows), rules("rules-out", "What is charged, for visitors", true, rows),
		rules("rules-empty", "What is charged, no rules", false, nil),
	}
}
