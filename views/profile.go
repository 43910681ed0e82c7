package views

import "time"

// Profile is the page on which a user changes what concerns themself alone.
type Profile struct {
	Shell
	Name       string
	NameError  string
	Email      string
	Pending    string // the address that waits for its link to be opened
	PasswordAt *time.Time
	NoMail     bool // this server sends none, so the address stays as it is

	NewEmail           string
	NewEmailError      string
	EmailPasswordError string
	EmailFormError     string

	VideoAsk      string // in dollars, above which making videos is asked about
	VideoAskError string

	CurrentError      string
	PasswordError     string
	PasswordFormError string
}
