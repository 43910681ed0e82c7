package quirk

import (
	"slices"

	"umg/app/llm"
)

// Rules are in what the requests to a provider differ. They never change.
type Rules struct {
	// outputBound is the only name of the bound on output that the provider knows. It is empty when it knows both.
	outputBound             string
	sendsUsageUnasked       bool
	drop, dropWhenReasoning []string
	rename                  map[string]string
	refusesDeveloper        bool
	// requiredWord and namedWord are the words for choices of tools. They are empty for those of the style.
	requiredWord, namedWord string
	// dropInMessages are members of messages of the assistant that the provider refuses.
	dropInMessages []string
	// prefillMember marks a last message of the assistant as the beginning of the answer. It is empty when the provider needs no mark.
	prefillMember string
	// systemOrder says where messages of the system may be; empty means anywhere.
	systemOrder string
	// alternates means that messages of the user and of the assistant must alternate.
	alternates bool
	// schemas is how the provider takes a schema of the answer. It is empty when it takes a strict one.
	schemas string
	// reasoningForm is the form of reasoning_effort, and efforts are its words that the provider does not know.
	reasoningForm string
	efforts       map[string]string
	// thinksInText means that a text of an answer may begin with reasoning between marks.
	thinksInText bool
	// alwaysReasons means that the model reasons when the request does not say so.
	alwaysReasons bool
}

// providerRules are the rules of a provider for its models.
type providerRules struct {
	usual, alwaysReasoning *Rules
	endUser, images        map[llm.Style]string
}

var table = mustParse()

// Of returns the rules for a route of a style to a provider with a reader of usage. It returns nil when requests need no changes.
// AlwaysReasons means that the model of the route cannot be asked to answer without reasoning.
func Of(reader string, style llm.Style, alwaysReasons bool) *Rules {
	p := table[reader]
	switch {
	case p == nil || style != llm.Chat || p.usual == nil:
		return nil
	case alwaysReasons:
		return p.alwaysReasoning
	}
	return p.usual
}

// EndUserMember returns the member in which a provider with a reader of usage takes the id of an end user in a style. It is empty when the
// provider is not known to take one.
func EndUserMember(reader string, style llm.Style) string {
	if p := table[reader]; p != nil {
		return p.endUser[style]
	}
	return ""
}

// OutputBound returns the name of the bound on output, or an empty text when the provider knows both names.
func (r *Rules) OutputBound() string { return r.outputBound }

// SendsUsageUnasked reports whether the usage of a stream comes without stream_options, which are then refused.
func (r *Rules) SendsUsageUnasked() bool { return r.sendsUsageUnasked }

// TakesImagesAsData reports whether a provider with a reader of usage fetches no images in a style, so that they must be sent as data.
func TakesImagesAsData(reader string, style llm.Style) bool {
	p := table[reader]
	return p != nil && p.images[style] == imagesData
}

// ThinksInText reports whether a text of an answer may begin with reasoning between the marks <think> and </think>.
func (r *Rules) ThinksInText() bool { return r.thinksInText }

// Drops reports whether the provider does not take a member of a request with an effort of reasoning, which is empty when the request has
// none.
func (r *Rules) Drops(name, effort string) bool {
	if slices.Contains(r.drop, name) {
		return true
	}
	reasons := effort != "" && effort != effortNone || effort == "" && r.alwaysReasons
	return reasons && slices.Contains(r.dropWhenReasoning, name)
}

// effortNone asks for an answer without reasoning.
const effortNone = "none"
