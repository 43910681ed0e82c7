package views

import (
	"cmp"
	"net/url"
	"strings"
	"time"

	"github.com/a-h/templ"
)

const securityPath = settingsPath + "/security"

// Security is the page about the second step of signing in, and about sessions.
type Security struct {
	Shell
	FormError     string // why the second step is not set up
	PasswordError string
	EnabledAt     *time.Time // since when there is a second step; nil for none
	CodesLeft     int        // recovery codes that were not used
	Sessions      []Session
	Operator      bool // runs the gateway, and must set up the second step first
}

// fewCodes is when the page asks for new recovery codes.
const fewCodes = 3

func (s Security) others() int { return max(len(s.Sessions)-1, 0) }

// Session is one place where the user is signed in.
type Session struct {
	ID        string
	Agent     string // as the browser names itself
	IP        string
	CreatedAt time.Time
	SeenAt    time.Time
	Current   bool // the one that looks at the page
}

// TOTPSetup is the page that shows the secret for the device.
type TOTPSetup struct {
	Shell
	Secret    string
	Picture   QR
	CodeError string
	Throttled bool // the error is about too many attempts
	Operator  bool // runs the gateway, and must set up the second step first
}

// RecoveryCodes is the page that shows codes once.
type RecoveryCodes struct {
	Shell
	Codes   []string
	Enabled bool   // the second step has just been turned on
	Next    string // where the reader was going; empty for the page about security
}

func (r RecoveryCodes) next() string { return cmp.Or(r.Next, securityPath) }

func (r RecoveryCodes) title() string {
	if r.Enabled {
		return "Sign-in codes are on"
	}
	return "Your new recovery codes"
}

func (r RecoveryCodes) text() string { return strings.Join(r.Codes, "\n") + "\n" }

// file is the codes as something to download, within the page, so that they are sent nowhere again.
func (r RecoveryCodes) file() templ.SafeURL {
	return templ.SafeURL("data:text/plain;charset=utf-8," +
		url.PathEscape("Recovery codes of Unified Model Gateway\nEach works once, instead of the code of your device.\n\n"+r.text()))
}

// ProofOf is what a form does that takes the password again.
type ProofOf int

// What such forms do.
const (
	TurnOff ProofOf = iota // the second step
	Renew                  // the recovery codes
)

// SecurityProof is such a form.
type SecurityProof struct {
	Shell
	What          ProofOf
	CodesLeft     int
	FormError     string
	PasswordError string
	CodeError     string
}
