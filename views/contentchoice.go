package views

import "umg/views/format"

// Which calls an account keeps the content of.
const (
	KeepNever = "never"
	KeepAsked = "asked"
	KeepAll   = "all"
)

// ContentChoice is what a form for a key says about the choice of its account.
type ContentChoice struct {
	Keep string
	Days int
}

// Words say what the account stores of its calls.
func (c ContentChoice) Words() string {
	days := format.CountOf(int64(c.Days), "day", "days")
	const seen = " Owners, admins and developers see it on the page of each request."
	switch c.Keep {
	case KeepAsked:
		return "This account keeps what is asked and answered with keys that ask for it, for " + days +
			". Secrets that can be recognised are taken out." + seen
	case KeepAll:
		return "This account keeps what is asked and answered in all calls for " + days + ", whether a key asks for it or not." + seen
	}
	if c.Keep == "" {
		return "Whether this account keeps what is asked and answered is decided by its owners and admins."
	}
	return "This account keeps nothing of what is asked and answered, so asking changes nothing today. An owner or admin can change that."
}
