package operator

import (
	"net/url"
	"time"

	"umg/app"
	"umg/views"
	"umg/views/format"
	"umg/views/ui"
)

const accountsIntro = "All accounts of this server: owner, balance and spend."

// Accounts is the list of everybody's accounts.
type Accounts struct {
	views.Shell
	Query   AccountsQuery
	List    []Account
	More    bool // there are further accounts
	Failure *views.LoadFailure
}

// Account is an account as operators see it.
type Account struct {
	ID, Name string
	// Owner is the e-mail address of the first owner. It is empty without one.
	Owner   string
	People  int
	Balance app.Amount
	Owed    app.Amount
	// Spent is the spend of 30 days. It is nil when adding it up took too long.
	Spent     *app.Amount
	CreatedAt time.Time
	// Paid means that the account has had other credit than the trial's.
	Paid   bool
	Frozen bool
	// Uncharged accounts have their calls recorded and pay nothing for them.
	Uncharged    bool
	Indebted     bool // frozen only because of its debt
	Closed       bool
	FrozenReason string
}

func (a Account) path() string { return views.OperatorAccountsPath + "/" + url.PathEscape(a.ID) }

func (a Account) actionPath(kind string) string { return a.path() + "/" + kind }

// verdict is the state of an account in a word.
func (a Account) verdict() views.Badge {
	switch {
	case a.Closed:
		return views.Badge{Tone: ui.Plain, Text: "Deleted"}
	case a.Frozen && a.Indebted:
		return views.Badge{Tone: ui.Danger, Text: "Frozen for debt"}
	case a.Frozen:
		return views.Badge{Tone: ui.Danger, Text: "Frozen"}
	case a.Owed > 0:
		return views.Badge{Tone: ui.Warning, Text: "Owes"}
	case a.Uncharged:
		return views.Badge{Tone: ui.Info, Text: "Not charged"}
	case !a.Paid:
		return views.Badge{Tone: ui.Plain, Text: "Trial only"}
	}
	return views.Badge{Tone: ui.Success, Text: "Active"}
}

// note adds details to the state of the account.
func (a Account) note() string {
	switch {
	case a.Closed:
		return ""
	case a.Owed > 0:
		return format.Dollars(a.Owed) + " owed"
	case a.Frozen:
		return a.FrozenReason
	}
	return ""
}

// The filters and orders of accounts.
const (
	AccountsFrozen    = "frozen"
	AccountsOwing     = "owing"
	AccountsUnpaid    = "unpaid"
	AccountsByBalance = "balance"
)

var accountStates = []ui.Option{
	{Value: "", Label: "All"}, {Value: AccountsFrozen, Label: "Frozen"}, {Value: AccountsOwing, Label: "Owing"},
	{Value: AccountsUnpaid, Label: "Trial credit only"},
}

var accountSorts = []ui.Option{{Value: "", Label: "Newest first"}, {Value: AccountsByBalance, Label: "Highest balance first"}}

// AccountsQuery says which accounts are listed. It is the address of the page.
type AccountsQuery struct {
	Text  string
	State string
	Sort  string
	After string     // id of the last account of the previous page
	Below app.Amount // balance of that account, when sorted by balance
}

// ParseAccountsQuery reads an address; what cannot be meant is left out.
func ParseAccountsQuery(values url.Values) AccountsQuery {
	q := AccountsQuery{
		Text: views.FilterText(values.Get("q")), State: views.KnownOption(values.Get("state"), accountStates),
		Sort:  views.KnownOption(values.Get("sort"), accountSorts),
		After: views.FilterText(values.Get("after")),
	}
	if q.After != "" && q.Sort == AccountsByBalance {
		below, err := app.ParseAmount(values.Get("below"))
		if err != nil {
			q.After = ""
		}
		q.Below = below
	}
	return q
}

// Path is the address of the list.
func (q AccountsQuery) Path() string {
	values := url.Values{}
	for name, value := range map[string]string{"q": q.Text, "state": q.State, "sort": q.Sort, "after": q.After} {
		if value != "" {
			values.Set(name, value)
		}
	}
	if q.After != "" && q.Sort == AccountsByBalance {
		values.Set("below", q.Below.String())
	}
	if len(values) == 0 {
		return views.OperatorAccountsPath
	}
	return views.OperatorAccountsPath + "?" + values.Encode()
}

// first is the first page of the same list.
func (q AccountsQuery) first() AccountsQuery {
	q.After, q.Below = "", 0
	return q
}

// past is the page that follows an account.
func (q AccountsQuery) past(a Account) AccountsQuery {
	q.After, q.Below = a.ID, a.Balance
	return q
}

func (q AccountsQuery) narrowed() bool { return q.Text != "" || q.State != "" }

// shown says how many there are on the page.
func (l Accounts) shown() string {
	text := format.CountOf(int64(len(l.List)), "account", "accounts")
	if l.More || l.Query.After != "" {
		text += " on this page"
	}
	return text
}
