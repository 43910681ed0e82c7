package views

import (
	"strconv"
	"time"

	"umg/app"
)

// BarMin is the least length of a part of a bar, in BarUnits, so that a small part can be seen.
const BarMin = 6

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

// BarUnits is the length of a whole bar, in the units of its picture.
const BarUnits = 1000

// BarLength is how long the bar of a part is. What is more than nothing is always seen.
func BarLength(part, whole app.Amount) int {
	if part <= 0 || whole <= 0 {
		return 0
	}
	if part >= whole {
		return BarUnits
	}
	return min(max(int(part/max(whole/BarUnits, 1)), BarMin), BarUnits)
}

// BarPiece is one piece of a bar made of several.
type BarPiece struct {
	Kind    string
	At, Len int
}

// Pieces are the parts of the credit side by side. The last one takes what rounding leaves.
func (c Credit) Pieces() []BarPiece {
	var pieces []BarPiece
	at := 0
	for _, r := range c.rows() {
		if n := BarLength(r.amount, c.total()); n > 0 {
			pieces = append(pieces, BarPiece{Kind: r.kind, At: at, Len: min(n, BarUnits-at)})
			at += n
		}
	}
	if n := len(pieces); n > 0 {
		pieces[n-1].Len = BarUnits - pieces[n-1].At
	}
	return pieces
}

// BarNumber is a length or a position as an attribute of SVG.
func BarNumber(n int) string { return strconv.Itoa(n) }

// Credit is the balance in its parts.
type Credit struct {
	Available    app.Amount
	Trial        app.Amount
	TrialExpires *time.Time
	Purchased    app.Amount
	Granted      app.Amount // Granted is the credit from promotions and corrections.
	Held         app.Amount
	Owed         app.Amount // Owed is the debt of the account, because spent credit was taken back.
}
