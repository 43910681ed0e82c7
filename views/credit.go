package views

import (
	"strconv"
	"time"
	"umg/app"
)

const (
	barLeast = 6
)

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

// Credit is the balance in its parts.
type Credit struct {
	Available    app.Amount
	Trial        app.Amount
	TrialExpires *time.Time
	Purchased    app.Amount
	Granted      app.Amount // promotions and corrections
	Held         app.Amount
	Owed         app.Amount // debt of the account, because spent credit was taken back
}
