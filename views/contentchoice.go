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
		return "This account stores the content of keys that opt in, for " + days +
			". Recognised secrets are removed." + seen
	case KeepAll:
		return "This account stores the content of all calls for " + days + ", whether a key opts in or not." + seen
	}
	if c.Keep == "" {
		return "The owners and admins of this account decide whether it stores content."
	}
	return "This account stores no content, so opting in changes nothing today. An owner or admin can change that."
}
