package health

import (
	"errors"
	"time"

	"umg/app/catalog"
	"umg/app/provider"
	"umg/app/sse"
)

// These limits apply to ejections.
const (
	doublingsMax = 20 // An ejection is doubled no more often than this.
	jitterOneOf  = 10 // The random part of an ejection keeps replicas from probing at the same moment.
	probeMin     = time.Second
	probeMax     = 10 * time.Second // After this time another probe may begin, although the last one has not ended.
	timeoutAfter = time.Second      // A failure after so long without content counts as a timeout.
	pendingMax   = 5                // PendingMax is how many attempts may have no outcome yet in precedesRow.
)

// outcome is what an outcome means for the provider's model.
type outcome uint8

const (
	outcomeIgnored outcome = iota // The outcome does not count.
	outcomeSuccess
	outcomeFailure
	outcomeTimeout  // The attempt failed after the caller had waited for it.
	outcomeOutpaced // Another route began later and answered sooner.
)

func (v outcome) failed() bool { return v == outcomeFailure || v == outcomeTimeout }

// outcomeOf tells failures of the provider from those of clients, credentials and limits. Silent is how long the attempt had no content.
func outcomeOf(f *provider.Fault, silent time.Duration) outcome {
	if f == nil {
		return outcomeSuccess
	}
	if f.Class == provider.ClassTooLarge && f.Err != nil && errors.Is(f.Err, sse.ErrBudget) {
		return outcomeIgnored // The request was too large for the memory of this replica.
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
			return outcomeSuccess // A provider that refuses a request after reading it is healthy.
		}
	}
	return outcomeIgnored
}

// breaker ejects a model of a provider whose calls fail. After the ejection it allows one probe, whose outcome decides.
type breaker struct {
	window        window
	attempts      int64 // Attempts counts the attempts, which are numbered in this order.
	failuresInRow int   // FailuresInRow counts the latest failures.
	rowStart      int64 // RowStart is the number of the first attempt among them.
	doublings     int   // Doublings is one for the base length of the last ejection, and one more for each doubling.
	ejected       bool
	slow          bool          // The route is ejected because another route answers sooner.
	until         time.Duration // Until is the end of the ejection.
	closedAt      time.Duration // ClosedAt is when the last ejection ended.
	probing       bool
	probeEnds     time.Duration // ProbeEnds is when another probe may begin.
	epoch         uint32        // Epoch grows with every change. Attempts of an earlier epoch do not count.
	ejections     int64         // Ejections counts all ejections.
}

// blocks reports whether the ejection blocks attempts now.
func (b *breaker) blocks(now time.Duration) bool {
	return b.ejected && (now < b.until || b.probing && now < b.probeEnds)
}

// begin starts an attempt. It reports whether the attempt is the probe.
func (b *breaker) begin(now, firstByte time.Duration) bool {
	if !b.ejected || b.blocks(now) {
		return false
	}
	b.probing, b.probeEnds = true, now+min(max(firstByte, probeMin), probeMax)
	return true
}

// number counts a new attempt and returns its number.
func (b *breaker) number() int64 {
	b.attempts++
	return b.attempts
}

// end records the outcome of an attempt. It returns the length of the ejection that follows, if any.
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

// precedesRow reports whether an attempt began before a row of failures in which nearly all later attempts have failed. Its answer then
// does not end the row. Otherwise long answers would hide that new attempts fail.
func (b *breaker) precedesRow(t Try) bool {
	return b.failuresInRow > 0 && t.number < b.rowStart && b.attempts-b.rowStart < int64(b.failuresInRow)+pendingMax
}

// trips reports whether the failures so far cause an ejection.
func (b *breaker) trips(now time.Duration, set catalog.Breaker) bool {
	if set.Failures > 0 && b.failuresInRow >= set.Failures {
		return true
	}
	calls, failures := b.window.breakerCounts(now)
	return set.CallsMin > 0 && calls >= int64(set.CallsMin) && failures*100 >= calls*int64(set.FailurePercent)
}

// shortenNext shortens the next ejection by one doubling for each period, as long as the last ejection, without another one.
func (b *breaker) shortenNext(now time.Duration, set catalog.Breaker) {
	for healthy := now - b.closedAt; b.doublings > 0; b.doublings-- {
		if healthy -= ejectionLength(b.doublings, set); healthy < 0 {
			return
		}
	}
}

// eject begins an ejection, twice as long as the previous one. A failure that callers had to wait for makes it as long as possible, because
// the next probe makes another caller wait. The duration of the failed attempt counts as a part of the ejection, except for its base
// length, so that a slow failure does not keep a route out for longer after it recovers.
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

// close ends an ejection and resets the counts of failures.
func (b *breaker) close(now time.Duration) {
	b.ejected, b.slow, b.probing, b.failuresInRow, b.closedAt = false, false, false, 0, now
	b.epoch++
	b.window.resetBreakerCounts()
}

func ejectionLength(grade int, set catalog.Breaker) time.Duration {
	return min(set.Ejection<<(grade-1), max(set.Ejection, set.EjectionMax))
}
