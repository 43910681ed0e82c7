package provider

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"umg/app"
	"umg/app/llm"
)

const (
	messageRunesMax = 600
	codeBytesMax    = 64
	wordBytesMax    = 24 // Longer words of letters and digits look like credentials or account ids.

	rateLimitWait = 5 * time.Second // This is the client's wait when the upstream names none.
)

// statusFault returns the fault of an answer with a status other than 200, or of an error in place of an answer. The client gets the
// upstream's message only for a refused request, without anything that looks like a credential, an address or an account.
func statusFault(status int, header http.Header, body []byte, t *target) *Fault {
	reported := parseError(body)
	f := NewFault(reported.class(status), nil)
	f.Status = status
	f.Err.Err = &statusError{status: status, message: app.Truncate(reported.message, messageRunesMax)}
	switch f.Class {
	case ClassRefused:
		f.Err.Status = status
		if slices.Contains(routeRefusals, status) {
			f.Retry = Elsewhere
		}
		if reported.code != "" {
			f.Err.Code = reported.code
		}
		if f.TooLong = reported.tooLong(status); f.TooLong {
			f.Err.Code = "context_length_exceeded"
		}
		if public := t.redact(reported.message); public != "" {
			f.Err.Message = "The upstream provider refused the request: " + public
		}
	case ClassRateLimited:
		f.After = t.retryAfter(header)
		f.Err.RetryAfter = cmp.Or(f.After, rateLimitWait)
	case ClassServer:
		f.After = t.retryAfter(header)
	}
	return f
}

// routeRefusals are statuses of refusals that are about the route and not about the request. The next route may accept it.
var routeRefusals = []int{http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusTooEarly, http.StatusMisdirectedRequest}

// upstreamError has the members of an upstream's error body.
type upstreamError struct {
	message string
	code    string // Code is a plain word, or empty.
	kind    string // Kind is the type of the error. It is a plain word, or empty.
}

// Parts of codes and types. A refusal by a content filter is final on all routes. An account without money is not a rate limit.
var (
	filterWords = []string{"content_filter", "content_policy", "moderation", "safety", "guardrail"}
	unpaidWords = []string{"insufficient_quota", "billing", "credit"}
)

func (s *upstreamError) mentions(words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(s.code, w) || strings.Contains(s.kind, w) })
}

// class returns the class of an error with a status.
func (s *upstreamError) class(status int) Class {
	switch {
	case status == http.StatusForbidden && (s.mentions(filterWords) || strings.Contains(s.message, "flagged")):
		return ClassRefused
	case status == http.StatusUnauthorized, status == http.StatusForbidden, status == http.StatusPaymentRequired,
		status == http.StatusProxyAuthRequired, status == http.StatusTooManyRequests && s.mentions(unpaidWords):
		return ClassCredential // These concern the credential or the account of the gateway, never those of the client.
	case status == http.StatusTooManyRequests:
		return ClassRateLimited
	case status >= 500, status == http.StatusRequestTimeout:
		return ClassServer
	case status >= 400:
		return ClassRefused
	case status >= 300:
		return ClassRedirect
	}
	return ClassContent
}

// lengthWords are texts of errors about a prompt that is longer than the context of the model. All texts of a row are in the message.
var lengthWords = [][]string{
	{"maximum context length"}, {"exceed", "context window"}, {"exceed", "context length"}, {"exceed", "context limit"},
	{"prompt is too long"},
	{"input is too long"}, {"token count", "exceeds the maximum"},
}

// tooLong reports whether the request was refused for its length. A model with a longer context may take it.
func (s *upstreamError) tooLong(status int) bool {
	switch {
	case status != http.StatusBadRequest && status != http.StatusRequestEntityTooLarge && status != http.StatusUnprocessableEntity:
		return false
	case strings.Contains(s.code, "context_length") || strings.Contains(s.code, "context_window"):
		return true
	}
	message := strings.ToLower(app.Truncate(s.message, messageRunesMax))
	for _, words := range lengthWords {
		if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(message, w) }) {
			return true
		}
	}
	return false
}

// statusError has the upstream's message for operators.
type statusError struct {
	status  int
	message string
}

func (e *statusError) Error() string {
	return "the upstream answered " + strconv.Itoa(e.status) + ": " + strconv.Quote(e.message)
}

// retryAfter returns the wait that an upstream asks for, in seconds, milliseconds or as a date, up to retryAfterMax.
func (t *target) retryAfter(h http.Header) time.Duration {
	for _, wait := range []struct {
		value string
		unit  time.Duration
	}{{h.Get("Retry-After-Ms"), time.Millisecond}, {h.Get("Retry-After"), time.Second}} {
		if n, err := strconv.ParseFloat(wait.value, 64); err == nil && n > 0 {
			return time.Duration(min(n, float64(retryAfterMax/wait.unit)) * float64(wait.unit))
		}
	}
	at, err := http.ParseTime(h.Get("Retry-After"))
	if err != nil {
		return 0
	}
	from, err := http.ParseTime(h.Get("Date")) // The upstream's own clock is preferred.
	if err != nil {
		from = t.now()
	}
	return min(max(at.Sub(from), 0), retryAfterMax)
}

// parseError finds the message, the code and the type in the usual places of an error body.
func parseError(body []byte) upstreamError {
	var top map[string]jsontext.Value
	if json.Unmarshal(body, &top, llm.Lenient) != nil {
		return upstreamError{}
	}
	inner := top
	if raw := top["error"]; raw.Kind() == '"' {
		return upstreamError{message: stringOf(raw), code: wordOf(top["code"])}
	} else if raw.Kind() == '{' {
		inner = nil
		_ = json.Unmarshal(raw, &inner, llm.Lenient) // It is valid JSON, as checked above.
	}
	reported := upstreamError{code: wordOf(inner["code"]), kind: wordOf(inner["type"])}
	for _, name := range []string{"message", "detail"} {
		if reported.message = stringOf(inner[name]); reported.message != "" {
			break
		}
	}
	return reported
}

// wordOf returns a code that is a plain word, and otherwise nothing.
func wordOf(raw jsontext.Value) string {
	code := stringOf(raw)
	if len(code) == 0 || len(code) > codeBytesMax {
		return ""
	}
	for _, c := range code {
		if !unicode.IsLower(c) && !unicode.IsDigit(c) && c != '_' && c != '-' && c != '.' || c > unicode.MaxASCII {
			return ""
		}
	}
	return code
}

func stringOf(raw jsontext.Value) string {
	var s string
	if raw.Kind() != '"' || json.Unmarshal(raw, &s, jsontext.AllowInvalidUTF8(true)) != nil {
		return ""
	}
	return s
}

// redact returns an upstream's message as a client may read it.
func (t *target) redact(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == unicode.ReplacementChar {
			return ' '
		}
		return r
	}, text)
	list := strings.Fields(text)
	bearer := false
	for i, w := range list {
		if bearer || t.isSensitive(w) {
			list[i] = "[redacted]"
		}
		bearer = strings.EqualFold(strings.Trim(w, `"'(:`), "bearer") // A credential follows.
	}
	return app.Truncate(strings.Join(list, " "), messageRunesMax)
}

// isSensitive reports whether a word of a message may be a credential, an address or an account.
func (t *target) isSensitive(w string) bool {
	lower := strings.ToLower(w)
	if t.credential != "" && strings.Contains(w, t.credential) || t.url != nil && strings.Contains(lower, strings.ToLower(t.url.Hostname())) ||
		strings.Contains(w, "://") {
		return true
	}
	for _, part := range strings.FieldsFunc(w, func(r rune) bool { return strings.ContainsRune(`"'()[]{}<>,;:=`+"`", r) }) {
		part = strings.Trim(part, ".!?")
		lower = strings.ToLower(part)
		for _, prefix := range []string{"sk-", "pk-", "rk-", "key-", "org-", "org_", "proj_", "proj-", "acct_", "user-"} {
			if strings.HasPrefix(lower, prefix) && len(lower) > len(prefix)+3 {
				return true
			}
		}
		if len(part) >= wordBytesMax && hasLettersAndDigits(part) {
			return true
		}
	}
	return false
}

// hasLettersAndDigits reports whether a word consists of letters and digits, and has both.
func hasLettersAndDigits(w string) bool {
	letters, digits := false, false
	for _, r := range w {
		switch {
		case unicode.IsDigit(r):
			digits = true
		case unicode.IsLetter(r):
			letters = true
		case r != '-' && r != '+' && r != '/':
			return false
		}
	}
	return letters && digits
}

// statusWords has the statuses of errors without a number. The first part that a code has counts, and then the first that a type has.
var statusWords = []struct {
	part   string
	status int
}{
	{"content_filter", http.StatusBadRequest},
	{"content_policy", http.StatusBadRequest},
	{"rate_limit", http.StatusTooManyRequests},
	{"api_key", http.StatusUnauthorized},
	{"authentication", http.StatusUnauthorized},
	{"permission", http.StatusForbidden},
	{"quota", http.StatusPaymentRequired},
	{"billing", http.StatusPaymentRequired},
	{"not_found", http.StatusNotFound},
	{"overloaded", http.StatusServiceUnavailable},
	{"invalid_request", http.StatusBadRequest},
	{"context_length", http.StatusBadRequest},
}

// ErrorFault returns the fault of an error object that an upstream sent with status 200, in a body or in a frame. Its status follows
// from the object.
func (a *Answer) ErrorFault(body []byte) *Fault {
	return statusFault(statusIn(body), http.Header{}, body, a.target)
}

func statusIn(body []byte) int {
	type words struct {
		Code   jsontext.Value `json:"code"`
		Status jsontext.Value `json:"status"`
		Type   jsontext.Value `json:"type"`
	}
	var top struct {
		Code  jsontext.Value `json:"code"`
		Error jsontext.Value `json:"error"`
	}
	if json.Unmarshal(body, &top, llm.Lenient) != nil {
		return http.StatusBadGateway
	}
	var inner words
	if top.Error.Kind() == '{' {
		_ = json.Unmarshal(top.Error, &inner, llm.Lenient) // It is valid JSON, as checked above.
	}
	for _, raw := range []jsontext.Value{top.Code, inner.Code, inner.Status} {
		if n, err := strconv.Atoi(string(raw)); err == nil && n >= 400 && n <= 599 {
			return n
		}
	}
	for _, raw := range []jsontext.Value{inner.Code, inner.Type} {
		word := stringOf(raw)
		for _, w := range statusWords {
			if strings.Contains(word, w.part) {
				return w.status
			}
		}
	}
	return http.StatusBadGateway
}

// Unusable returns the fault of an answer that is incomplete, empty or malformed.
func (a *Answer) Unusable(cause error) *Fault { return NewFault(ClassContent, cause) }
