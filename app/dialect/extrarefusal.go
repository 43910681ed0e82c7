package dialect

import (
	"cmp"
	"strings"

	"umg/app"
	"umg/app/llm"
)

// unsupportedParameter is the code of an error about a member that cannot be served.
const unsupportedParameter = "unsupported_parameter"

// refusal is an extra for which a request is refused.
type refusal struct{ foundExtra }

// err returns the error. Models are the ids of models that offer the extra.
func (r *refusal) err(model string, models []string) *app.Error {
	if r.bad != nil {
		return r.bad
	}
	shown := r.at
	if r.kind != "" {
		shown += " (" + string(clip([]byte(r.kind))) + ")"
	}
	advice := cmp.Or(r.row.Advice(), "Leave it out.")
	if r.row.Rule == ExtraTool {
		advice = "Leave it out, or offer a tool of your own beside it."
	}
	if len(models) > 0 {
		return app.Errorf(app.Invalid, unsupportedParameter, "%s asks for %s, which the model %s does not offer. %s Models that offer it: %s.",
			shown, r.row.What, model, advice, strings.Join(models, ", ")).At(r.at)
	}
	return app.Errorf(app.Invalid, unsupportedParameter, "%s asks for %s, which this gateway does not offer for any model. %s",
		shown, r.row.What, advice).At(r.at)
}

// ErrOffering is the error for the extra for which the request is refused, when some models offer it.
func (h *Head) ErrOffering(models []string) error { return h.refusal.err(h.Model, models) }

// Refused returns the rows of the extra for which the request is refused and by which another model may offer it. It is empty when no
// model can.
func (h *Head) Refused() llm.ExtraSet {
	if h.refusal == nil {
		return llm.ExtraSet{}
	}
	return h.refusal.offerable
}

// Refuses reports whether the request is refused for an extra at a place.
func (h *Head) Refuses(at string) bool { return h.refusal != nil && h.refusal.at == at }
