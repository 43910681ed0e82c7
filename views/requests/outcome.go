package requests

import (
	"net/http"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"umg/views"
)

const (
	// closedByClient is the error code of a call whose client disconnected.
	closedByClient = "client_closed_request"
	// statusOverloaded is the status with which some providers report that they are overloaded.
	statusOverloaded = 529
)

// Title says how the call ended and which model was called.
func (d Detail) Title() string {
	title := d.Request.Badge().Text
	if cause := d.shortCause(); cause != "" {
		title += ": " + cause
	}
	return title + " · " + d.Request.Model
}

// failed reports whether the call did not succeed.
func (d Detail) failed() bool { return d.Request.Outcome != "succeeded" || d.Request.ErrorCode != "" }

// attemptCauses are the causes of failed attempts in a title.
var attemptCauses = map[string]string{
	"connect": "no connection to the provider", "dns": "provider not found", "tls": "no secure connection to the provider",
	"reset": "connection to the provider lost", "first_byte_timeout": "no answer from the provider in time",
	"idle_timeout": "the provider's answer stopped", "total_timeout": "time limit reached",
	"rate_limited": "provider rate limit", "server_error": "provider error",
}

// shortCause is the cause of a failure in a few words. It is empty when the outcome says all that is known.
func (d Detail) shortCause() string {
	if !d.failed() || d.Request.ErrorCode == closedByClient {
		return ""
	}
	if a, known := d.decisive(); known {
		if a.Cause == "server_error" && (a.Status == http.StatusServiceUnavailable || a.Status == statusOverloaded) {
			return "provider overloaded"
		}
		if words := attemptCauses[a.Cause]; words != "" {
			return words
		}
	}
	return lowerFirst(d.Request.Cause())
}

// decisive is the failed attempt that began last, when the error of the call came from a provider.
func (d Detail) decisive() (last TrailAttempt, known bool) {
	switch d.Request.ErrorCode {
	case "upstream_error", "upstream_timeout", "rate_limit_exceeded", "no_available_provider":
	default:
		return last, false
	}
	for _, a := range d.Trail.Attempts {
		if a.failed() && (!known || a.Start > last.Start) {
			last, known = a, true
		}
	}
	return last, known
}

func lowerFirst(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	if size == 0 || strings.Contains(text, "_") {
		return text
	}
	return string(unicode.ToLower(first)) + text[size:]
}

var causeAnswers = []said{
	{when: Detail.hasCause, text: func(d Detail) string { return d.Request.Cause() + "." }},
	{when: holds, text: func(d Detail) string { return d.Rule.When }},
	{when: Detail.triedAgain, text: func(d Detail) string {
		return "It was tried " + strconv.Itoa(d.Attempts) + " times."
	}},
}

// causeText says why the call did not succeed.
func (d Detail) causeText() string {
	if text := answerOf(d, causeAnswers); text != "" {
		return text
	}
	return d.Request.CauseWords() + "."
}

// fixText says what helps against the error. It is empty for an error that has no remedy of its own.
func (d Detail) fixText() string { return fixes[d.Request.ErrorCode] }

func (d Detail) hasCause() bool {
	cause := d.Request.Cause()
	return d.Request.ErrorCode != "" && cause != d.Request.ErrorCode && cause+"." != d.Rule.When && cause != views.ErrorCauses[closedByClient]
}

// messageText is the error message that the client was sent, or why it is not known.
func (d Detail) messageText() string {
	switch {
	case d.Message != "":
		return d.Message
	case d.Request.ErrorCode == "" || d.Request.ErrorCode == closedByClient:
		return ""
	}
	return "Not stored. Messages with a provider's own words are kept only with the content of a call."
}

// providerLabel names the provider of the call: the one that answered, or the last one that was tried. It is empty when no provider
// was asked.
func (d Detail) providerLabel() string {
	switch {
	case d.Request.Provider == "" || d.Attempts == 0 && !d.Request.IsVideo():
		return ""
	case d.Request.Outcome == "succeeded" || d.Request.FirstByte > 0:
		return "Answered by"
	}
	return "Last tried"
}
