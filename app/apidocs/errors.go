package apidocs

import (
	"umg/app"
	"umg/app/llm"
)

// fault is one way in which a call of a model fails.
type fault struct {
	kind  app.Kind
	code  string
	param string
	// again means that the same request may succeed later.
	again bool
	// when is the situation in which the call fails.
	when string
	// message is an example of the error message.
	message string
}

// faults are the errors of the text routes, by status.
var faults = []fault{
	{app.Invalid, "invalid_json", "", false, "The body is not valid JSON.",
		"The body is not valid JSON: it ends too early at byte 12 (line 1, column 13)."},
	{app.Invalid, "invalid_request_error", "messages", false, "A field is missing or wrong; the error names it.",
		"messages is required; it must be an array."},
	{app.Invalid, "unsupported_parameter", "n", false, "A field cannot be carried to a provider of this model.",
		"n cannot be carried to the provider of this model, which has nothing like it."},
	{app.Unauthenticated, "invalid_api_key", "", false, "The key is missing or wrong.", "The API key is not valid."},
	{app.Unfunded, "insufficient_quota", "", false, "The prepaid credit does not cover the call.", "The credit does not cover this call."},
	{app.Unfunded, "budget_exceeded", "", false, "The budget of the key does not cover the call.", "The budget does not cover this call."},
	{app.Unfunded, "spend_limit_exceeded", "", false, "The spend limit of the account does not cover the call.",
		"The spend limit of the account does not cover this call."},
	{app.Forbidden, "model_not_allowed", "model", false, "The key may not use this model.", "This key may not use the model."},
	{app.Forbidden, "account_frozen", "", false, "The account is frozen, so nothing can run for it.", "This account is frozen."},
	{app.NotFound, "model_not_found", "model", false, "The model does not exist, was shut down, or is not served on this route.",
		"The model does not exist."},
	{app.Conflict, "idempotency_in_progress", "", true, "The first call with the same Idempotency-Key is not answered yet.",
		"A request with this Idempotency-Key is still running."},
	{app.TooLarge, "request_too_large", "", false, "The body is larger than the service takes.",
		"The body is too large; send a smaller one."},
	{app.MediaType, "unsupported_media_type", "", false, "The body is not plain JSON.",
		"The Content-Type must be application/json, in UTF-8."},
	{app.Unprocessable, "idempotency_error", "", false, "Another body came with the same Idempotency-Key in the last 24 hours.",
		"This Idempotency-Key was used with another body."},
	{app.Unprocessable, "idempotent_stream_completed", "", false,
		"The first call with the same Idempotency-Key was answered by a stream, which cannot be sent again.",
		"The answer to the first request with this Idempotency-Key was a stream."},
	{app.Exhausted, "rate_limit_exceeded", "", true, "A limit of this model is reached; `retry-after` says how long.",
		"The limit of requests per minute is reached."},
	{app.Exhausted, "max_concurrency_exceeded", "", true, "Too many calls of the account run at once.", "Too many calls run at once."},
	{app.Internal, "internal_error", "", true, "Something went wrong on our side.", "Something went wrong on our side."},
	{app.Upstream, "upstream_error", "", true, "The providers of this model failed.", "The provider failed."},
	{app.Unavailable, "no_available_provider", "", true, "No provider of this model can be reached.",
		"No provider of this model can be reached."},
	{app.Unavailable, "overloaded", "", true, "The service is answering as many calls as it can; nothing was charged.",
		"The service is overloaded."},
	{app.Unavailable, "model_temporarily_unavailable", "model", true, "Platform traffic control has paused this model.",
		"The model is paused."},
	{app.Timeout, "upstream_timeout", "", true, "The providers did not answer in time.", "The provider did not answer in time."},
}

// statuses are the statuses of error kinds when Options.Errors is nil.
var statuses = map[app.Kind]int{
	app.Invalid: 400, app.Unauthenticated: 401, app.Unfunded: 402, app.Forbidden: 403, app.NotFound: 404, app.TooLarge: 413,
	app.Conflict: 409, app.MediaType: 415, app.Unprocessable: 422, app.Exhausted: 429,
	app.Internal: 500, app.Upstream: 502, app.Unavailable: 503, app.Timeout: 504,
}

// exampleID is the request id in examples.
const exampleID = "req_01k9z3"

// faultExample is a fault in one style. Its body is nil when Options.Errors is nil.
type faultExample struct {
	fault

	status int
	body   []byte
}

// faultExamples returns the status and the body of faults in a style.
func (w *writer) faultExamples(style llm.Style, faults []fault) []faultExample {
	all := make([]faultExample, len(faults))
	for i, f := range faults {
		all[i] = faultExample{fault: f, status: statuses[f.kind]}
		if w.o.Errors != nil {
			e := app.Errorf(f.kind, f.code, "%s", f.message).At(f.param)
			all[i].status, all[i].body = w.o.Errors(style, e, exampleID)
		}
	}
	return all
}
