package catalog

import (
	"umg/app"
	"umg/app/llm"
)

// fault is one way in which a call of a model fails, as its guides list it.
type fault struct {
	kind    app.Kind
	code    string
	when    string
	message string
	param   string
	again   bool // whether sending the same request again makes sense
}

// faults are those of the text routes, in the order a request can meet them.
var faults = []fault{
	{app.Invalid, codeInvalidJSON, "The body is not valid JSON.", "The body is not valid JSON: it ends too early at byte 12 (line 1, column 13).", "", false},
	{app.Invalid, codeInvalid, "A field is missing or wrong; `param` names it.", "messages is required; it must be an array.", "messages", false},
	{app.Invalid, "unsupported_parameter", "A field cannot be carried to a provider of this model.",
		"n cannot be carried to the provider of this model.", "n", false},
	{app.Unauthenticated, "invalid_api_key", "The key is missing or wrong.", "The API key is not valid.", "", false},
	{app.Unfunded, "insufficient_quota", "The prepaid credit does not cover the call.", "The credit does not cover this call.", "", false},
	{app.Forbidden, "model_not_allowed", "The key may not use this model.", "This key may not use the model.", "model", false},
	{app.NotFound, "model_not_found", "The model does not exist, was shut down, or is not served on this route.", "The model does not exist.", "model", false},
	{app.TooLarge, "request_too_large", "The body is larger than 32 MiB.", "The body is larger than 33554432 bytes; send a smaller one.", "", false},
	{app.MediaType, "unsupported_media_type", "The body is not plain JSON.", "The Content-Type must be application/json, in UTF-8.", "", false},
	{app.Exhausted, "rate_limit_exceeded", "A limit of this model is reached; `retry-after` says how long.", "The limit of requests per minute is reached.", "", true},
	{app.Exhausted, "max_concurrency_exceeded", "Too many calls of the account run at once.", "Too many calls run at once.", "", true},
	{app.Internal, "internal_error", "Something went wrong on our side.", "Something went wrong on our side.", "", true},
	{app.Upstream, "upstream_error", "The providers of this model failed.", "The provider failed.", "", true},
	{app.Unavailable, "no_available_provider", "No provider of this model can be reached.", "No provider of this model can be reached.", "", true},
	{app.Unavailable, "model_temporarily_unavailable", "Platform traffic control has paused this model.", "The model is paused.", "model", true},
	{app.Timeout, "upstream_timeout", "The providers did not answer in time.", "The provider did not answer in time.", "", true},
}

// statuses are the numbers of the kinds where no style says otherwise.
var statuses = map[app.Kind]int{
	app.Invalid: 400, app.Unauthenticated: 401, app.Unfunded: 402, app.Forbidden: 403, app.NotFound: 404, app.TooLarge: 413,
	app.MediaType: 415, app.Exhausted: 429, app.Internal: 500, app.Upstream: 502, app.Unavailable: 503, app.Timeout: 504,
}

// exampleID stands for a request's id where guides show one.
const exampleID = "req_01k9z3"

// shownFault is a fault in one style; its body is nil when nobody has told how the style looks.
type shownFault struct {
	fault

	status int
	body   []byte
}

func (g *guides) faults(style llm.Style) []shownFault {
	all := make([]shownFault, len(faults))
	for i, f := range faults {
		all[i] = shownFault{fault: f, status: statuses[f.kind]}
		if g.o.Errors != nil {
			e := app.Errorf(f.kind, f.code, "%s", f.message).At(f.param)
			all[i].status, all[i].body = g.o.Errors(style, e, exampleID)
		}
	}
	return all
}
