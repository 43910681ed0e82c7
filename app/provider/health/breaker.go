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
	ejectionTimesMax = 10 // a repeated ejection is at most so many times the first
	gradeMax         = 5  // from here on it is that long
	jitterOneOf      = 10 // replicas do not all probe at the same moment
	probeMin         = time.Second
)

// verdict is what an outcome says about the provider's model.
type verdict uint8

const (
	neither verdict = iota // nothing
	good
	bad
)

// judge tells failures of the provider from those of clients, of credentials and of limits.
func judge(f *provider.Fault) verdict {
	if f == nil {
		return good
	}
	if f.Class == provider.ClassTooLarge && f.Err != nil && errors.Is(f.Err, sse.ErrBudget) {
		return neither // it was too large for what this replica has left just now
	}
	switch f.Class {
	case provider.ClassConnect, provider.ClassDNS, provider.ClassTLS, provider.ClassReset, provider.ClassFirstByte, provider.ClassIdle,
		provider.ClassTotal, provider.ClassServer, provider.ClassContent, provider.ClassTooLarge, provider.ClassRedirect, provider.ClassSetup:
		return bad
	case provider.ClassRefused:
		if f.Retry == provider.Nowhere {
			return good // it looked at the request and said no, as a provider does that is well
		}
	}
	return neither
}

// breaker ejects a model of a provider whose calls fail, lets one probe through when the ejection ends, and goes by its outcome.
type breaker struct {
	window    window
	inARow    int
	grade     int // how many ejections make up the length of the last
	ejected   bool
	until     time.Duration // of the ejection
	closedAt  time.Duration // when the last ejection was over
	probing   bool
	probeEnds time.Duration // when another probe is let through, though this one has not ended
	epoch     uint32        // raised with every change: what began before says nothing about the time after
	ejections int64         // all of them
}

// blocks reports whether an attempt must be forced.
func (b *breaker) blocks(now time.Duration) bool {
	return b.ejected && (now < b.until || b.probing && now < b.probeEnds)
}

// enter begins an attempt, and says whether it is the probe.
func (b *breaker) enter(now, firstByte time.Duration) bool {
	if !b.ejected || b.blocks(now) {
		return false
	}
	b.probing, b.probeEnds = true, now+max(firstByte, probeMin)
	return true
}

// leave ends an attempt. It returns for how long the model is ejected, when that is what follows.
func (b *breaker) leave(t Try, v verdict, now time.Duration, set catalog.Breaker, random func(int) int) time.Duration {
	if b.epoch != t.epoch {
		return 0
	}
	switch {
	case b.ejected && v == good:
		b.close(now)
	case b.ejected && t.probe:
		b.probing = false
		if v == bad {
			return b.eject(now, set, random)
		}
	case b.ejected:
	case v == good:
		b.inARow = 0
	case v == bad:
		if b.inARow++; b.trips(now, set) {
			b.heal(now, set)
			return b.eject(now, set, random)
		}
	}
	return 0
}

// trips reports whether a failure was one too many.
func (b *breaker) trips(now time.Duration, set catalog.Breaker) bool {
	if set.Failures > 0 && b.inARow >= set.Failures {
		return true
	}
	calls, failures := b.window.judged(now)
	return set.CallsMin > 0 && calls >= int64(set.CallsMin) && failures*100 >= calls*int64(set.FailurePercent)
}

// heal makes the next ejection shorter, by one step for each time as long as the last ejection without another.
func (b *breaker) heal(now time.Duration, set catalog.Breaker) {
	for healthy := now - b.closedAt; b.grade > 0; b.grade-- {
		if healthy -= lengthOf(b.grade, set); healthy < 0 {
			return
		}
	}
}

// eject begins an ejection, twice as long as the one before it.
func (b *breaker) eject(now time.Duration, set catalog.Breaker, random func(int) int) time.Duration {
	b.grade = min(b.grade+1, gradeMax)
	length := lengthOf(b.grade, set)
	length += time.Duration(random(int(length/jitterOneOf) + 1))
	b.ejected, b.until, b.probing, b.inARow = true, now+length, false, 0
	b.epoch++
	b.ejections++
	return length
}

// close ends an ejection. The failures before it are forgiven.
func (b *breaker) close(now time.Duration) {
	b.ejected, b.probing, b.inARow, b.closedAt = false, false, 0, now
	b.epoch++
	b.window.forgive()
}

func lengthOf(grade int, set catalog.Breaker) time.Duration {
	return set.Ejection * time.Duration(min(1<<(grade-1), ejectionTimesMax))
}
