package views

import "umg/views/ui"

// SettlementRule is one row of it. Charge is one of the ways to charge.
type SettlementRule struct {
	Reason, Outcome, When, Charge, Text string
	Estimated, Recorded                 bool
}

// chargeWords say what is charged.
var chargeWords = map[string]string{
	"usage":     "What it used",
	"delivered": "What was delivered",
	"received":  "Its input, and what came",
	"reserve":   "What was reserved",
	"seconds":   "Its seconds",
	"nothing":   "Nothing",
}

// ChargeText says what is charged.
func (r SettlementRule) ChargeText() string {
	if text, ok := chargeWords[r.Charge]; ok {
		return text
	}
	return r.Charge
}

// Tone is the tone of the badge for what is charged.
func (r SettlementRule) Tone() ui.Tone {
	if r.Charge == "nothing" {
		return ui.Success
	}
	return ui.Brand
}
