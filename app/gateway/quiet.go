package gateway

import (
	"time"

	"umg/app/catalog"
	"umg/app/dialect"
	"umg/app/provider"
)

// contentWait notes how long an upstream has sent nothing of its answer, whatever else it sends: comments, pings and frames that say
// nothing are signs of life, but a stream of them alone must not last as long as a call may.
type contentWait struct {
	since   time.Time // Since is when the last content arrived, or when the attempt began.
	content int64     // Content is the bytes of content until then.
	ended   bool      // The answer may have ended by then.
}

// note looks whether the answer has gone on.
func (q *contentWait) note(at time.Time, t *dialect.StreamStats) {
	ended := t.Ended || t.Whole || t.Last
	if q.since.IsZero() || t.Progress != q.content || ended != q.ended {
		*q = contentWait{since: at, content: t.Progress, ended: ended}
	}
}

// contentLeft is what is left at a moment of the time in which an upstream must send more of its answer, and the cause of the
// fault when that is over. The next sign of life may take so long as limit. It reports false where the time has no bound, or is
// longer than the limit.
func (a *attempt) contentLeft(at time.Time, limit time.Duration) (left time.Duration, shorter bool, cause error) {
	waits := &a.route.Timeouts
	bound := waits.ContentMax(waits.Idle)
	cause = provider.ErrNoContent
	switch {
	case !a.firstFrameSeen:
		bound, cause = limit, provider.ErrFirstByte // The wait began with the attempt, not with the head of the answer.
	case a.quiet.content == 0:
		bound, cause = waits.ContentMax(waits.FirstByte), provider.ErrNoFirstContent
	}
	if a.quiet.ended { // Only end marks and usage may still arrive.
		bound = catalog.Timeouts{}.ContentMax(limit)
	}
	left = a.quiet.since.Add(bound).Sub(at)
	return left, bound > 0 && (limit <= 0 || left < limit), cause
}
