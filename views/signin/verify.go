package signin

import (
	"time"

	"umg/views"
)

// LinkPassword is the password that the form of a mailed link asks for, where its reader is not signed in as the user of the link.
type LinkPassword struct {
	Asked bool
	Error string        // why the submitted password is refused
	Wait  time.Duration // set after too many attempts
}

// Verify is the page of a link that proves an e-mail address, and of asking for one.
type Verify struct {
	views.Shell
	Token   string       // token of a valid link; empty otherwise
	Email   string       // the address to verify, if known
	Title   string       // result of the link, if there is one
	Problem string       // why a link or a request for one was refused
	Resend  bool         // the reader may have another link sent to Email
	Trial   *views.Trial // credit for verifying the address, which can also be claimed once Verified
	Done    bool         // the address is verified
	Claim   bool         // the trial credit can be claimed
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
