package settings

import (
	"cmp"
	"net/url"
	"strings"
	"time"

	"github.com/a-h/templ"

	"umg/views"
)

const securityPath = views.SettingsPath + "/security"

// Security is the page about the second step of signing in, and about sessions.
type Security struct {
	views.Shell
	FormError     string // FormError says why the second step is not set up.
	PasswordError string
	EnabledAt     *time.Time // EnabledAt is when the second step was enabled; nil without one.
	CodesLeft     int        // CodesLeft is the number of unused recovery codes.
	Sessions      []Session
	Operator      bool // Operator means that the user is an operator, and must set up the second step first.
}

// fewCodes is when the page asks for new recovery codes.
const fewCodes = 3

func (s Security) others() int { return max(len(s.Sessions)-1, 0) }

// Session is one place where the user is signed in.
type Session struct {
	ID        string
	Agent     string // Agent is the browser's user agent.
	IP        string
	CreatedAt time.Time
	SeenAt    time.Time
	Current   bool // Current means the session of this request.
}

// TOTPSetup is the page that shows the secret for the device.
type TOTPSetup struct {
	views.Shell
	Secret    string
	Picture   QR
	CodeError string
	Throttled bool // Throttled means that CodeError is about too many attempts.
	Operator  bool // Operator means that the user is an operator, and must set up the second step first.
}

// RecoveryCodes is the page that shows codes once.
type RecoveryCodes struct {
	views.Shell
	Codes   []string
	Enabled bool   // Enabled means that the second step has just been enabled.
	Next    string // Next is the page to open afterwards; empty for the page about security.
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

// These forms change the second step or its codes.
const (
	TurnOff ProofOf = iota // TurnOff turns off the second step.
	Renew                  // Renew renews the recovery codes.
)

// SecurityProof is such a form.
type SecurityProof struct {
	views.Shell
	What          ProofOf
	CodesLeft     int
	FormError     string
	PasswordError string
	CodeError     string
}
