package provider

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"umg/app"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

const (
	messageRunesMax = 600
	codeBytesMax    = 64
	wordBytesMax    = 24 // longer mixtures of letters and digits look like credentials or account ids

	rateLimitWait = 5 * time.Second // for clients of an upstream that turns calls away and does not say how long
)

// statusFault is the fault of an answer with a status other than 200, or of an error that came in place of an answer.
// Of the upstream's words only those of a refused request are passed on, without anything that looks like a
// credential, an address or an account.
func statusFault(status int, header http.Header, body []byte, t *target) *Fault {
	said := parseError(body)
	f := NewFault(said.class(status), nil)
	f.Status = status
	f.Err.Err = &statusError{status: status, message: app.Truncate(said.message, messageRunesMax)}
	switch f.Class {
	case ClassRefused:
		f.Err.Status = status
		if isAboutRoute(status) {
			f.Retry = Elsewhere
		}
		if said.code != "" {
			f.Err.Code = said.code
		}
		if f.TooLong = said.tooLong(status); f.TooLong {
			f.Err.Code = "context_length_exceeded"
		}
		if public := t.redact(said.message); public != "" {
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

// upstreamError is what an upstream says of an error. Its words are in no one's control.
type upstreamError struct {
	message string
	code    string // a plain word, or nothing
	kind    string // likewise, what the style calls its type
}

// Words of refusals. A filter's word is final, on whatever route; an account without money is no matter of haste.
var (
	filterWords = []string{"content_filter", "content_policy", "moderation", "safety", "guardrail"}
	unpaidWords = []string{"insufficient_quota", "billing", "credit"}
)

func (s *upstreamError) mentions(words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(s.code, w) || strings.Contains(s.kind, w) })
}

// class is what the status means, unless the words say that it means something else here.
func (s *upstreamError) class(status int) Class {
	c := classOfStatus(status)
	switch {
	case c == ClassCredential && status == http.StatusForbidden && (s.mentions(filterWords) || strings.Contains(s.message, "flagged")):
		return ClassRefused
	case c == ClassRateLimited && s.mentions(unpaidWords):
		return ClassCredential
	}
	return c
}

// lengthWords are how the styles say that a prompt is more than the model has room for: words that stand together.
var lengthWords = [][]string{
	{"maximum context length"}, {"exceed", "context window"}, {"exceed", "context length"}, {"exceed", "context limit"},
	{"prompt is too long"},
	{"input is too long"}, {"token count", "exceeds the maximum"},
}

// tooLong reports whether the request was refused for its length, which a model with more room may take.
func (s *upstreamError) tooLong(status int) bool {
	switch {
	case status != http.StatusBadRequest && status != http.StatusRequestEntityTooLarge && status != http.StatusUnprocessableEntity:
		return false
	case strings.Contains(s.code, "context_length") || strings.Contains(s.code, "context_window"):
		return true
	}
	said := strings.ToLower(app.Truncate(s.message, messageRunesMax))
	for _, words := range lengthWords {
		if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(said, w) }) {
			return true
		}
	}
	return false
}

// statusError keeps what the upstream said for the operator.
type statusError struct {
	status  int
	message string
}

func (e *statusError) Error() string {
	return "the upstream answered " + strconv.Itoa(e.status) + ": " + strconv.Quote(e.message)
}

// retryAfter reads how long an upstream asks to wait, in seconds, milliseconds or as a date, and caps it.
func (t *target) retryAfter(h http.Header) time.Duration {
	for _, said := range []struct {
		value string
		unit  time.Duration
	}{{h.Get("Retry-After-Ms"), time.Millisecond}, {h.Get("Retry-After"), time.Second}} {
		if n, err := strconv.ParseFloat(said.value, 64); err == nil && n > 0 {
			return time.Duration(min(n, float64(retryAfterMax/said.unit)) * float64(said.unit))
		}
	}
	at, err := http.ParseTime(h.Get("Retry-After"))
	if err != nil {
		return 0
	}
	from, err := http.ParseTime(h.Get("Date")) // the upstream's own clock, where it shows it
	if err != nil {
		from = t.now()
	}
	return min(max(at.Sub(from), 0), retryAfterMax)
}

// parseError finds the message and the words for it in the usual places of an error body.
func parseError(body []byte) upstreamError {
	var top map[string]jsontext.Value
	if json.Unmarshal(body, &top, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) != nil {
		return upstreamError{}
	}
	inner := top
	if raw := top["error"]; raw.Kind() == '"' {
		return upstreamError{message: stringOf(raw), code: wordOf(top["code"])}
	} else if raw.Kind() == '{' {
		inner = nil
		_ = json.Unmarshal(raw, &inner, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) // valid JSON, as checked above
	}
	said := upstreamError{code: wordOf(inner["code"]), kind: wordOf(inner["type"])}
	for _, name := range []string{"message", "detail"} {
		if said.message = stringOf(inner[name]); said.message != "" {
			break
		}
	}
	return said
}

// wordOf takes a code only when it is a plain word.
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

// redact is what a client may read of an upstream's message.
func (t *target) redact(said string) string {
	said = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == unicode.ReplacementChar {
			return ' '
		}
		return r
	}, said)
	list := strings.Fields(said)
	bearer := false
	for i, w := range list {
		if bearer || t.isSensitive(w) {
			list[i] = "[redacted]"
		}
		bearer = strings.EqualFold(strings.Trim(w, `"'(:`), "bearer") // what follows is a credential, whatever it looks like
	}
	return app.Truncate(strings.Join(list, " "), messageRunesMax)
}

// isSensitive reports whether a word of a message could be a credential, an address or an account.
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

// hasLettersAndDigits reports whether a word is of letters and digits alone, and has both.
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

// statusWords are the statuses that the words of an error stand for, where no number says it. The first that fits
// counts, a code before a type.
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

// ErrorFault is the fault of an error object that an upstream sent with status 200, in a body or in a frame. What it
// says of its status, as a number or in words, counts as its status.
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
	lenient := []json.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}
	if json.Unmarshal(body, &top, lenient...) != nil {
		return http.StatusBadGateway
	}
	var inner words
	if top.Error.Kind() == '{' {
		_ = json.Unmarshal(top.Error, &inner, lenient...) // valid JSON, as checked above
	}
	for _, raw := range []jsontext.Value{top.Code, inner.Code, inner.Status} {
		if n, err := strconv.Atoi(string(raw)); err == nil && n >= 400 && n <= 599 {
			return n
		}
	}
	for _, raw := range []jsontext.Value{inner.Code, inner.Type} {
		said := stringOf(raw)
		for _, w := range statusWords {
			if strings.Contains(said, w.part) {
				return w.status
			}
		}
	}
	return http.StatusBadGateway
}

// Unusable is the fault of an answer that is cut, empty or not what was asked for.
func (a *Answer) Unusable(cause error) *Fault { return NewFault(ClassContent, cause) }
