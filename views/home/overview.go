package home

import (
	"umg/app"
	"umg/views"
)

// Overview is the first page of the console. A part of it that could not be read is nil, and says so in its own place.
type Overview struct {
	views.Shell
	Onboarding *Onboarding // nil after the user dismissed it
	Credit     *views.Credit
	Spending   *Spending
	Speed      *Speed
	Top        *TopModels
	Failures   *Failures
	Recent     *Recent
	Running    int                // videos that are being made
	Payable    bool               // credit can be bought on this server
	Failure    *views.LoadFailure // set when a part could not be read
	Unverified *views.Unverified
	Hooks      []views.Webhook // endpoints that were disabled after failures, or are about to be
	Providers  ProviderHint
}

// ProviderHint is why an operator should add a provider.
type ProviderHint string

// The hints about providers. Only operators see them.
const (
	NoProviderHint ProviderHint = ""
	// NoModels means that no model can be called.
	NoModels ProviderHint = "none"
	// OnlySimulated means that all providers are those of the demo.
	OnlySimulated     ProviderHint = "simulated"
	addProviderPath                = views.OperatorPath + "/providers/new"
	addProviderManual              = views.OperatorHelpPath + "/first-start"
)

// title says what is missing.
func (h ProviderHint) title() string {
	if h == OnlySimulated {
		return "All models of this server are simulated"
	}
	return "No model can be called yet"
}

// neverFunded says whether the account waits for its first credit. The notice about its e-mail address says how to get it.
func (o Overview) neverFunded() bool {
	return o.Unverified != nil && o.Onboarding != nil && o.Credit != nil && *o.Credit == views.Credit{} && o.Spending != nil &&
		o.Spending.Requests == 0
}

// verifiesInSteps reports whether the first steps say what is left to do about the address, so that no notice repeats it.
func (o Overview) verifiesInSteps() bool {
	return o.May(app.ManageKeys) && o.Onboarding != nil && o.Onboarding.Verifies && o.Onboarding.Unverified != nil && !o.Onboarding.done()
}
