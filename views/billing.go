package views

import (
	"strconv"
	"time"

	"umg/app"
	"umg/views/ui"
)

const (
	billingPath  = "/console/billing"
	billingIntro = "Prepaid credit: what there is, what it went to, and how to add more."
	ledgerPath   = billingPath + "/ledger"
	rulesPath    = billingPath + "/rules"
)

// Billing is the page about an account's money.
type Billing struct {
	Shell
	Credit  Credit
	Debt    bool      // the account is frozen only for its debt, and buying credit pays it
	Failure *Trouble  // set when the balance could not be read
	Proof   *Proof    // nil when the sums could not be compared
	Spend   Breakdown // spend of one month
	Pay     *Payments // nil where no payment service is configured
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
	Failure *Trouble // set when the payments could not be read
}

// payable reports whether credit can be bought on the page.
func (b Billing) payable() bool { return b.Pay != nil && b.Pay.Failure == nil }

// creditRow is one line of what the balance consists of.
type creditRow struct {
	kind, name string
	amount     app.Amount
	expires    *time.Time
}

// rows are the parts of the credit in the order in which they are usually spent.
func (c Credit) rows() []creditRow {
	var rows []creditRow
	if c.Trial != 0 || c.TrialExpires != nil {
		rows = append(rows, creditRow{kind: "trial", name: "Trial", amount: c.Trial, expires: c.TrialExpires})
	}
	if c.Granted != 0 {
		rows = append(rows, creditRow{kind: "granted", name: "Promotional", amount: c.Granted})
	}
	return append(rows, creditRow{kind: "purchased", name: "Purchased", amount: c.Purchased})
}

// total is the credit before what running calls have reserved.
func (c Credit) total() app.Amount { return c.Trial + c.Granted + c.Purchased }

// barUnits is the length of a whole bar, in the units of its picture.
const barUnits = 1000

// barLength is how long the bar of a part is. What is more than nothing is always seen.
func barLength(part, whole app.Amount) int {
	if part <= 0 || whole <= 0 {
		return 0
	}
	if part >= whole {
		return barUnits
	}
	return min(max(int(part/max(whole/barUnits, 1)), barLeast), barUnits)
}

const barLeast = 6

// barPiece is one piece of a bar made of several.
type barPiece struct {
	kind    string
	at, len int
}

// pieces are the parts of the credit side by side. The last one takes what rounding leaves.
func (c Credit) pieces() []barPiece {
	var pieces []barPiece
	at := 0
	for _, r := range c.rows() {
		if n := barLength(r.amount, c.total()); n > 0 {
			pieces = append(pieces, barPiece{kind: r.kind, at: at, len: min(n, barUnits-at)})
			at += n
		}
	}
	if n := len(pieces); n > 0 {
		pieces[n-1].len = barUnits - pieces[n-1].at
	}
	return pieces
}

func barNumber(n int) string { return strconv.Itoa(n) }

// Proof is that the sums of an account agree, which are kept apart: usage against charges, and entries and grants
// against the balance.
type Proof struct {
	Usage, Charges  app.Amount
	Entries, Posted app.Amount
	Grants          app.Amount
	At              time.Time
}

// proofPair is two sums that must be equal.
type proofPair struct {
	left, right string
	a, b        app.Amount
}

func (p Proof) pairs() []proofPair {
	return []proofPair{
		{"Cost of all usage records", "All charges in the ledger", p.Usage, p.Charges},
		{"All entries of the ledger", "The balance", p.Entries, p.Posted},
		{"What is left of all credit", "The balance", p.Grants, p.Posted},
	}
}

func (q proofPair) exact() bool { return q.a == q.b }

func (p Proof) exact() bool {
	for _, q := range p.pairs() {
		if !q.exact() {
			return false
		}
	}
	return true
}

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

// NewTopUpForm is the form as it stands at first.
func NewTopUpForm(key string) TopUpForm { return TopUpForm{Choice: "25", Key: key} }

// The bounds of one top-up.
const (
	TopUpMin = 5 * app.Dollar
	TopUpMax = 10_000 * app.Dollar
)

var topUpPresets = []ui.ChipOption{
	{Value: "10", Label: "$10"}, {Value: "25", Label: "$25"}, {Value: "100", Label: "$100"}, {Value: OwnAmount, Label: "Other amount"},
}

// sum says what the choice as it stands costs and gives; empty when it says nothing yet.
func (f TopUpForm) sum() string {
	text := f.Choice
	if f.Choice == OwnAmount {
		text = f.Own
	}
	a, err := app.ParseAmount(text)
	if err != nil || a < TopUpMin || a > TopUpMax || a%app.Cent != 0 {
		return ""
	}
	return "You pay " + Dollars(a) + " and get " + Dollars(a) + " of credit."
}

// AutoTopUp is the form of automatic top-ups, and how they stand.
type AutoTopUp struct {
	Enabled                            bool
	Threshold, Amount, Cap             string // as the user typed them
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

func (t TopUp) path() string { return billingPath + "/topups/" + t.ID }

var topUpVerdicts = map[string]verdict{
	TopUpWaiting: {ui.Info, "Waiting for payment"}, TopUpPaid: {ui.Success, "Paid"}, TopUpExpired: {ui.Plain, "Expired"},
	TopUpFailed: {ui.Danger, "Failed"}, TopUpPartly: {ui.Warning, "Partly refunded"}, TopUpRefunded: {ui.Warning, "Refunded"},
	TopUpDisputed: {ui.Danger, "Disputed"}, TopUpWon: {ui.Success, "Paid, dispute ended"}, TopUpLost: {ui.Danger, "Charged back"},
}

// verdict is the badge of a state. One this table does not know yet is shown by its own name.
func (t TopUp) verdict() verdict {
	if v, ok := topUpVerdicts[t.State]; ok {
		return v
	}
	return verdict{ui.Plain, t.State}
}

// TopUpDetail is the page that waits for a payment and then shows what it brought.
type TopUpDetail struct {
	Shell
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
	Shell
	Title, Text, Link, URL string
}
