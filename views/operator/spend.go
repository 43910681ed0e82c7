package operator

import (
	"time"

	"umg/app"
	"umg/views"
)

// ProviderSpend is a spend cap of a provider, or of one of its credentials.
type ProviderSpend struct {
	Credential string // Credential is the reference of a credential; empty for the whole provider.
	Period     string // Period is day or month.
	Cap, Spent app.Amount
	ResetsAt   time.Time
}

func (s ProviderSpend) budget() views.KeyBudget {
	return views.KeyBudget{Limit: s.Cap, Spent: s.Spent, Left: s.Cap - s.Spent, Period: s.Period, ResetsAt: &s.ResetsAt}
}

func (s ProviderSpend) reached() bool { return s.Spent >= s.Cap }

// words are what is spent, the cap and its period.
func (s ProviderSpend) words() string {
	text := s.budget().SpentWords()
	if s.Credential != "" {
		text += " with " + s.Credential
	}
	return text
}

func (s ProviderSpend) label() string { return "Spend cap: " + s.words() }
