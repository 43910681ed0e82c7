package views

import (
	"time"

	"umg/app"
	"umg/views/ui"
)

// CauseWords are what went wrong, in words.
func (r Request) CauseWords() string {
	if r.ErrorCode == "" {
		return r.Badge().Text
	}
	return r.Cause()
}

// Request is one row of the request table.
type Request struct {
	ID        string
	At        time.Time
	Model     string
	KeyName   string
	Style     string
	Streamed  bool
	Outcome   string // outcome of the usage record: succeeded, failed, client_left, cut, timed_out
	ErrorCode string
	Estimated bool
	Seconds   int64 // seconds of a video, which has no tokens
	Input     int64 // all input tokens, cached ones included
	Cached    int64
	Output    int64 // all output tokens, reasoning included
	Cost      app.Amount
	FirstByte time.Duration
	Duration  time.Duration
}

// StyleWords are the style of the call, and whether its answer was streamed.
func (r Request) StyleWords() string {
	if r.Streamed {
		return r.Style + ", streamed"
	}
	return r.Style
}

var outcomeBadges = map[string]Badge{
	"succeeded":   {ui.Success, "Answered"},
	"failed":      {ui.Danger, "Failed"},
	"client_left": {ui.Warning, "You disconnected"},
	"cut":         {ui.Danger, "Cut off"},
	"timed_out":   {ui.Danger, "Timed out"},
	"canceled":    {ui.Warning, "Cancelled"},
	"refused":     {ui.Warning, "Refused"},
}

// Badge is the badge of the outcome. An outcome that this table does not know is shown by its own name.
func (r Request) Badge() Badge {
	if v, ok := outcomeBadges[r.Outcome]; ok {
		return v
	}
	return Badge{ui.Plain, r.Outcome}
}

// ErrorCauses put error codes into words, from the reader's side.
var ErrorCauses = map[string]string{
	"insufficient_quota":            "Not enough credit",
	"budget_exceeded":               "The key's budget did not cover it",
	"spend_limit_exceeded":          "The account's spend limit did not cover it",
	"rate_limit_exceeded":           "Over the model's rate limit",
	"max_concurrency_exceeded":      "Too many requests at once",
	"body_bytes_exceeded":           "Too many large requests at once",
	"no_available_provider":         "No provider could take it",
	"model_temporarily_unavailable": "The model is paused",
	"model_not_found":               "Unknown model",
	"model_not_allowed":             "The key may not use this model",
	"invalid_request_error":         "The request was not valid",
	"context_length_exceeded":       "Longer than the model can read",
	"upstream_error":                "The provider failed",
	"upstream_timeout":              "The provider did not answer in time",
	"service_unavailable":           "The service was briefly unavailable",
	"internal_error":                "A fault on our side",
	"client_closed_request":         "Before the answer ended",
	"shutting_down":                 "The service restarted",
	"content_policy_violation":      "The provider's content policy refused it",
	"overloaded":                    "The service had too much to do",
	"key_disabled":                  "The key is disabled",
	"key_expired":                   "The key has expired",
	"key_rotated":                   "The key has a newer secret",
	"address_not_allowed":           "The key is not allowed from this address",
	"insufficient_scope":            "The key lacks a permission",
	"key_not_allowed":               "This kind of key cannot do that",
	"account_frozen":                "The account is frozen",
	"not_found":                     "Nothing at that path or of that id",
	"method_not_allowed":            "The path takes another method",
	"unsupported_endpoint":          "No model offers this operation",
	"unsupported_media_type":        "The content type is not supported",
	"request_too_large":             "The body is too large",
	"invalid_json":                  "The body is not valid JSON",
	"invalid_body":                  "The body could not be read",
	"invalid_value":                 "A value is not allowed",
	"missing_required_parameter":    "A required field is missing",
	"unknown_parameter":             "A field is unknown",
	"unsupported_parameter":         "The model does not support a field",
	"idempotency_key_reused":        "The idempotency key was used for another request",
}

// AmountLabel names what a request is charged by: a video has a length and no tokens.
func (r Request) AmountLabel() string {
	if r.Seconds > 0 {
		return "Length"
	}
	return "Tokens"
}

// Cause is the plain cause of what went wrong, or the code itself.
func (r Request) Cause() string {
	if text, ok := ErrorCauses[r.ErrorCode]; ok {
		return text
	}
	return r.ErrorCode
}

// Path is the page of the request.
func (r Request) Path() string { return RequestPath(r.ID) }

// IsVideo reports whether the call is a video job, which has a page of its own. A refused request made no job.
func (r Request) IsVideo() bool { return r.Style == string(VideosStyle) && r.Outcome != "refused" }
