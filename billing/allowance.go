package billing

import "umg/app"

// Allowance is how much a key or an account may spend in a period.
type Allowance struct {
	Limit  app.Amount
	Period Period
}

// AllowanceMax is far beyond what an account spends, and small enough that sums of allowances cannot overflow.
const AllowanceMax = 100_000_000 * app.Dollar

// String is the allowance as people read it. No allowance is an empty text.
func (b *Allowance) String() string {
	if b == nil {
		return ""
	}
	return "$" + b.Limit.String() + " " + string(b.Period)
}
