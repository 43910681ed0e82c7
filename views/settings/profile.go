package settings

import (
	"time"

	"umg/views"
)

// Profile is the page on which a user changes what concerns themself alone.
type Profile struct {
	views.Shell
	Name       string
	NameError  string
	Email      string
	Pending    string // the new address that awaits verification
	PasswordAt *time.Time
	NoMail     bool // the server sends no mail, so the address cannot change

	NewEmail           string
	NewEmailError      string
	EmailPasswordError string
	EmailFormError     string

	VideoAsk      string // dollars above which videos need a confirmation
	VideoAskError string

	CurrentError      string
	PasswordError     string
	PasswordFormError string
}
