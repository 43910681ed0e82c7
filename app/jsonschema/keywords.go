package jsonschema

// These keywords extend JSON Schema. Their names start with x-, which JSON Schema and OpenAPI leave to applications.
const (
	// KeywordUnsupported marks a member that the model does not support. Its value is the name of the parameter, UnsupportedStyle or
	// UnsupportedState.
	KeywordUnsupported = "x-unsupported"
	// KeywordNotOffered marks a member that the gateway offers for no model. Its value names the extra that the member asks for.
	KeywordNotOffered = "x-not-offered"
	// KeywordInstead, beside KeywordNotOffered, is what to do instead, as a sentence.
	KeywordInstead = "x-instead"
	// KeywordSameAs marks another spelling of a member. Its value is the name of the member.
	KeywordSameAs = "x-same-as"
	// KeywordHint marks a member that a request can do without. Its value is one of HintDrop, HintClamp, HintConvert and HintBound.
	KeywordHint = "x-hint"
	// KeywordStyle, beside KeywordHint, is the schema of the style for the same member. It is not part of published documents.
	KeywordStyle = "x-style"
)

// These values of KeywordUnsupported are not the name of a parameter.
const (
	// UnsupportedStyle means that no provider of the model can carry the member from this style.
	UnsupportedStyle = "style"
	// UnsupportedState means that the style has the member, but the gateway stores no state for it.
	UnsupportedState = "state"
)

// These are the values of KeywordHint.
const (
	// HintDrop leaves out a value that the model does not support.
	HintDrop = "drop"
	// HintClamp is HintDrop for members that the model does not support. Other values become the nearest that the model takes.
	HintClamp = "clamp"
	// HintConvert is HintDrop for members that the model does not support. Other forms of thinking become one that the model takes.
	HintConvert = "convert"
	// HintBound replaces a bound on the output above the maximum of the model by that maximum.
	HintBound = "bound"
)

// UnspecifiedSuffix ends the enum values of the native style that mean unspecified. Every model takes them.
const UnspecifiedSuffix = "_UNSPECIFIED"
