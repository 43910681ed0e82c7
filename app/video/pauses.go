package video

import (
	"cmp"
	"time"

	"umg/app/provider"
)

// waits are the pauses, with the standard ones where none are set.
func (s *Service) waits() Waits {
	w := s.o.Waits
	w.PollMin = cmp.Or(w.PollMin, pollMinStandard)
	w.PollMax = max(cmp.Or(w.PollMax, pollMaxStandard), w.PollMin)
	w.RetryMin = cmp.Or(w.RetryMin, retryMinStandard)
	w.CopyMax = cmp.Or(w.CopyMax, copyMaxStandard)
	w.PicturesMax = cmp.Or(w.PicturesMax, picturesMaxStandard)
	w.StopMax = cmp.Or(w.StopMax, stopMaxStandard)
	return w
}

// now is the time as the store keeps it, so that moments that were stored compare equal.
func (s *Service) now() time.Time { return s.o.Now().UTC().Truncate(time.Microsecond) }

// jittered is a pause, give or take a fifth, so that jobs that began together do not stay together.
func (s *Service) jittered(pause time.Duration) time.Time {
	fifth := int64(pause) / 5
	return s.now().Add(pause + time.Duration(s.o.Jitter(2*fifth+1)-fifth))
}

// nextLook is when to look at a job that is fine: often at first, less often the longer it takes.
func (s *Service) nextLook(r *jobRow) time.Time {
	w := s.waits()
	return s.jittered(min(max(s.now().Sub(r.CreatedAt)/pollShare, w.PollMin), w.PollMax))
}

// backOff is when to try again after so many failures in a row.
func (s *Service) backOff(tries int, f *provider.Fault) time.Time {
	pause := min(s.waits().RetryMin<<min(tries, 16), backOffMax)
	if f != nil {
		pause = max(pause, f.After)
	}
	return s.jittered(pause)
}

// afterOurs is when to try again after an error that is not the provider's. Postgres cancels statements that take too long,
// and mostly takes them a moment later; while it is away, nothing is claimed. Other errors, such as a full disk, last.
func (s *Service) afterOurs(err error) time.Time {
	if isStore(err) {
		return s.jittered(failurePause)
	}
	return s.jittered(oursRetryAfter)
}
