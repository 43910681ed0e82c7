package operator

import (
	"net/url"
	"strings"
	"time"

	"umg/views"
	"umg/views/ui"
)

const newCredentialPath = views.CredentialsPath + "/new"

// Credentials are the sealed credentials of providers. No page has their values.
type Credentials struct {
	views.Shell
	List    []Credential
	Events  []CredentialEvent // Events has the newest first.
	Failure *views.LoadFailure
}

// Credential is a sealed credential without its value.
type Credential struct {
	Name       string
	LastFour   string // LastFour is empty for a short value.
	KeyID      string
	Unreadable bool // Unreadable means that this server has another secret key.
	ChangedBy  string
	ChangedAt  time.Time
	Providers  []string
}

// CredentialEvent is what an operator did to a credential.
type CredentialEvent struct {
	Deleted            bool
	Name, LastFour, By string
	At                 time.Time
}

// CredentialForm is the form for a credential. It never has the value that was sent.
type CredentialForm struct {
	views.Shell
	Name                  string
	Replaces              bool // Replaces means that the name is that of a stored credential.
	Problem               string
	NameError, ValueError string
}

// CredentialDelete asks before a credential is deleted.
type CredentialDelete struct {
	views.Shell
	Credential Credential
	Problem    string // Problem says why the credential cannot be deleted.
}

func (c Credential) replacePath() string {
	return newCredentialPath + "?" + url.Values{"name": {c.Name}}.Encode()
}

func (c Credential) deletePath() string {
	return views.CredentialsPath + "/" + url.PathEscape(c.Name) + "/delete"
}

// reference is how a catalog file names the credential.
func (c Credential) reference() string { return "sealed:" + c.Name }

// ending is the visible end of the value.
func (c Credential) ending() string {
	if strings.TrimSpace(c.LastFour) == "" {
		return "hidden"
	}
	return "…" + c.LastFour
}

func (c Credential) verdict() views.Badge {
	switch {
	case c.Unreadable:
		return views.Badge{Tone: ui.Danger, Text: "Other key"}
	case len(c.Providers) == 0:
		return views.Badge{Tone: ui.Plain, Text: "Unused"}
	}
	return views.Badge{Tone: ui.Success, Text: "In use"}
}

func (f CredentialForm) title() string {
	if f.Replaces {
		return "Replace a credential"
	}
	return "Add a credential"
}
