package settings

import (
	"time"

	"umg/views"
	"umg/views/format"
	"umg/views/ui"
)

// Profile is the page on which a user changes what concerns themself alone.
type Profile struct {
	views.Shell
	Name       string
	NameError  string
	Email      string
	Pending    string // Pending is the new address that awaits verification.
	PasswordAt *time.Time
	NoMail     bool // NoMail means that the server sends no mail, so the address cannot change.

	NewEmail           string
	NewEmailError      string
	EmailPasswordError string
	EmailFormError     string

	VideoAsk      string // VideoAsk is in dollars; a higher price of videos needs a confirmation.
	VideoAskError string

	// TimeZone is empty for the zone of the browser.
	TimeZone  string
	TimeClock string // TimeClock is 12; empty for 24 hours.
	Region    string // Region is empty for that of the browser.
	ZoneError string

	CurrentError      string
	PasswordError     string
	PasswordFormError string
}

var clockOptions = []ui.Option{{Label: "24-hour (15:04)"}, {Value: "12", Label: "12-hour (3:04 PM)"}}

// regionOptions are the regions whose numbers and days a reader can choose. Each shows how they look.
var regionOptions = func() []ui.Option {
	options := []ui.Option{{Label: "Browser"}}
	for _, r := range format.Regions() {
		options = append(options, ui.Option{Value: r.ID, Label: r.Name + " (" + r.Example() + ")"})
	}
	return options
}()
