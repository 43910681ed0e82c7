package signin

import (
	"time"

	"umg/views"
)

// LinkPassword is the password that the form of a mailed link asks for, where its reader is not signed in as the user of the link.
type LinkPassword struct {
	Asked bool
	Error string        // Error says why the submitted password is refused.
	Wait  time.Duration // Wait is set after too many attempts.
}

// Verify is the page of a link that proves an e-mail address, and of asking for one.
type Verify struct {
	views.Shell
	Token   string       // Token is that of a valid link; empty otherwise.
	Email   string       // Email is the address to verify, if known.
	Title   string       // Title is the result of the link; empty without one.
	Problem string       // Problem says why a link or a request for one was refused.
	Resend  bool         // Resend means that the reader may have another link sent to Email.
	Trial   *views.Trial // Trial is the credit for verifying the address, which can also be claimed once verified.
	Done    bool         // Done means that the address is verified.
	Claim   bool         // Claim means that the trial credit can be claimed.
	// Password is that of the user whose address is Email. It is asked for of a reader who is not signed in as that user.
	Password LinkPassword
}

func (v Verify) title() string {
	switch {
	case v.Title != "":
		return v.Title
	case v.Done:
		return "Your e-mail address is verified"
	default:
		return "Verify your e-mail address"
	}
}
