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
	largeBytes        = 64 << 10 // Larger frames and whole answers reserve memory.
	largeRequestBytes = 1 << 20  // Larger translated requests and images reserve memory.

	passedCopies     = 2 // The copies are the received and the sent form.
	translatedCopies = 4 // The copies are the received, decoded and encoded forms, and what a style repeats at its end.
	requestCopies    = 3 // The copies are the decoded, encoded and sent forms; the API counts the body itself.
	imageCopies      = 5 // The copies are the received, base64, encoded and sent forms.
	memoryRetryAfter = time.Second
)

// memoryReservation is memory that a call has taken from the budget of the process.
type memoryReservation struct {
	budget *sse.Budget
	taken  int64
}

func (l *memoryReservation) take(n int64) bool {
	if !l.budget.Take(n) {
		return false
	}
	l.taken += n
	return true
}

func (l *memoryReservation) giveBack() {
	l.budget.Give(l.taken)
	l.taken = 0
}

// reserveResponseMemory takes the memory for so many bytes of an answer, until they are delivered.
func (r *run) reserveResponseMemory(n int) *provider.Fault {
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
