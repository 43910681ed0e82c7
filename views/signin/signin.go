package signin

import (
	"time"

	"umg/views"
)

// SecondStep is the page that asks for a code after the password.
type SecondStep struct {
	views.Shell
	Recovery  bool // Recovery means that the page asks for a recovery code.
	CodeError string
	Wait      time.Duration // Wait is set after too many attempts.
	Next      string        // Next is the page to open afterwards; empty for the overview.
}

// Forgot is the page on which a user asks for a link that sets a new password.
type Forgot struct {
	views.Shell
	Email      string
	EmailError string
	Wait       time.Duration
	Sent       bool // Sent means that the link was sent, if the address is known.
	NoMail     bool // NoMail means that the server sends no mail.
}

// Reset is the page of such a link.
type Reset struct {
	views.Shell
	Token         string // Token is that of a valid link; empty otherwise.
	Email         string
	PasswordError string
	Problem       string // Problem says why the link does not work.
	Done          bool
}

func (r Reset) title() string {
	switch {
	case r.Done:
		return "Your password was changed"
	case r.Problem != "":
		return "This link does not work"
	default:
		return "Choose a new password"
	}
}

// EmailChange is the page of a link to another e-mail address.
type EmailChange struct {
	views.Shell
	Token    string // Token is that of a valid link; empty otherwise.
	From, To string
	Problem  string // Problem says why the link does not work.
	Done     bool
	Password LinkPassword
}

func (e EmailChange) title() string {
	switch {
	case e.Done:
		return "Your e-mail address was changed"
	case e.Problem != "":
		return "This link does not work"
	default:
		return "Use this e-mail address"
	}
}
