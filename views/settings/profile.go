package settings

import (
	"time"

	"umg/views"
	"umg/views/ui"
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

	// TimeZone is empty for the zone of the browser.
	TimeZone  string
	TimeClock string // 12, or empty for 24 hours
	ZoneError string

	CurrentError      string
	PasswordError     string
	PasswordFormError string
}

var clockOptions = []ui.Option{{Label: "24-hour (15:04)"}, {Value: "12", Label: "12-hour (3:04 PM)"}}
