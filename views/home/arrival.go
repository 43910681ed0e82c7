package home

import (
	"time"

	"umg/app"
	"umg/views"
	"umg/views/codesample"
)

// Arrival is a recent call, shown while a user sets up a program: an answered call, or one that was refused before authentication.
type Arrival struct {
	At      time.Time
	ID      string
	Method  string
	Route   string
	KeyName string // empty for an unknown key
	Style   string
	Model   string
	Status  int
	Code    string         // error code; empty for an answered call
	Reason  string         // tells causes of one code apart; may be empty
	Logged  *views.Request // the usage record, if the call has one
	Unknown bool           // the call came from the reader's address with an unknown key
}

// Fix is what was wrong with a call, and how it is put right.
type Fix struct {
	Cause string
	Text  string
	Link  string // address of the fix; may be empty
	Label string
}

// callFixes are by the code of the error.
var callFixes = map[string]Fix{
	"invalid_api_key": {
		Cause: "Invalid API key",
		Text: "It may be truncated, contain a space, or belong to another service. Send it as “Authorization: Bearer " +
			"sk-umg-…”. If it is lost, make another one.",
		Link: "/console/keys/new", Label: "Make another key",
	},
	"key_disabled": {
		Cause: "The key is disabled",
		Text:  "Enable it, or use another one.",
		Link:  "/console/keys", Label: "See your keys",
	},
	"key_expired": {
		Cause: "The key has expired",
		Text:  "Give it a later day, or use another one.",
		Link:  "/console/keys", Label: "See your keys",
	},
	"key_rotated": {
		Cause: "This secret was replaced",
		Text:  "The key has a newer secret. Put that one into your program.",
		Link:  "/console/keys", Label: "See your keys",
	},
	"model_not_found": {
		Cause: "The model is unknown here, or not in this style",
		Text:  "Copy its name as it stands, with the vendor in front. Its page says which styles it answers in.",
		Link:  "/console/models", Label: "See all models",
	},
	"model_not_allowed": {
		Cause: "The key may not use this model",
		Text:  "Add the model to the key, or use a key that may use all.",
		Link:  "/console/keys", Label: "See your keys",
	},
	"insufficient_quota": {
		Cause: "There is not enough credit for this call",
		Text: "Every call reserves the most that it may cost. Add credit, or ask for a shorter answer with a maximum of " +
			"tokens.",
		Link: "/console/billing", Label: "Add credit",
	},
	"budget_exceeded": {
		Cause: "The key’s budget does not cover this call",
		Text:  "Raise the budget of the key, or wait until it is refilled.",
		Link:  "/console/keys", Label: "See your keys",
	},
	"spend_limit_exceeded": {
		Cause: "The account’s spend limit does not cover this call",
		Text:  "Owners, admins and billing members can raise it; otherwise wait until it resets.",
		Link:  views.BillingPath + "#spend-limit", Label: "See the limit",
	},
	"rate_limit_exceeded": {
		Cause: "That was over a limit",
		Text:  "Wait as long as the answer says in Retry-After, then go on.",
		Link:  views.LimitsPath, Label: "See your limits",
	},
	"body_bytes_exceeded": {
		Cause: "Too many large bodies came at once",
		Text:  "Wait until a call with a large body has ended.",
		Link:  views.LimitsPath, Label: "See your limits",
	},
	"max_concurrency_exceeded": {
		Cause: "Too many calls ran at once",
		Text:  "Wait until others have ended.",
		Link:  views.LimitsPath, Label: "See your limits",
	},
	"insufficient_scope": {
		Cause: "The key lacks a scope",
		Text:  "The key was made for something else. Give it the scope, or use another key.",
		Link:  "/console/keys", Label: "See your keys",
	},
	"address_not_allowed": {
		Cause: "The key is not taken from this address",
		Text:  "Add the address to the key, or remove its addresses.",
		Link:  "/console/keys", Label: "See your keys",
	},
	"key_not_allowed": {
		Cause: "This kind of key cannot do that",
		Text:  "Keys that manage the account cannot call models. Use one for calling models.",
		Link:  "/console/keys/new", Label: "Make a key",
	},
	"account_frozen": {
		Cause: "The account is frozen",
		Text:  "Billable requests are refused until then. Ask the operator of this server.",
	},
	"not_found": {
		Cause: "There is nothing at that address",
		Text:  "The base URL is probably wrong: some programs add /v1 themselves, others want it in the base URL.",
		Link:  "/console/recipes", Label: "See the recipe of your tool",
	},
	"method_not_allowed": {
		Cause: "The method is wrong",
		Text:  "Model calls are POST requests.",
	},
	"unsupported_endpoint": {
		Cause: "This endpoint is not offered",
		Text:  "Use chat completions, messages, responses or native.",
		Link:  "/console/recipes", Label: "See the recipe of your tool",
	},
	"unsupported_media_type": {
		Cause: "The body is not JSON",
		Text:  "Send it with “Content-Type: application/json”.",
	},
	"invalid_json": {
		Cause: "The body is not valid JSON",
		Text:  "A quote or a comma is probably missing. In a shell, put the body in single quotes.",
	},
	"invalid_request_error": {
		Cause: "The request is not valid",
		Text:  "The message of the answer names the field and what it may be.",
		Link:  "/console/models", Label: "See the model’s parameters",
	},
	"context_length_exceeded": {
		Cause: "The input is longer than the model reads",
		Text:  "Shorten it, or use a model that reads more.",
		Link:  "/console/models", Label: "See all models",
	},
	"no_available_provider": {
		Cause: "No provider could take the call",
		Text:  "Try again in a minute, or use another model.",
		Link:  "/console/models", Label: "See all models",
	},
	"model_temporarily_unavailable": {
		Cause: "The model is paused",
		Text:  "Use another model until it is back.",
		Link:  "/console/models", Label: "See all models",
	},
}

// keyFixes are by the reason why a request had no valid key.
var keyFixes = map[string]Fix{
	app.ReasonKeyMissing: {
		Cause: "The request had no API key",
		Text: "The variable " + codesample.KeyVariable + " is probably not set where your program runs. Set it in the same terminal, then " +
			"send the request again.",
	},
	app.ReasonKeyHeader: {
		Cause: "The Authorization header is malformed",
		Text:  "Send exactly one header of the form “Authorization: Bearer sk-umg-…”, without quotes or commas.",
		Link:  "/console/docs/authentication", Label: "How to send the key",
	},
	app.ReasonKeyForeign: {
		Cause: "The key belongs to another service",
		Text: "Keys of this gateway begin with “sk-umg-”. A variable such as OPENAI_API_KEY may still hold the key of a provider. Pass " +
			codesample.KeyVariable + " to your client.",
		Link: "/console/keys", Label: "See your keys",
	},
	app.ReasonKeyCut: {
		Cause: "The API key is cut",
		Text:  "Some of its last characters are missing. Copy it with the button beside it, or make another key if it is no longer shown.",
		Link:  "/console/keys/new", Label: "Make another key",
	},
	app.ReasonKeyLong: {
		Cause: "The API key has extra characters",
		Text:  "Something was copied along with it, such as a quote or a second key. Copy it with the button beside it.",
		Link:  "/console/keys/new", Label: "Make another key",
	},
	app.ReasonKeyMistyped: {
		Cause: "The API key was mistyped",
		Text:  "It has the right length, but at least one character is wrong. Copy it instead of typing it.",
		Link:  "/console/keys/new", Label: "Make another key",
	},
	app.ReasonKeyUnknown: {
		Cause: "The key belongs to another environment, or was deleted",
		Text: "It is a whole key, but not one of this gateway. Compare the base URL in your program with the one in the code above, or use a " +
			"key of this console.",
		Link: "/console/keys", Label: "See your keys",
	},
}

// fix is what was wrong with the call, and how it is put right.
func (a Arrival) fix() Fix {
	if f, ok := keyFixes[a.Reason]; ok {
		return f
	}
	return FixOf(a.Code)
}

// FixOf is the cause of an error and its remedy.
func FixOf(code string) Fix {
	if f, ok := callFixes[code]; ok {
		return f
	}
	if text, ok := views.ErrorCauses[code]; ok {
		return Fix{Cause: text, Text: "The message of the answer says more.", Link: "/console/requests", Label: "See your requests"}
	}
	return Fix{Cause: "It was refused with “" + code + "”", Text: "The message of the answer says more."}
}

// call is the call in a line: method and path.
func (a Arrival) call() string { return a.Method + " " + a.Route }

func (a Arrival) answered() bool {
	return a.Code == "" && (a.Logged == nil || a.Logged.Outcome == "succeeded")
}
