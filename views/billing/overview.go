package billing

import (
	"strconv"
	"time"

	"umg/app"
	"umg/views"
	"umg/views/format"
	"umg/views/ui"
)

const (
	intro = "Prepaid credit: balance, spend and top-ups."
)

// Overview is the page about an account's money.
type Overview struct {
	views.Shell
	Credit  views.Credit
	Debt    bool               // the account is frozen only for its debt, and buying credit pays it
	Failure *views.LoadFailure // set when the balance could not be read
	Proof   *views.Proof       // nil when the sums could not be compared
	Spend   Breakdown          // spend of one month
	Pay     *Payments          // nil where no payment service is configured
	Limit   SpendLimit
	Promo   PromoForm

	Receipts     []TopUp
	MoreReceipts bool // there are more receipts than shown
}

// Payments is the part of the page that needs a payment service.
type Payments struct {
	TopUp   TopUpForm
	Auto    AutoTopUp
	Low     LowBalance
	Failure *views.LoadFailure // set when the payments could not be read
}

// payable reports whether credit can be bought on the page.
func (b Overview) payable() bool { return b.Pay != nil && b.Pay.Failure == nil }

// TopUpForm is how much credit is to be bought.
type TopUpForm struct {
	Choice    string // a preset in dollars, or "own"
	Own       string // the amount as the user typed it
	OwnError  string
	FormError string
	Key       string // idempotency key: sending the form twice buys once
}

// OwnAmount is the choice of an amount that no preset has.
const OwnAmount = "own"

// NewTopUpForm is the form as it is first shown.
func NewTopUpForm(key string) TopUpForm { return TopUpForm{Choice: "25", Key: key} }

// The bounds of one top-up.
const (
	TopUpMin = 5 * app.Dollar
	TopUpMax = 10_000 * app.Dollar
)

var topUpPresets = []ui.ChipOption{
	{Value: "10", Label: "$10"}, {Value: "25", Label: "$25"}, {Value: "100", Label: "$100"}, {Value: OwnAmount, Label: "Other amount"},
}

// sum says what the chosen amount costs and how much credit it buys; it is empty while no amount is chosen.
func (f TopUpForm) sum() string {
	text := f.Choice
	if f.Choice == OwnAmount {
		text = f.Own
	}
	a, err := app.ParseAmount(text)
	if err != nil || a < TopUpMin || a > TopUpMax || a%app.Cent != 0 {
		return ""
	}
	return "You pay " + format.Dollars(a) + " and get " + format.Dollars(a) + " of credit."
}

// AutoTopUp is the form of automatic top-ups, and their state.
type AutoTopUp struct {
	Enabled                            bool
	Threshold, Amount, Cap             string // the text that the user typed
	ThresholdError, AmountError        string
	CapError, FormError                string
	On                                 bool // the saved setting
	HasCard                            bool
	Failures                           int
	Off                                string     // why the gateway switched it off
	ChargesNow                         app.Amount // charge that saving the form makes at once; the user confirms it first
	Balance                            app.Amount
	SavedThreshold, SavedSize, SavedIn app.Amount // the saved amounts, for the sentence above the form
}

// LowBalance is the form of the mail about little credit.
type LowBalance struct {
	Threshold, Error string
	Email            string
}

// The states of a top-up.
const (
	TopUpWaiting  = "waiting"
	TopUpPaid     = "paid"
	TopUpExpired  = "expired"
	TopUpFailed   = "failed"
	TopUpPartly   = "partially_refunded"
	TopUpRefunded = "refunded"
	TopUpDisputed = "disputed"
	TopUpWon      = "won"
	TopUpLost     = "lost"
)

// TopUp is one purchase of credit.
type TopUp struct {
	ID         string
	Amount     app.Amount
	Refunded   app.Amount
	State      string
	Failure    string // the message of the card's bank
	ReceiptURL string
	CreatedAt  time.Time
	PaidAt     *time.Time
	Auto       bool // the automatic top-up made it
}

func (t TopUp) path() string { return views.BillingPath + "/topups/" + t.ID }

var topUpVerdicts = map[string]views.Badge{
	TopUpWaiting: {Tone: ui.Info, Text: "Waiting for payment"}, TopUpPaid: {Tone: ui.Success, Text: "Paid"},
	TopUpExpired: {Tone: ui.Plain, Text: "Expired"},
	TopUpFailed:  {Tone: ui.Danger, Text: "Failed"}, TopUpPartly: {Tone: ui.Warning, Text: "Partly refunded"},
	TopUpRefunded: {Tone: ui.Warning, Text: "Refunded"},
	TopUpDisputed: {Tone: ui.Danger, Text: "Disputed"}, TopUpWon: {Tone: ui.Success, Text: "Paid, dispute ended"},
	TopUpLost: {Tone: ui.Danger, Text: "Charged back"},
}

// verdict is the badge of a state. One this table does not know yet is shown by its own name.
func (t TopUp) verdict() views.Badge {
	if v, ok := topUpVerdicts[t.State]; ok {
		return v
	}
	return views.Badge{Tone: ui.Plain, Text: t.State}
}

// TopUpDetail is the page that waits for a payment and then shows what it brought.
type TopUpDetail struct {
	views.Shell
	TopUp     TopUp
	Cancelled bool // the user returned from the payment page without paying
	PayURL    string
	Since     int64 // start of the waiting, in Unix seconds
	Asking    bool  // the page still polls
}

func (d TopUpDetail) waiting() bool { return d.TopUp.State == TopUpWaiting && !d.Cancelled }

func (d TopUpDetail) progressPath() string {
	return d.TopUp.path() + "/progress?since=" + strconv.FormatInt(d.Since, 10)
}

// Leaving is a page that leads to another server: the payment page or the portal.
type Leaving struct {
	views.Shell
	Title, Text, Link, URL string
}
