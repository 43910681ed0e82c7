package health

import (
	"errors"
	"time"

	"umg/app/catalog"
	"umg/app/provider"
	"umg/app/sse"
)

// Limits of ejections.
const (
	doublingsMax = 20 // doublings of an ejection
	jitterOneOf  = 10 // replicas do not all probe at the same moment
	probeMin     = time.Second
	probeMax     = 10 * time.Second // after it another probe is let through, although the one before may be silent for minutes
	timeoutAfter = time.Second      // a failure before any content is one that callers had to wait for
	pendingMax   = 5                // attempts without an outcome in a row of failures that an earlier attempt's answer does not end
)

// outcome is what an outcome says about the provider's model.
type outcome uint8

const (
	outcomeIgnored outcome = iota // nothing
	outcomeSuccess
	outcomeFailure
	outcomeTimeout  // bad, and the caller waited for it
	outcomeOutpaced // another route was asked later and answered sooner
)

func (v outcome) failed() bool { return v == outcomeFailure || v == outcomeTimeout }

// outcomeOf tells failures of the provider from those of clients, of credentials and of limits. Silent is how long the attempt had
// no content.
func outcomeOf(f *provider.Fault, silent time.Duration) outcome {
	if f == nil {
		return outcomeSuccess
	}
	if f.Class == provider.ClassTooLarge && f.Err != nil && errors.Is(f.Err, sse.ErrBudget) {
		return outcomeIgnored // the request was too large for the memory that this replica has left
	}
	switch f.Class {
	case provider.ClassFirstByte, provider.ClassIdle, provider.ClassTotal:
		return outcomeTimeout
	case provider.ClassConnect, provider.ClassDNS, provider.ClassTLS, provider.ClassReset, provider.ClassServer, provider.ClassContent,
		provider.ClassTooLarge, provider.ClassRedirect, provider.ClassSetup:
		if silent >= timeoutAfter {
			return outcomeTimeout
		}
		return outcomeFailure
	case provider.ClassRefused:
		if f.Retry == provider.Nowhere {
			return outcomeSuccess // a provider that refuses a request after reading it is healthy
		}
	}
	return outcomeIgnored
}

// breaker ejects a model of a provider whose calls fail, lets one probe through when the ejection ends, and goes by its outcome.
type breaker struct {
	window        window
	attempts      int64 // attempts, which are numbered in this order
	failuresInRow int   // failures
	rowStart      int64 // the number of the first attempt among them
	doublings     int   // how often the first length was doubled for the last ejection, counted from one
	ejected       bool
	slow          bool          // the route is ejected because another route answers sooner
	until         time.Duration // the end of the ejection
	closedAt      time.Duration // when the last ejection was over
	probing       bool
	probeEnds     time.Duration // when another probe is let through, though this one has not ended
	epoch         uint32        // raised with every change: what began before says nothing about the time after
	ejections     int64         // all of them
}

// blocks reports whether an attempt must be forced.
func (b *breaker) blocks(now time.Duration) bool {
	return b.ejected && (now < b.until || b.probing && now < b.probeEnds)
}

// begin begins an attempt, and says whether it is the probe.
func (b *breaker) begin(now, firstByte time.Duration) bool {
	if !b.ejected || b.blocks(now) {
		return false
	}
	b.probing, b.probeEnds = true, now+min(max(firstByte, probeMin), probeMax)
	return true
}

// number counts an attempt that begins.
func (b *breaker) number() int64 {
	b.attempts++
	return b.attempts
}

// end ends an attempt. It returns for how long the model is ejected, when that is what follows.
func (b *breaker) end(t Try, v outcome, now time.Duration, set catalog.Breaker, random func(int) int) time.Duration {
	if b.epoch != t.epoch {
		return 0
	}
	switch {
	case b.ejected && v == outcomeSuccess:
		b.close(now)
	case b.ejected && t.probe:
		b.probing = false
		if v.failed() || v == outcomeOutpaced {
			return b.eject(t, v, now, set, random)
		}
	case b.ejected:
	case v == outcomeSuccess && !b.precedesRow(t):
		b.failuresInRow = 0
	case v.failed(), v == outcomeOutpaced:
		if b.failuresInRow == 0 || t.number < b.rowStart {
			b.rowStart = t.number
		}
		if b.failuresInRow++; b.trips(now, set) {
			b.shortenNext(now, set)
			return b.eject(t, v, now, set, random)
		}
	}
	return 0
}

// precedesRow reports whether an attempt began before a row of failures in which nearly all that began since have failed. Its
// answer says nothing about the time since: long answers would otherwise hide for long that no new ones begin.
func (b *breaker) precedesRow(t Try) bool {
	return b.failuresInRow > 0 && t.number < b.rowStart && b.attempts-b.rowStart < int64(b.failuresInRow)+pendingMax
}

// trips reports whether a failure was one too many.
func (b *breaker) trips(now time.Duration, set catalog.Breaker) bool {
	if set.Failures > 0 && b.failuresInRow >= set.Failures {
		return true
	}
	calls, failures := b.window.breakerCounts(now)
	return set.CallsMin > 0 && calls >= int64(set.CallsMin) && failures*100 >= calls*int64(set.FailurePercent)
}

// shortenNext makes the next ejection shorter, by one step for each time as long as the last ejection without another.
func (b *breaker) shortenNext(now time.Duration, set catalog.Breaker) {
	for healthy := now - b.closedAt; b.doublings > 0; b.doublings-- {
		if healthy -= ejectionLength(b.doublings, set); healthy < 0 {
			return
		}
	}
}

// eject begins an ejection, twice as long as the previous one. A failure that callers had to wait for makes it as long
// as possible, because the next probe makes another caller wait. The duration of the failed attempt counts as a part of
// the ejection, except for its base length, so that a slow failure does not keep a route out for longer after it
// recovers.
func (b *breaker) eject(t Try, v outcome, now time.Duration, set catalog.Breaker, random func(int) int) time.Duration {
	grade := min(b.doublings+1, doublingsMax)
	for v == outcomeTimeout && grade < doublingsMax && ejectionLength(grade, set) < set.EjectionMax {
		grade++
	}
	if b.doublings == 0 || ejectionLength(grade, set) > ejectionLength(b.doublings, set) {
		b.doublings = grade
	}
	jitter := func(length time.Duration) time.Duration {
		return length + time.Duration(random(int(length/jitterOneOf)+1))
	}
	b.until = max(t.began+jitter(ejectionLength(b.doublings, set)), now+jitter(ejectionLength(1, set)))
	b.ejected, b.slow, b.probing, b.failuresInRow = true, v == outcomeOutpaced, false, 0
	b.epoch++
	b.ejections++
	return b.until - now
}

// close ends an ejection. The failures before it are forgiven.
func (b *breaker) close(now time.Duration) {
	b.ejected, b.slow, b.probing, b.failuresInRow, b.closedAt = false, false, false, 0, now
	b.epoch++
	b.window.resetBreakerCounts()
}

func ejectionLength(grade int, set catalog.Breaker) time.Duration {
	return min(set.Ejection<<(grade-1), max(set.Ejection, set.EjectionMax))
}
