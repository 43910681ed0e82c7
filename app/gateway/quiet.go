package gateway

import (
	"time"

	"umg/app/catalog"
	"umg/app/dialect"
	"umg/app/provider"
)

// quiet notes how long an upstream has sent nothing of its answer, whatever else it sends: comments, pings and frames that say
// nothing are signs of life, but a stream of them alone must not last as long as a call may.
type quiet struct {
	since   time.Time // Since is when the last content arrived, or when the attempt began.
	content int64     // Content is the bytes of content until then.
	ended   bool      // The answer may have ended by then.
}

// note looks whether the answer has gone on.
func (q *quiet) note(at time.Time, t *dialect.StreamStats) {
	ended := t.Ended || t.Whole || t.Last
	if q.since.IsZero() || t.Progress != q.content || ended != q.ended {
		*q = quiet{since: at, content: t.Progress, ended: ended}
	}
}

// quietMax is how long an upstream may send nothing of its answer, where the next sign of life may take so long as limit.
func (a *attempt) quietMax(limit time.Duration) time.Duration {
	waits := &a.route.Timeouts
	switch {
	case a.quiet.ended: // Only end marks and usage may still arrive.
		return catalog.Timeouts{}.ContentMax(limit)
	case !a.firstFrameSeen:
		return limit // The wait began with the attempt, not with the head of the answer.
	case a.quiet.content == 0:
		return waits.ContentMax(waits.FirstByte)
	}
	return waits.ContentMax(waits.Idle)
}

// quietLeft is what is left of the time without content at a moment at which the next sign of life may take so long as limit.
// It reports false where that time has no bound, or is longer than the limit.
func (a *attempt) quietLeft(at time.Time, limit time.Duration) (time.Duration, bool) {
	bound := a.quietMax(limit)
	left := a.quiet.since.Add(bound).Sub(at)
	return left, bound > 0 && (limit <= 0 || left < limit)
}

// quietCause is why an attempt ends whose time without content is over.
func (a *attempt) quietCause() error {
	switch {
	case !a.firstFrameSeen:
		return provider.ErrFirstByte
	case a.quiet.content == 0:
		return provider.ErrNoFirstContent
	}
	return provider.ErrNoContent
}
