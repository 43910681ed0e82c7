package stories

import (
	"strings"
	"time"

	"umg/app"
	"umg/views"
	operatorpages "umg/views/operator"
	"umg/views/ui"
)

func accountPages() []Story {
	list := func(name, title string, change func(*operatorpages.Accounts)) Story {
		return Story{Name: name, Group: "Operator", Title: title, Status: 200, Path: "/console/operator/accounts", Adjust: operators,
			View: view(operatorpages.AccountsPage, func(s views.Shell) operatorpages.Accounts {
				return operatorpages.Accounts{Shell: s, List: exampleAccounts(), More: true}
			}, change)}
	}
	long := nastyText + strings.Repeat("averylongwordwithoutanyspace", 12)
	return []Story{
		list("operator-accounts", "Accounts", func(*operatorpages.Accounts) {}),
		list("operator-accounts-found", "Accounts, owing and found by a name", func(l *operatorpages.Accounts) {
			l.Query, l.List, l.More = operatorpages.AccountsQuery{Text: "harbour", State: operatorpages.AccountsOwing}, l.List[2:3], false
		}),
		list("operator-accounts-page", "Accounts by balance, a page in the middle", func(l *operatorpages.Accounts) {
			l.Query = operatorpages.AccountsQuery{Sort: operatorpages.AccountsByBalance, After: l.List[0].ID, Below: 900 * app.Dollar}
			for i := range l.List {
				l.List[i].Spent = nil
			}
		}),
		list("operator-accounts-none", "Accounts, none matches", func(l *operatorpages.Accounts) {
			l.Query, l.List = operatorpages.AccountsQuery{Text: "unknown@example.com"}, nil
		}),
		list("operator-accounts-empty", "Accounts, no one has signed up yet", func(l *operatorpages.Accounts) { l.List = nil }),
		list("operator-accounts-error", "Accounts cannot be read", func(l *operatorpages.Accounts) {
			l.List, l.Failure = nil, &views.LoadFailure{RequestID: "req_01kb4a7m9x3v5d2c8n6q1w0zpr"}
		}),
		list("operator-accounts-hostile", "Accounts, hostile text", func(l *operatorpages.Accounts) {
			l.Query.Text = long
			l.List[0].Name, l.List[0].Owner, l.List[0].People = long, long, 12_345
			l.List[1].Frozen, l.List[1].FrozenReason, l.List[1].Balance = true, long, 1<<62
		}),
	}
}

func onePages() []Story {
	one := func(name, title string, change func(*operatorpages.AccountDetail)) Story {
		return Story{Name: name, Group: "Operator", Title: title, Status: 200,
			Path: "/console/operator/accounts/acct_01kb4a7k2f8s4j6h1d9a3g5b7t", Adjust: operators,
			View: view(operatorpages.AccountPage, exampleAccount, change)}
	}
	long := nastyText + strings.Repeat("averylongwordwithoutanyspace", 12)
	return []Story{
		one("operator-account", "An account", func(*operatorpages.AccountDetail) {}),
		one("operator-account-frozen", "A frozen account of the reader's", func(v *operatorpages.AccountDetail) {
			v.Account.Frozen, v.Account.FrozenReason, v.Own = true, "Traffic from a card that was reported as stolen", true
			v.FrozenAt, v.FrozenBy, v.Members[0].Self = ago(3*time.Hour), "ops@example.com", true
		}),
		one("operator-account-uncharged", "An account that is not charged", func(v *operatorpages.AccountDetail) {
			v.Account.Uncharged, v.Account.Balance, v.Free, v.Leased, v.Entries, v.Credit = true, 0, 0, 0, nil, views.Credit{}
		}),
		one("operator-account-owing", "An account frozen for what it owes", func(v *operatorpages.AccountDetail) {
			v.Account.Frozen, v.Account.Indebted, v.Account.Owed, v.Credit.Owed = true, true, 12_500_000_000, 12_500_000_000
			v.Account.FrozenReason = "Credit that was spent already was taken back, so the account owes us."
			v.Account.Balance, v.Free, v.Leased, v.FrozenAt = 0, 0, 0, ago(26*time.Hour)
			v.Credit.Available, v.Credit.Purchased, v.Credit.Granted, v.Credit.Held = 0, 0, 0, 0
		}),
		one("operator-account-new", "An account that did nothing yet", func(v *operatorpages.AccountDetail) {
			v.Account.Paid, v.PaidAt, v.Account.People, v.Entries, v.History, v.Topups = false, nil, 1, nil, nil, nil
			v.Account.Balance, v.Free, v.Leased, v.Account.Spent = 0, 0, 0, nil
			v.Credit = views.Credit{}
			v.Members = v.Members[:1]
			v.Members[0].Verified, v.Members[0].SignedInAt, v.Members[0].SecondStep = false, nil, false
		}),
		one("operator-account-deleted", "A deleted account", func(v *operatorpages.AccountDetail) {
			v.Account.Closed, v.Account.Frozen, v.Account.Name, v.Account.Owner = true, true, "Deleted account", ""
			v.Account.People, v.Members, v.Topups = 0, nil, nil
		}),
		one("operator-account-hostile", "An account, hostile text", func(v *operatorpages.AccountDetail) {
			v.Account.Name, v.Account.Owner, v.Account.FrozenReason, v.Account.Frozen, v.FrozenBy = long, long, long, true, long
			v.Members[0].Email, v.Members[0].Name = long, long
			v.Entries[0].Reason, v.Entries[0].By, v.Entries[0].Amount, v.Entries[0].After = long, long, 1<<62, 1<<62
			v.History[0].Changes = []views.AuditChange{{Field: long, From: long, To: long}}
		}),
	}
}

func actionPages() []Story {
	action := func(name, title, kind string, status int, change func(*operatorpages.AccountAction)) Story {
		return Story{Name: name, Group: "Operator", Title: title, Status: status, Path: "/console/operator/accounts", Adjust: operators,
			View: view(operatorpages.AccountActionPage, func(s views.Shell) operatorpages.AccountAction {
				return operatorpages.AccountAction{Shell: s, Account: exampleAccounts()[0], Kind: kind, Free: 84_250_000_000}
			}, change)}
	}
	ask := func(amount string, value app.Amount, reason string) func(*operatorpages.AccountAction) {
		return func(d *operatorpages.AccountAction) {
			d.Asks, d.Amount, d.Value, d.Reason, d.Once = true, amount, value, reason, "adj_01kb4a7k2f8s4j6h1d9a3g5b7t"
		}
	}
	long := nastyText + strings.Repeat("averylongwordwithoutanyspace", 12)
	return []Story{
		action("operator-action-add", "Add credit", operatorpages.ActionAdd, 200, func(*operatorpages.AccountAction) {}),
		action("operator-action-add-own", "Add credit to an account of one's own", operatorpages.ActionAdd, 200,
			func(d *operatorpages.AccountAction) { d.Own = true }),
		action("operator-action-add-error", "Add credit, both fields refused", operatorpages.ActionAdd, 422,
			func(d *operatorpages.AccountAction) {
				d.Amount, d.AmountError = "a lot", "Enter an amount in dollars, such as 25 or 0.000001."
				d.ReasonError = "Give a reason: account members can read it."
			}),
		action("operator-action-add-ask", "Add credit?", operatorpages.ActionAdd, 200,
			ask("25", 25*app.Dollar, "Sorry for the outage of 20 November")),
		action("operator-action-add-ask-owing", "Add credit to an account of one's own that owes?", operatorpages.ActionAdd, 200, func(
			d *operatorpages.AccountAction,
		) {
			ask("0.000001", 1000, "To see whether it arrives")(d)
			d.Own, d.Account.Owed, d.Account.Balance = true, 12_500_000_000, 0
		}),
		action("operator-action-add-ask-password", "Add credit, wrong password", operatorpages.ActionAdd, 422,
			func(d *operatorpages.AccountAction) {
				ask("25", 25*app.Dollar, "Sorry for the outage of 20 November")(d)
				d.PasswordError = "That is not your password."
			}),
		action("operator-action-add-ask-wait", "Add credit, too many tries", operatorpages.ActionAdd, 429, func(d *operatorpages.AccountAction) {
			ask("25", 25*app.Dollar, "Sorry for the outage of 20 November")(d)
			d.FormError = "Too many attempts. Wait 4 seconds and try again."
		}),
		action("operator-action-take-error", "Take credit back, more than is free", operatorpages.ActionTake, 422,
			func(d *operatorpages.AccountAction) {
				d.Amount, d.Reason = "5000", "Granted twice by mistake"
				d.AmountError = "Only $84.25 is free now: the rest is spent or reserved by what runs."
			}),
		action("operator-action-take-ask", "Take credit back?", operatorpages.ActionTake, 200,
			ask("12.5", 12_500_000_000, "Granted twice by mistake")),
		action("operator-action-freeze", "Freeze an account", operatorpages.ActionFreeze, 200, func(*operatorpages.AccountAction) {}),
		action("operator-action-freeze-ask", "Freeze an account?", operatorpages.ActionFreeze, 200,
			ask("", 0, "Traffic from a card that was reported as stolen")),
		action("operator-action-unfreeze-ask", "Unfreeze an account?", operatorpages.ActionUnfreeze, 200, func(d *operatorpages.AccountAction) {
			ask("", 0, "The bank says it was a mistake")(d)
			d.Account.Frozen = true
		}),
		action("operator-action-hostile", "Take credit back, hostile text", operatorpages.ActionTake, 200, func(d *operatorpages.AccountAction) {
			ask("1", app.Dollar, long)(d)
			d.Account.Name, d.Account.Owner, d.Account.Balance = long, long, 1<<62
		}),
	}
}

func exampleAccounts() []operatorpages.Account {
	spent := func(a app.Amount) *app.Amount { return &a }
	return []operatorpages.Account{
		{
			ID: "acct_01kb4a7k2f8s4j6h1d9a3g5b7t", Name: "Harbour Analytics", Owner: "noor@harbour.example", People: 7, Balance: 96_731_450_125,
			Spent: spent(412_088_304_770), CreatedAt: at(220 * 24 * time.Hour), Paid: true,
		},
		{
			ID: "acct_01kb3zy81mwq4e6r2t9u5i7o3p", Name: "Ada's account", Owner: Email, People: 1, Balance: 4_998_731_450, Spent: spent(1_268_550),
			CreatedAt: at(9 * 24 * time.Hour),
		},
		{
			ID: "acct_01kb2c4n8v6b5m3x7z1l9k2j4h", Name: "Harbour Pilots", Owner: "sam@pilots.example", People: 2, Owed: 12_500_000_000,
			Spent: spent(0), CreatedAt: at(41 * 24 * time.Hour), Paid: true, Frozen: true, Indebted: true,
			FrozenReason: "Credit that was spent already was taken back, so the account owes us.",
		},
		{
			ID: "acct_01kb1t5r6e7w8q9a0s1d2f3g4h", Name: "Quarry Films", Owner: "lee@quarry.example", People: 14, Balance: 1_204_000_000_000,
			Spent: spent(9_870_000_000_001), CreatedAt: at(400 * 24 * time.Hour), Paid: true, Frozen: true,
			FrozenReason: "Traffic from a card that was reported as stolen",
		},
		{
			ID: "acct_01kb0p9o8i7u6y5t4r3e2w1q0a", Name: "Lantern Works", Owner: "kim@lantern.example", People: 3, Balance: 310_000_000_000,
			Spent: spent(88_400_000), CreatedAt: at(77 * 24 * time.Hour), Paid: true, Owed: 3_000_000_000,
		},
		{
			ID: "acct_01kaz1x2c3v4b5n6m7l8k9j0hg", Name: "Deleted account", Spent: spent(0), CreatedAt: at(300 * 24 * time.Hour), Frozen: true,
			Closed: true,
		},
	}
}

func exampleAccount(s views.Shell) operatorpages.AccountDetail {
	entry := func(id int64, kind, ref, reason, by string, amount, after app.Amount, then time.Duration) operatorpages.Entry {
		return operatorpages.Entry{By: by, LedgerEntry: views.LedgerEntry{
			ID: id, Transaction: "txn_01kb4a7k2f8s4j6h1d9a3g5b7t", Kind: kind, Ref: ref, Reason: reason, Amount: amount, After: after, At: at(then),
		}}
	}
	return operatorpages.AccountDetail{
		Shell: s, Account: exampleAccounts()[0], LimitFactor: 4, PaidAt: ago(218 * 24 * time.Hour), Leased: 2_000_000_000, Free: 84_250_000_000,
		Credit: views.Credit{
			Available: 86_731_450_125, Purchased: 70_000_000_000, Granted: 26_731_450_125, Held: 10_000_000_000,
		},
		Topups: []operatorpages.Topup{
			{ID: "top_01kb4a7k2f8s4j6h1d9a3g5b7u", Amount: 50 * app.Dollar, State: views.Badge{Tone: ui.Success, Text: "Paid"}, Refundable: true,
				CreatedAt: at(10 * 24 * time.Hour)},
			{ID: "top_01kb4a7k2f8s4j6h1d9a3g5b7t", Amount: 100 * app.Dollar, Refunded: 100 * app.Dollar, Auto: true,
				State: views.Badge{Tone: ui.Info, Text: "Refunded"}, CreatedAt: at(40 * 24 * time.Hour)},
		},
		Members: []operatorpages.Person{
			{ID: "user_01kb4a7k2f8s4j6h1d9a3g5b7t", Email: "noor@harbour.example", Name: "Noor Haddad", Role: "owner", Verified: true,
				SecondStep: true, SignedInAt: ago(2 * time.Hour)},
			{Email: Email, Name: "Ada", Role: "admin", Verified: true, Operator: true, SignedInAt: ago(20 * time.Minute)},
			{Email: "books@harbour.example", Role: "billing", SignedInAt: nil},
		},
		Entries: []operatorpages.Entry{
			entry(90211, views.EntryCharge, "", "", "", -1_268_550, 96_731_450_125, 4*time.Minute),
			entry(90100, views.EntryGrant, "operator:adj_01kb4a7k2f8s4j6h1d9a3g5b7t", "Sorry for the outage of 20 November", "ops@example.com",
				25*app.Dollar, 96_732_718_675, 5*time.Hour),
			entry(88012, views.EntryAdjustment, "operator:adj_01kb3a7k2f8s4j6h1d9a3g5b7t", "Granted twice by mistake", "ops@example.com",
				-12_500_000_000, 71_732_718_675, 50*time.Hour),
			entry(87001, views.EntryGrant, "stripe:top_01kb", "Top-up", "", 50*app.Dollar, 84_232_718_675, 90*time.Hour),
		},
		History: []views.AuditEntry{
			{
				ID: "audit_2", At: at(5 * time.Hour), Actor: views.AuditOperator, Words: "added credit",
				Changes: []views.AuditChange{{Field: "amount", To: "$25"}, {Field: "reason", To: "Sorry for the outage of 20 November"}},
			},
			{
				ID: "audit_1", At: at(60 * time.Hour), Actor: views.AuditUser, ActorID: "usr_1", ActorName: "noor@harbour.example",
				Words: "created the key", Object: "key_01kb4a7k2f8s4j6h1d9a3g5b7t", Name: "production", IP: "198.51.100.4",
				Agent: "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36",
			},
		},
	}
}
