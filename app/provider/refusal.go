package provider

import (
	"cmp"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"

	"umg/app"
	"umg/app/provider/credential"
	"umg/app/provider/errorclass"
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
	reported := errorclass.Read(body)
	return t.fault(status, header, &reported)
}

// errorFault returns the fault of an error object in an answer with status 200. Its status follows from the object.
func errorFault(header http.Header, body []byte, t *target) *Fault {
	reported := errorclass.Read(body)
	return t.fault(reported.Status(), header, &reported)
}

// fault returns the fault of an error that the table of the provider has classified.
func (t *target) fault(status int, header http.Header, reported *errorclass.Report) *Fault {
	class, verdict := ClassContent, errorclass.Verdict{}
	switch {
	case status >= http.StatusBadRequest:
		verdict = t.errors.Classify(status, header, reported)
		class = classOfMeaning[verdict.Meaning]
	case status >= http.StatusMultipleChoices:
		class = ClassRedirect
	}
	f := NewFault(class, &statusError{status: status, message: app.Truncate(t.access.hide(reported.Message), messageRunesMax)})
	f.Status, f.Meaning = status, verdict.Meaning
	switch verdict.Meaning {
	case errorclass.Key:
		f.Advice = t.adviceOnKey(verdict.Cause, header)
	case errorclass.Route: // The client cannot change the route. Its error does not have the upstream's status.
		f.Retry = Elsewhere
		if t.ownPaths { // The error is about a task, a file or an asset, and the caller knows what it means.
			t.describeRefusal(f, reported)
			break
		}
		f.Err = app.Errorf(app.Unavailable, "no_available_provider", "%s", messageNoProvider).Because(f.Err.Err)
	case errorclass.TooLong, errorclass.Filter, errorclass.Request:
		t.describeRefusal(f, reported)
	case errorclass.Rate, errorclass.Quota:
		f.After = verdict.Wait(header, reported, t.now(), retryAfterMax)
		f.Err.RetryAfter = cmp.Or(f.After, rateLimitWait)
		if verdict.Meaning == errorclass.Quota {
			f.Retry = Elsewhere
		}
	case errorclass.Overloaded, errorclass.Server:
		f.After = verdict.Wait(header, reported, t.now(), retryAfterMax)
		f.Err.RetryAfter = f.After
	}
	return f
}

const adviceOnSession = "the session of the credential has ended, and the provider needs a new credential"

// adviceOnKey returns what the operator can do about a refused credential. The time of the answer counts only for credentials that the
// gateway dates: signatures and tokens.
func (t *target) adviceOnKey(cause errorclass.Cause, header http.Header) string {
	switch {
	case cause == errorclass.SessionEnded:
		return adviceOnSession
	case t.access.source != nil:
		return credential.AdviceOnClock(header, t.now())
	}
	return ""
}

// describeRefusal sets the client's error of a refused request.
func (t *target) describeRefusal(f *Fault, reported *errorclass.Report) {
	f.Err.Status = f.Status
	if f.Status == http.StatusNotFound { // Another route may have what this one does not find.
		f.Retry = Elsewhere
	}
	if code := plainWord(reported.Code); code != "" {
		f.Err.Code = code
	}
	if f.TooLong = f.Meaning == errorclass.TooLong; f.TooLong {
		f.Err.Code = "context_length_exceeded"
	}
	if public := t.redact(reported.Message); public != "" {
		f.Err.Message = "The upstream provider refused the request: " + public
	}
}

// classOfMeaning has the class of each meaning of an error. An error of the route is a refusal after which another route may help.
var classOfMeaning = map[errorclass.Meaning]Class{
	errorclass.Key:        ClassCredential,
	errorclass.Account:    ClassCredential,
	errorclass.Quota:      ClassRateLimited,
	errorclass.Rate:       ClassRateLimited,
	errorclass.Overloaded: ClassServer,
	errorclass.TooLong:    ClassRefused,
	errorclass.Filter:     ClassRefused,
	errorclass.Route:      ClassRefused,
	errorclass.Request:    ClassRefused,
	errorclass.Server:     ClassServer,
}

// statusError has the upstream's message for operators.
type statusError struct {
	status  int
	message string
}

func (e *statusError) Error() string {
	return "the upstream answered " + strconv.Itoa(e.status) + ": " + strconv.Quote(e.message)
}

// plainWord returns a code that is a plain word, and otherwise nothing.
func plainWord(code string) string {
	if len(code) == 0 || len(code) > codeBytesMax || strings.Trim(code, "0123456789") == "" {
		return ""
	}
	for _, c := range code {
		if !unicode.IsLower(c) && !unicode.IsDigit(c) && c != '_' && c != '-' && c != '.' || c > unicode.MaxASCII {
			return ""
		}
	}
	return code
}

// hideKeys returns a text without the words that look like credentials or accounts.
func hideKeys(text string) string {
	list := strings.Fields(strings.Map(printable, text))
	bearer := false
	for i, w := range list {
		if bearer || !strings.Contains(w, "://") && looksLikeKey(w) {
			list[i] = "[redacted]"
		}
		bearer = strings.EqualFold(strings.Trim(w, `"'(:`), "bearer") // A credential follows.
	}
	return strings.Join(list, " ")
}

// printable replaces what no page or log should have by a space.
func printable(r rune) rune {
	if unicode.IsControl(r) || r == unicode.ReplacementChar {
		return ' '
	}
	return r
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

// ErrorFault returns the fault of an error object that an upstream sent with status 200, in a body or in a frame. Its status follows
// from the object.
func (a *Answer) ErrorFault(body []byte) *Fault { return errorFault(http.Header{}, body, a.target) }

// Unusable returns the fault of an answer that is incomplete, empty or malformed.
func (a *Answer) Unusable(cause error) *Fault { return NewFault(ClassContent, cause) }
