package home

import (
	"time"

	"umg/app"
	"umg/views"
	"umg/views/codesample"
	"umg/views/format"
	"umg/views/ui"
)

// Onboarding is the list of steps up to the first answered request.
type Onboarding struct {
	KeyError string // why no key was made
	HasKey   bool   // the account has a usable key
	KeyHint  string // masked form of the newest key, with preference for keys with true statuses
	Fresh    *views.FreshKey
	MayCall  bool // the reader may call models from the console
	// Verifies is set where the trial credit needs a verified address: verification is the first of the three steps then.
	Verifies bool
	// Unverified is what is left to do about the address; nil once the step is done.
	Unverified *views.Unverified
	// Replaced is set when Fresh replaces a key that ended with the verification.
	Replaced bool
	// Said is what the verification gave, such as trial credit; shown with the key that replaces another one.
	Said string

	// BaseURL is the base URL of the API, which ends in /v1.
	BaseURL string
	// Model is a cheap model that can be called. It is empty when there is none.
	Model string
	// MayAddModels is set for operators, who add models themselves, and MustEnrol for those who need sign-in codes first.
	MayAddModels, MustEnrol bool
	Bodies                  []StyleBody
	// Language is that of the first sample, from the cookie umg_language.
	Language string
	// Style is that of the first sample, from the cookie umg_style.
	Style string

	Unfunded bool // calls would be refused because there is no credit
	Mails    string
	First    *FirstRequest
	Refused  *Arrival // the latest call that was refused before authentication
	Sent     *SentCall
}

// StyleBody is the request of the samples in one style.
type StyleBody struct {
	Style views.Style
	Body  []byte
}

// SentCall is what became of the request that was sent from the page itself.
type SentCall struct {
	Answer  string // text of the model's answer
	Model   string
	ID      string
	Cost    app.Amount
	Took    time.Duration
	Trouble string // why there is no answer
	Fix     *Fix
}

// FirstRequest is the request the onboarding waited for. One that failed keeps it waiting, but is shown.
type FirstRequest struct {
	views.Request
}

// Answered says whether the request did what the onboarding is for.
func (f *FirstRequest) Answered() bool { return f != nil && f.Outcome == "succeeded" }

// charged says what a request cost that was not answered, or not to the end.
func (f *FirstRequest) charged() string {
	if f.Cost == 0 {
		return "Nothing was charged."
	}
	return "The part that was delivered cost " + format.Dollars(f.Cost) + "."
}

// done says whether all three steps are behind.
func (o Onboarding) done() bool { return o.First.Answered() && o.Fresh == nil && o.Sent == nil }

// state is how far each of the three steps is.
func (o Onboarding) state(step int) ui.StepState {
	key, wait := 1, 3 // the numbers of the steps that get a key and wait for its call
	if o.Verifies {
		key = 2
	}
	reached := key
	switch {
	case o.First.Answered():
		reached = wait + 1
	case o.Verifies && o.Unverified != nil:
		reached = 1
	case o.HasKey || o.Fresh != nil:
		reached = key + 1
	}
	switch {
	case step < reached:
		return ui.StepDone
	case step == reached, step == wait && reached == key+1:
		return ui.StepCurrent
	default:
		return ui.StepNext
	}
}

// verifyTitle is the title of the step that verifies the address.
func (o Onboarding) verifyTitle() string {
	if o.Unverified != nil && o.Unverified.Claim {
		return "Get your trial credit"
	}
	return "Verify your address"
}

// secret is the key that is in the code.
func (o Onboarding) secret() string {
	if o.Fresh != nil {
		return o.Fresh.Secret
	}
	return ""
}

// tabs are the styles that the code is shown in.
func (o Onboarding) tabs() ui.TabsProps {
	t := ui.TabsProps{ID: "call-styles", Title: "Protocol style", Group: "style", Selected: o.Style}
	for _, b := range o.Bodies {
		t.Tabs = append(t.Tabs, ui.Tab{Name: string(b.Style), Label: b.Style.Label()})
	}
	return t
}

func (o Onboarding) code(b StyleBody) ui.CodeProps {
	return ui.CodeProps{
		ID: "call-" + string(b.Style), Title: "Language", Group: "language", Selected: o.Language,
		Samples: codesample.OfRequest(codesample.Request{Style: b.Style, BaseURL: o.BaseURL, Key: o.secret(), Body: b.Body}),
	}
}

// startCost is the cost of the first request, shown before it is sent.
func startCost(o Onboarding) string {
	if o.Model == "" {
		return ""
	}
	return "It costs far less than a cent: " + o.Model + " is the cheapest model that answers."
}

// sendVariant is loud once there is nothing else to press first.
func sendVariant(o Onboarding) ui.Variant {
	if o.HasKey || o.Fresh != nil {
		return ui.Primary
	}
	return ui.Outline
}
