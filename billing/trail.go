package billing

import (
	"strconv"
	"strings"
	"time"
)

// Limits of a trail.
const (
	AttemptsKept = 8 // of one call; further ones are only counted
	trailWordMax = 64
	trailSteps   = 5
	attemptParts = 6
)

// Trail is how a call went: how long each step took that it had to pass, and its attempts at providers. Door and Body come
// before the beginning of the call; Checked, Admitted and Funded are counted from there, and zero where a call never came so
// far or nobody looked.
type Trail struct {
	Door     time.Duration // until the key was recognised
	Body     time.Duration // in which the caller sent the request
	Checked  time.Duration // against the contract of the model, with its price and a route
	Admitted time.Duration // within all limits
	Funded   time.Duration // what it may cost was reserved
	Attempts []Attempt     // the first ones, in no order
}

// Attempt is one request to a provider, as the account may know of it. Times are counted from the beginning of the call.
type Attempt struct {
	Provider string
	Status   int           // that the provider answered with; zero for none
	Cause    string        // why it failed; empty for one that answered
	Start    time.Duration // when it was sent
	First    time.Duration // how long until it had content; zero when it never had
	Took     time.Duration // how long until it failed; zero for one that answered, which went on until the call's end
}

// none reports whether nothing is known of how the call went.
func (t *Trail) none() bool {
	return len(t.Attempts) == 0 && t.Door|t.Body|t.Checked|t.Admitted|t.Funded == 0
}

// append writes the trail in the words of its column: the steps in microseconds, and each attempt behind a space.
func (t *Trail) append(b []byte) []byte {
	for i, step := range [trailSteps]time.Duration{t.Door, t.Body, t.Checked, t.Admitted, t.Funded} {
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

// appendWord writes a name without what has a meaning in a trail or in JSON.
func appendWord(b []byte, s string) []byte {
	for i := range min(len(s), trailWordMax) {
		c := s[i]
		if c <= ' ' || c > '~' || c == ':' || c == '"' || c == '\\' {
			c = '_'
		}
		b = append(b, c)
	}
	return b
}

// parseTrail reads what append wrote. What it cannot read it takes for unknown: a page must not fail for it.
func parseTrail(s string) (t Trail) {
	words := strings.Fields(s)
	if len(words) == 0 || len(words) > 1+AttemptsKept {
		return Trail{}
	}
	steps := [trailSteps]*time.Duration{&t.Door, &t.Body, &t.Checked, &t.Admitted, &t.Funded}
	parts := strings.Split(words[0], ",")
	if len(parts) != trailSteps {
		return Trail{}
	}
	for i, part := range parts {
		if !readMicros(part, steps[i]) {
			return Trail{}
		}
	}
	for _, word := range words[1:] {
		a, ok := parseAttempt(word)
		if !ok {
			return Trail{}
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
