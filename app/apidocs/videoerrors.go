package apidocs

import (
	"slices"
	"strings"

	"umg/app"
	"umg/app/llm"
)

// videoFault is a fault of some operations, which are named in on. An empty on means all operations.
type videoFault struct {
	fault

	on string
}

// creating are the operations that create a job.
const creating = "create remix"

// videoFaults are those of the video routes, in the order of their statuses.
var videoFaults = []videoFault{
	{fault{app.Invalid, "invalid_json", "", false, "The body is not valid JSON.",
		"The body is not valid JSON: it ends too early at byte 12 (line 1, column 13)."}, creating},
	{fault{app.Invalid, "invalid_body", "", false, "The body is not the form it says it is.",
		"The multipart body cannot be read: a part is broken, or its boundary is not the one the Content-Type names."}, creating},
	{fault{app.Invalid, "missing_required_parameter", "prompt", false, "A field is missing; the error names it.",
		"prompt is required; it must be a string."}, creating},
	{fault{app.Invalid, "invalid_value", "size", false, "A field or a parameter is wrong; the error names it and says what it may be.",
		"size is not one that this model renders."}, "create remix list content"},
	{fault{app.Invalid, "content_policy_violation", "prompt", false, "The guardrails refuse the prompt or the first frame.",
		"The prompt was refused by the content guardrails."}, creating},
	{fault{app.Invalid, "video_not_ready", "video_id", false, "The video is not completed.",
		"The video is not completed yet."}, "create remix content"},
	{fault{app.Invalid, "asset_not_ready", "asset_ids[0]", false, "A material asset is not active yet, or has failed.",
		"The asset is still being processed."}, "create"},
	{fault{app.Invalid, "assets_apart", "asset_ids", false, "The material assets are kept by different providers; none can use all.",
		"The assets are kept by different providers."}, "create"},
	{fault{app.Unauthenticated, "invalid_api_key", "", false, "The key is missing or wrong.", "The API key is not valid."}, ""},
	{fault{app.Unauthenticated, "key_expired", "", false, "The key has expired; key_disabled where it was switched off.",
		"This API key has expired."}, ""},
	{fault{app.Unfunded, "insufficient_quota", "", false, "The prepaid credit does not cover the whole video.",
		"The credit does not cover this video."}, creating},
	{fault{app.Unfunded, "budget_exceeded", "", false, "The budget of the key does not cover the whole video.",
		"The budget does not cover this video."}, creating},
	{fault{app.Unfunded, "spend_limit_exceeded", "", false, "The spend limit of the account does not cover the whole video.",
		"The spend limit of the account does not cover this video."}, creating},
	{fault{app.Forbidden, "account_frozen", "", false, "The account is frozen, so nothing can run for it.",
		"This account is frozen."}, creating},
	{fault{app.Forbidden, "model_not_allowed", "model", false, "The key may not use this model.",
		"This key may not use the model."}, creating},
	{fault{app.NotFound, "model_not_found", "model", false, "The model does not exist, was shut down, or makes no videos.",
		"The model does not exist."}, creating},
	{fault{app.NotFound, "video_not_found", "video_id", false, "The account has no such job, or has deleted it.",
		"There is no such video."}, "create get content remix delete"},
	{fault{app.NotFound, "asset_not_found", "asset_ids[0]", false, "The account has no such material asset, or has deleted it.",
		"There is no such asset."}, "create"},
	{fault{app.NotFound, "video_expired", "video_id", false, "The files were kept until `expires_at`, which is past.",
		"The files of this video are no longer kept."}, "create content remix"},
	{fault{app.NotFound, "variant_unavailable", "variant", false, "This variant was not made.",
		"There is no spritesheet of this video."}, "content"},
	{fault{app.Conflict, "idempotency_in_progress", "", true, "A call with the same Idempotency-Key is still being answered.",
		"The first call with this key is not answered yet."}, creating},
	{fault{app.TooLarge, "request_too_large", "", false, "The body is larger than the service takes.", "The body is too large."}, creating},
	{fault{app.MediaType, "unsupported_media_type", "", false, "The body is neither JSON nor, where one is taken, a form.",
		"The Content-Type must be application/json."}, creating},
	{fault{app.Unprocessable, "idempotency_error", "", false, "Another body came with the same Idempotency-Key before.",
		"This key was used for another request."}, creating},
	{fault{app.Unprocessable, "idempotent_stream_completed", "", false, "The call with this Idempotency-Key streamed a job that has ended.",
		"The stream of the call with this Idempotency-Key has ended."}, creating},
	{fault{app.Exhausted, "rate_limit_exceeded", "", true,
		"A limit is reached: calls a minute, jobs a day, or jobs at once; `retry-after` says how long.",
		"The limit of jobs at once is reached."}, creating},
	{fault{app.Internal, "internal_error", "", true, "Something went wrong on our side.", "Something went wrong on our side."}, ""},
	{fault{app.Upstream, "upstream_error", "", true, "No provider of this model took the job.", "The provider failed."}, creating},
	{fault{app.Unavailable, "no_available_provider", "", true, "No provider of this model can be reached.",
		"No provider of this model can be reached."}, creating},
	{fault{app.Unavailable, "model_temporarily_unavailable", "model", true, "Platform traffic control has paused this model.",
		"The model is paused."}, creating},
}

// videoFaults are the faults of an operation, or of all. Errors of the video routes have the layout of responses.
func (w *writer) videoFaults(operation string) []faultExample {
	var all []fault
	for _, f := range videoFaults {
		if f.on == "" || operation == "" || slices.Contains(strings.Fields(f.on), operation) {
			all = append(all, f.fault)
		}
	}
	return w.faultExamples(llm.Responses, all)
}
