package setup

import (
	"time"

	"umg/app"
	"umg/views"
	"umg/views/format"
	"umg/views/home"
	"umg/views/ui"
)

// These are the steps, by their numbers.
const (
	stepAccount = iota + 1
	stepKeys
	stepModels
	stepTry
)

// steps are the titles of the steps, in their order.
var steps = []string{"Your account", "Keys", "Models", "Try it"}

// These are the paths of the steps.
const (
	KeysPath   = views.SetupPath + "/keys"
	ModelsPath = views.SetupPath + "/models"
	TryPath    = views.SetupPath + "/try"
	FinishPath = views.SetupPath + "/finish"
)

// Account is the first step: the code from the log, and the operator's e-mail address and password.
type Account struct {
	views.Shell
	Code          string
	Email         string
	CodeError     string
	EmailError    string
	PasswordError string
	FormError     string
	// Wait is set after too many attempts.
	Wait time.Duration
	// Credit is what the account gets. Zero means none.
	Credit app.Amount
}

// Keys is the second step: providers whose keys are in the environment of the server.
type Keys struct {
	views.Shell
	Found []FoundKey
	// Usual lists the variables that find a provider.
	Usual []string
	// Error says why the form was refused.
	Error string
}

// FoundKey is a provider whose key is in the environment.
type FoundKey struct {
	ID, Name  string
	Variables []string
	Chosen    bool
	// Published is set when the catalog has the provider.
	Published bool
}

// Models is the third step: what the chosen providers have.
type Models struct {
	views.Shell
	Offers []Offer
	// Markup is what the operator entered, such as 10%.
	Markup      string
	MarkupError string
	// Error says why nothing was published.
	Error string
}

// Offer is a provider with the models that it would publish.
type Offer struct {
	ID, Name string
	Models   []ModelLine
	// Listed is set when the provider's own list was read.
	Listed bool
	// Unpriced counts the models of the list without a known price.
	Unpriced int
	// Problem, ProviderWords and Advice say why the list was not read, and are empty otherwise.
	Problem, ProviderWords, Advice string
	// Published is set when the catalog has the provider.
	Published bool
}

// ModelLine is a model with its costs.
type ModelLine struct{ ID, Input, Output string }

// Try is the last step: a first call.
type Try struct {
	views.Shell
	Credit app.Amount
	// Models counts the models that can be called.
	Models int
	// Model is the cheapest model. It is empty when no model can be called.
	Model string
	Sent  *home.SentCall
	// Enrols is set when the operator needs sign-in codes for the operator pages and has none yet.
	Enrols bool
}

// stateOf is how far a step is while another is shown.
func stateOf(step, shown int) ui.StepState {
	switch {
	case step < shown:
		return ui.StepDone
	case step == shown:
		return ui.StepCurrent
	}
	return ui.StepNext
}

// words says how many models an offer publishes, and from where they are.
func (o Offer) words() string {
	models := format.CountOf(int64(len(o.Models)), "model", "models")
	switch {
	case o.Published:
		return "In the catalog already."
	case len(o.Models) == 0 && o.Listed:
		return "The provider lists no model whose price is known."
	case o.Listed:
		return models + " that your key can call."
	}
	return models + " of the model library."
}

// publishable reports whether an offer has something to publish.
func (o Offer) publishable() bool { return !o.Published && len(o.Models) > 0 }

func (m Models) publishable() bool {
	for _, o := range m.Offers {
		if o.publishable() {
			return true
		}
	}
	return false
}

// alsoUnpriced says what of a list is not offered.
func (o Offer) alsoUnpriced() string {
	if o.Unpriced == 1 {
		return "1 further model has no known price. You can publish it later, with a price of your own."
	}
	return format.Count(int64(o.Unpriced)) + " further models have no known price. You can publish them later, with prices of your own."
}
