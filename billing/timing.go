package billing

import (
	"strconv"
	"strings"
	"time"
)

// These limits apply to the timing of a call.
const (
	AttemptsKept  = 8 // The timing of one call has at most this many attempts; further ones are only counted.
	timingWordMax = 64
	timingSteps   = 5
	attemptParts  = 6
)

// RequestTiming is the timing of one call: how long each step took, and its attempts at providers. Door and Body come before the call
// begins. Checked, Admitted and Funded are counted from its beginning, and are zero for a step that the call did not reach or
// that was not measured.
type RequestTiming struct {
	Door     time.Duration // Door is the time until the key was authenticated.
	Body     time.Duration // Body is the time in which the caller sent the request.
	Checked  time.Duration // Checked is when the request had been validated, priced and routed.
	Admitted time.Duration // Admitted is when the request had passed all limits.
	Funded   time.Duration // Funded is when its maximum cost had been reserved.
	Attempts []Attempt     // Attempts are the first ones, in no order.
}

// Attempt is one request to a provider, with what the account may know of it. Times are counted from the beginning of the
// call.
type Attempt struct {
	Provider string
	Status   int           // Status is the provider's response status; zero means none.
	Cause    string        // Cause is why the attempt failed. It is empty for a success.
	Start    time.Duration // Start is when the request was sent.
	First    time.Duration // First is the time until the first content. It is zero when there was none.
	Took     time.Duration // Took is the time until the failure. It is zero for a success, which lasted until the call's end.
}

// isZero reports whether nothing was recorded about the call.
func (t *RequestTiming) isZero() bool {
	return len(t.Attempts) == 0 && t.Door|t.Body|t.Checked|t.Admitted|t.Funded == 0
}

// append writes the timing in the format of its column: the steps in microseconds, then each attempt after a space.
func (t *RequestTiming) append(b []byte) []byte {
	for i, step := range [timingSteps]time.Duration{t.Door, t.Body, t.Checked, t.Admitted, t.Funded} {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendMicros(b, step)
	}
	for i := range t.Attempts[:min(len(t.Attempts), AttemptsKept)] {
		a := &t.Attempts[i]
		b = appendWord(append(b, ' '), a.Provider)
		b = strconv.AppendInt(append(b, ':'), count(int64(a.Status)), 10)
		b = appendWord(append(b, ':'), a.Cause)
		for _, d := range [...]time.Duration{a.Start, a.First, a.Took} {
			b = appendMicros(append(b, ':'), d)
		}
	}
	return b
}

func appendMicros(b []byte, d time.Duration) []byte {
	return strconv.AppendInt(b, count(d.Microseconds()), 10)
}

// appendWord writes a name without the characters that separate fields of a timing or need escaping in JSON.
func appendWord(b []byte, s string) []byte {
	for i := range min(len(s), timingWordMax) {
		c := s[i]
		if c <= ' ' || c > '~' || c == ':' || c == '"' || c == '\\' {
			c = '_'
		}
		b = append(b, c)
	}
	return b
}

// parseTiming parses what append wrote. It treats what it cannot parse as unknown, because a page must not fail for it.
func parseTiming(s string) (t RequestTiming) {
	words := strings.Fields(s)
	if len(words) == 0 || len(words) > 1+AttemptsKept {
		return RequestTiming{}
	}
	steps := [timingSteps]*time.Duration{&t.Door, &t.Body, &t.Checked, &t.Admitted, &t.Funded}
	parts := strings.Split(words[0], ",")
	if len(parts) != timingSteps {
		return RequestTiming{}
	}
	for i, part := range parts {
		if !readMicros(part, steps[i]) {
			return RequestTiming{}
		}
	}
	for _, word := range words[1:] {
		a, ok := parseAttempt(word)
		if !ok {
			return RequestTiming{}
		}
		t.Attempts = append(t.Attempts, a)
	}
	return t
}

func parseAttempt(word string) (a Attempt, ok bool) {
	parts := strings.Split(word, ":")
	if len(parts) != attemptParts {
		return a, false
	}
	status, err := strconv.ParseInt(parts[1], 10, 32)
	if err != nil {
		return a, false
	}
	a.Provider, a.Status, a.Cause = parts[0], int(status), parts[2]
	ok = readMicros(parts[3], &a.Start) && readMicros(parts[4], &a.First) && readMicros(parts[5], &a.Took)
	return a, ok
}

func readMicros(s string, d *time.Duration) bool {
	n, err := strconv.ParseInt(s, 10, 64)
	*d = time.Duration(count(n)) * time.Microsecond
	return err == nil
}
