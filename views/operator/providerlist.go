package operator

import (
	"strings"

	"umg/app"
	"umg/views"
	"umg/views/format"
	"umg/views/ui"
)

// ProviderList is the list of providers of the catalog.
type ProviderList struct {
	views.Shell
	Providers []ProviderRow
	Failure   *views.LoadFailure
}

// ProviderRow is a provider of the catalog.
type ProviderRow struct {
	ID, Name, Preset string // Preset is the name of the preset. It is empty without one.
	State            ProviderState
	// Why says why the provider is not set up or paused.
	Why string
	// Credential is the visible end of a sealed credential, or the reference of another one. It is empty without a credential.
	Credential  string
	Credentials int
	// Models is how many models of the catalog have a route of the provider.
	Models    int
	HourCalls int64
	// Week is what the calls of the last seven days brought in and cost.
	Week MarginLine
}

// ProviderState says whether calls go to a provider.
type ProviderState string

// These are the states of a provider.
const (
	// ProviderDraft is disabled and has no route yet.
	ProviderDraft    ProviderState = "draft"
	ProviderDisabled ProviderState = "disabled"
	ProviderPaused   ProviderState = "paused"
	// ProviderUnusable lacks a value that it needs, such as its credential.
	ProviderUnusable ProviderState = "unusable"
	// ProviderIdle has no route.
	ProviderIdle  ProviderState = "idle"
	ProviderInUse ProviderState = "in_use"
)

// Badge shows the state.
func (s ProviderState) Badge() views.Badge {
	switch s {
	case ProviderDraft:
		return views.Badge{Tone: ui.Info, Text: "Draft"}
	case ProviderDisabled:
		return views.Badge{Tone: ui.Plain, Text: "Disabled"}
	case ProviderPaused:
		return views.Badge{Tone: ui.Warning, Text: "Paused"}
	case ProviderUnusable:
		return views.Badge{Tone: ui.Danger, Text: "Not set up"}
	case ProviderIdle:
		return views.Badge{Tone: ui.Plain, Text: "No models"}
	}
	return views.Badge{Tone: ui.Success, Text: "In use"}
}

// about is the line below the name.
func (p ProviderRow) about() string {
	if p.Preset == "" || p.Preset == p.Name {
		return ""
	}
	return p.Preset
}

// further says how many credentials there are beside the first.
func (p ProviderRow) further() string {
	if p.Credentials < 2 {
		return ""
	}
	return "and " + format.Count(int64(p.Credentials-1)) + " more"
}

// ending is what is visible of the credential.
func (p ProviderRow) ending() string {
	if strings.TrimSpace(p.Credential) == "" {
		return "None"
	}
	return p.Credential
}

func (p ProviderRow) hasCalls() bool { return p.Week.Calls > 0 }

func (p ProviderRow) spend() app.Amount { return p.Week.Cost }
