package simulator

// The types of thinking that a model may take one of.
const (
	thinkingEnabled  = "enabled"
	thinkingAdaptive = "adaptive"
)

// thinkingRefused is what a provider says to a request for thinking in a form that its model does not take.
func (x *exchange) thinkingRefused() *failure {
	asked, takes := x.prompt.thinkingType, x.fault.thinking
	switch {
	case asked == thinkingEnabled && takes == thinkingAdaptive:
		return badRequest("thinking", `"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and `+
			`"output_config.effort" to control thinking behavior.`)
	case asked == thinkingAdaptive && takes == thinkingEnabled:
		return badRequest("thinking", "adaptive thinking is not supported on this model")
	case x.prompt.effort != "" && x.fault.noEffort:
		return badRequest("output_config", "This model does not support the effort parameter.")
	}
	return nil
}
