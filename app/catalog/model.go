package catalog

import (
	"slices"
	"time"

	"umg/app/llm"
	"umg/billing"
)

// Model is a model by its public id, with all that a call to it needs. It is read-only.
type Model struct {
	ID, Name, Description, Owner string
	// Aliases are other ids of the model.
	Aliases []string
	// Accounts are the only accounts that see the model; empty for all.
	Accounts []string
	Kind     Kind
	Abilities

	// Sizes and Seconds are what a video may have. The first of each is the default.
	Sizes   []string
	Seconds []int64

	RateCard billing.RateCard
	// SizeRateCards are the rate cards of sizes with prices of their own. They have the id of RateCard.
	SizeRateCards map[string]billing.RateCard
	// Prices are the rates of RateCard as the file has them.
	Prices     Rates
	SizePrices map[string]Rates
	// Announced are the prices to come; nil when none are announced.
	Announced *PriceChange

	Limits Limits
	CallPolicy

	// Routes are the routes that can be used, in the order in which they are tried.
	Routes []Route
	// IdleRoutes are the routes that cannot be used. Provider.Unusable has the reason.
	IdleRoutes []Route
	Lifecycle
	prepared
}

// Abilities are what a model can do.
type Abilities struct {
	Capabilities                      []string
	InputModalities, OutputModalities []string
	ContextTokens, MaxOutputTokens    int64
	// Styles are those in which the model may be called. Model.Served lists those in which it answers today.
	Styles     []llm.Style
	Parameters []string
	// Thinking is how requests of the messages style may ask for thinking.
	Thinking llm.ThinkingForms
	// AssetsMax is how many material assets a video call may name.
	AssetsMax int
}

// CallPolicy is what the gateway does for a call that is late, is cut or fails.
type CallPolicy struct {
	// Timeout bounds a whole call, over all its attempts.
	Timeout time.Duration
	OnCut   OnCut
	// LongerContext is the model that takes requests which are too long for this one; empty for none.
	LongerContext string
	// Fallbacks are the models that serve a call, in this order, when no provider of this one answers.
	Fallbacks []string
	// Hedge allows a second attempt on another route while the first one is late.
	Hedge bool
}

// Lifecycle is whether a model can be called, and until when.
type Lifecycle struct {
	// Available is false for models that are only announced.
	Available bool
	// Paused models take no new calls.
	Paused bool
	Notice string

	CreatedAt                time.Time
	DeprecatedAt, ShutdownAt *time.Time
	// Successor is the model to use instead of one that goes; empty for none.
	Successor string
}

// prepared is what a snapshot prepares for each model once.
type prepared struct {
	lifecycle []Header
	served    []llm.Style
	contracts map[llm.Style]*Contract
	// accounts has the entries of Accounts.
	accounts map[string]bool
	extras   map[llm.Style]llm.ExtraSet
	// video and remix are the contracts of POST /v1/videos and POST /v1/videos/{id}/remix; nil for models that make no videos.
	video, remix *Contract
	// entry is the model in the list of models, as JSON.
	entry []byte
}

// Contract is what the model accepts in a style, when it may be called in that style and the style has a contract.
func (m *Model) Contract(s llm.Style) (*Contract, bool) {
	c, ok := m.contracts[s]
	return c, ok
}

// Served lists the styles the model answers in today.
func (m *Model) Served() []llm.Style { return m.served }

// Serves reports whether the model answers in a style today.
func (m *Model) Serves(s llm.Style) bool { return slices.Contains(m.served, s) }

// CardFor is the rate card of an output size; sizes without prices of their own share the model's.
func (m *Model) CardFor(size string) billing.RateCard {
	if card, ok := m.SizeRateCards[size]; ok {
		return card
	}
	return m.RateCard
}

// ListEntry is the model as GET /v1/models shows it, a JSON object. The caller must not change it.
func (m *Model) ListEntry() []byte { return m.entry }

// price makes the rate cards and the announced change. All sizes carry the id of the one version they belong to. A model with prices of
// sizes has no conditions.
func (m *Model) price(id string, conditions []FileCondition, announced *FileAnnounced) (err error) {
	if announced != nil {
		if m.Announced, err = announced.change(); err != nil {
			return err
		}
	}
	if len(m.Prices) == 0 {
		return nil
	}
	if m.RateCard, err = newCard(id, m.Prices, conditions); err != nil {
		return err
	}
	m.SizeRateCards = map[string]billing.RateCard{}
	for size, rates := range m.SizePrices {
		if m.SizeRateCards[size], err = rates.card(id); err != nil {
			return err
		}
	}
	return nil
}

// servedStyles are the styles in which a model answers: it may be called in them, they have a contract to check calls, and a route can
// be used. Calls are translated to the style of the route.
func servedStyles(m *Model) []llm.Style {
	var served []llm.Style
	for _, style := range m.Styles {
		if _, hasContract := m.contracts[style]; hasContract && len(m.Routes) > 0 {
			served = append(served, style)
		}
	}
	return served
}
