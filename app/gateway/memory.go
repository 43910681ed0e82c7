package gateway

import (
	"time"

	"umg/app"
	"umg/app/provider"
	"umg/app/sse"
)

// What is large counts against the memory of the whole process, as often as it is in memory at once. Less than that is
// what every call needs.
const (
	largeBytes        = 64 << 10 // of a frame, or of an answer in one piece
	largeRequestBytes = 1 << 20  // of a request that is translated, or of an image

	passedCopies     = 2 // as it came and as it goes on
	translatedCopies = 4 // as it came, read, written, and what a style repeats at its end
	requestCopies    = 3 // read, written and on its way; the body itself is the face's
	imageCopies      = 5 // as it came, in base64, written and on its way
	memoryRetryAfter = time.Second
)

// loan is memory that a call has taken from the budget of the process.
type loan struct {
	budget *sse.Budget
	taken  int64
}

func (l *loan) take(n int64) bool {
	if !l.budget.Take(n) {
		return false
	}
	l.taken += n
	return true
}

func (l *loan) giveBack() {
	l.budget.Give(l.taken)
	l.taken = 0
}

// spare takes the memory for so many bytes of an answer, until they are delivered.
func (r *run) spare(n int) *provider.Fault {
	copies := int64(passedCopies)
	if r.way != nil && r.way.Translates() {
		copies = translatedCopies
	}
	if !r.answered.take(int64(n) * copies) {
		return provider.NewFault(provider.ClassTooLarge, sse.ErrBudget)
	}
	return nil
}

// spareRequest takes the memory to translate a large request, until its answer has begun.
func (r *run) spareRequest() error {
	if n := int64(len(r.call.Body)); n >= largeRequestBytes && !r.asked.take(n*requestCopies) {
		return errMemory()
	}
	return nil
}

// spareCopy takes the memory for a copy of a large request, until its answer has begun.
func (r *run) spareCopy() error {
	if n := int64(len(r.call.Body)); n >= largeRequestBytes && !r.asked.take(n) {
		return errMemory()
	}
	return nil
}

// errMemory refuses what is large while too much of that is there already.
func errMemory() *app.Error {
	return app.Errorf(app.Unavailable, "service_unavailable",
		"Too many large requests are being translated right now. Please try again in a moment.").After(memoryRetryAfter)
}
