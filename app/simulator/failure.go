package simulator

import "net/http"

// failure is an answer that refuses. Each style has its own layout for it.
type failure struct {
	status     int
	code       string // An empty code means the usual code of the status.
	message    string
	param      string
	retryAfter string
	retryIn    int64 // Retry-After is a date so many seconds from now, in place of seconds.
}

func badRequest(param, message string) *failure {
	return &failure{status: http.StatusBadRequest, code: "invalid_value", message: message, param: param}
}

func missing(param string) *failure {
	return &failure{status: http.StatusBadRequest, code: "missing_required_parameter",
		message: "Missing required parameter: '" + param + "'.", param: param}
}

// statusNames are what the styles call a status.
type statusNames struct {
	kind     string // Kind is error.type of chat and responses.
	code     string // Code is error.code of chat and responses.
	messages string // Messages is error.type of messages.
	native   string // Native is error.status of native.
	text     string
}

var statusWords = map[int]statusNames{
	400: {"invalid_request_error", "invalid_value", "invalid_request_error", "INVALID_ARGUMENT", "The request is not valid."},
	401: {"invalid_request_error", "invalid_api_key", "authentication_error", "UNAUTHENTICATED", "Incorrect API key provided."},
	402: {"insufficient_quota", "insufficient_quota", "billing_error", "FAILED_PRECONDITION", "The credit is used up."},
	403: {"invalid_request_error", "permission_denied", "permission_error", "PERMISSION_DENIED", "This key may not do that."},
	404: {"invalid_request_error", "model_not_found", "not_found_error", "NOT_FOUND", "The model does not exist."},
	405: {"invalid_request_error", "method_not_allowed", "invalid_request_error", "INVALID_ARGUMENT", "This path takes another method."},
	408: {"server_error", "timeout", "timeout_error", "DEADLINE_EXCEEDED", "The request took too long."},
	409: {"invalid_request_error", "conflict", "conflict_error", "ABORTED", "The request conflicts with another."},
	413: {"invalid_request_error", "request_too_large", "request_too_large", "INVALID_ARGUMENT", "The request is too large."},
	415: {"invalid_request_error", "unsupported_media_type", "invalid_request_error", "INVALID_ARGUMENT", "The body must be JSON."},
	422: {"invalid_request_error", "unprocessable", "invalid_request_error", "INVALID_ARGUMENT", "The request cannot be processed."},
	429: {"rate_limit_error", "rate_limit_exceeded", "rate_limit_error", "RESOURCE_EXHAUSTED", "Rate limit reached, please slow down."},
	500: {"server_error", "server_error", "api_error", "INTERNAL", "The server had an error."},
	502: {"server_error", "bad_gateway", "api_error", "UNAVAILABLE", "Bad gateway."},
	503: {"server_error", "service_unavailable", "overloaded_error", "UNAVAILABLE", "The engine is currently overloaded."},
	504: {"server_error", "timeout", "timeout_error", "DEADLINE_EXCEEDED", "The engine did not answer in time."},
	529: {"server_error", "overloaded", "overloaded_error", "UNAVAILABLE", "Overloaded."},
}

// words looks the status up; a status without a row of its own takes the one of its class.
func (f failure) words() statusNames {
	w, ok := statusWords[f.status]
	if !ok {
		w = statusWords[400]
		if f.status >= 500 {
			w = statusWords[500]
		}
	}
	if f.code != "" {
		w.code = f.code
	}
	if f.message != "" {
		w.text = f.message
	}
	return w
}

// failure is the refusal that a fault asks for, a plain server error when it names no status.
func (f *fault) failure() failure {
	status := f.status
	if status == 0 {
		status = http.StatusInternalServerError
	}
	return failure{status: status, code: f.code, retryAfter: f.retryAfter, retryIn: f.retryIn}
}

// tooLong is what the styles answer to a prompt that is longer than the context of the model.
var tooLong = map[string]failure{
	"chat": {status: http.StatusBadRequest, code: "context_length_exceeded", param: "messages",
		message: "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens."},
	"messages": {status: http.StatusBadRequest, message: "prompt is too long: 209001 tokens > 200000 maximum"},
	"responses": {status: http.StatusBadRequest, code: "context_length_exceeded", param: "input",
		message: "Your input exceeds the context window of this model. Please adjust your input and try again."},
	"native": {status: http.StatusBadRequest,
		message: "The input token count (1209001) exceeds the maximum number of tokens allowed (1048576)."},
}

// filtered is what the styles answer to a prompt that a content filter stopped.
var filtered = map[string]failure{
	"chat": {status: http.StatusBadRequest, code: "content_filter", param: "prompt",
		message: "The response was filtered due to the prompt triggering the content management policy. Please modify your prompt and retry."},
	"messages": {status: http.StatusBadRequest, message: "Output blocked by content filtering policy"},
	"responses": {status: http.StatusBadRequest, code: "invalid_prompt",
		message: "Invalid prompt: your prompt was flagged as potentially violating our usage policy."},
	"native": {status: http.StatusBadRequest, message: "The prompt could not be submitted, as it violates the usage guidelines."},
}

// openError is the error object of the chat and responses styles.
func openError(b *buffer, e failure) {
	w := e.words()
	b.raw(`{"error":{"message":`).str(w.text).raw(`,"type":`).str(w.kind).raw(`,"param":`).strOrNull(e.param)
	b.raw(`,"code":`).str(w.code).raw(`}}`)
}
