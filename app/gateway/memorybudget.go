package gateway

import (
	"time"

	"umg/app"
	"umg/app/sse"
)

// Large requests, frames and answers reserve memory of the budget of the process, once for each of their copies. Smaller ones belong
// to the memory that every call needs.
const (
	largeBytes        = 64 << 10 // Larger frames and whole answers reserve memory.
	largeRequestBytes = 1 << 20  // Larger translated requests and images reserve memory.

	passedCopies     = 2 // The copies are the received and the sent form.
	translatedCopies = 4 // The copies are the received, decoded and encoded forms, and the text that some styles repeat at the end.
	requestCopies    = 3 // The copies are the decoded, encoded and sent forms; the API counts the body itself.
	imageCopies      = 5 // The copies are the received, base64, encoded and sent forms.
	memoryRetryAfter = time.Second
)

// memoryReservation is memory that a call has taken from the budget of the process.
type memoryReservation struct {
	budget *sse.Budget
	taken  int64
}

func (r *memoryReservation) take(n int64) bool {
	if !r.budget.Take(n) {
		return false
	}
	r.taken += n
	return true
}

func (r *memoryReservation) release() {
	r.budget.Give(r.taken)
	r.taken = 0
}

// reserve reserves the memory for so many copies of a large request in other forms, until its answer has begun.
func (b *requestBuilder) reserve(copies int64) error {
	if n := int64(len(b.call.request.Body)); n >= largeRequestBytes && !b.memory.take(n*copies) {
		return errMemory()
	}
	return nil
}

// errMemory is the error for a large request while the budget is used up.
func errMemory() *app.Error {
	return app.Errorf(app.Unavailable, "service_unavailable",
		"Too many large requests are being translated right now. Please try again in a moment.").After(memoryRetryAfter)
}
