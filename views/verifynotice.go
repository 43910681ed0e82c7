package views

import (
	"umg/app"
	"umg/views/ui"
)

// Trial is the credit a new account starts with.
type Trial struct {
	Amount   app.Amount
	Days     int
	Verified bool // credit requires a verified e-mail address
}

// When says which step is missing before the trial credit is given.
func (t Trial) When() string {
	if t.Verified {
		return " is yours once you have opened the link that we send to your address."
	}
	return " is yours when you sign up."
}

// Unverified is what the overview says to a user whose address is not verified, or who has not had trial credit yet.
type Unverified struct {
	Email string
	Trial *Trial // nil when no trial credit can be claimed
	Claim bool   // the address is verified and only the credit is missing
	Mail  string // the mail with the link in the outbox of a demo; empty elsewhere
}

// verifyVariant is how loud the button of the trial credit is.
func verifyVariant(loud bool) ui.Variant {
	if loud {
		return ui.Primary
	}
	return ui.Outline
}
