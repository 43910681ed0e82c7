package gateway

import (
	"context"
	"errors"
	"time"

	"umg/app"
	"umg/app/catalog"
	"umg/app/dialect"
	"umg/app/meter"
	"umg/app/ratelimit"
	"umg/billing"
)

// Work is the kind of a request, as far as its method, path and headers show.
type Work int

// The kinds of work.
const (
	ChangeWork Work = iota // ChangeWork changes what an account has, and is no call.
	ReadWork               // ReadWork changes nothing.
	CheckWork              // CheckWork is a dry run or a count of tokens: it reads a body and charges nothing.
	TextWork               // TextWork is a call of a text model.
	VideoWork              // VideoWork is a call of a video model.
)

// Rates are what an account with the usual limits may send. Numbers of zero are no limit.
type Rates struct{ Reads, Changes, Checks, Calls ratelimit.Rate }

// The bytes of request bodies that an account may send in a minute. Reading and checking a mebibyte takes 5 to 40 ms of processor
// time, so these bound the time that one account can use without paying.
const (
	callBytesPerMinuteMax  = 256 << 20
	checkBytesPerMinuteMax = 16 << 20
	bodyBytesUnknown       = 1 << 20 // A body of unknown length counts as this many bytes until it has been read.
)

// An account gets refusalsInTime refusals in refusalPeriod without a delay.
const (
	refusalsInTime = 100
	refusalPeriod  = 10 * time.Second
	refusalDelay   = 500 * time.Millisecond // This is the average: the delay is random between half of it and one and a half times it.
)

// A limit per minute is applied as one per shorter period, this many in a minute. If all requests of a minute came at once, they
// would keep a small machine busy for seconds.
const (
	callParts = 4
	readParts = 10
)

// StandardRates are the rates of an account with so many calls, reads, changes and checks a minute.
func StandardRates(calls, reads, changes, checks int64) Rates {
	r := Rates{
		Reads: rateOfPart(reads, readParts), Changes: rateOfPart(changes, readParts),
		Checks: ratelimit.Rate{Requests: checks, Bytes: checkBytesPerMinuteMax}, Calls: rateOfPart(calls, callParts),
	}
	r.Calls.Bytes = callBytesPerMinuteMax * int64(r.Calls.Period) / int64(time.Minute)
	return r
}

// rateOfPart divides a rate per minute into parts of shorter periods. A rate of only a few requests keeps its minute.
func rateOfPart(perMinute, parts int64) ratelimit.Rate {
	if perMinute > 0 && perMinute < parts*parts {
		parts = 1
	}
	return ratelimit.Rate{Requests: (perMinute + parts - 1) / parts, Period: time.Minute / time.Duration(parts)}
}

// AdmissionRequest is a request whose caller is known and whose body was not read yet.
type AdmissionRequest struct {
	ID          string
	Work        Work
	Principal   app.Principal
	Key         ratelimit.Key
	LimitFactor int
	BodyBytes   int64 // BodyBytes is the declared length; below zero when unknown.
	// Space is memory for the admission, which is not in use; it may be nil.
	Space *Admission
}

// Admission is a request that may send its body. It ends with Release.
type Admission struct {
	Slot *ratelimit.Slot // Slot is the slot of a call, which takes it over; nil for other requests.

	limits  *ratelimit.Limiter
	account string
	class   ratelimit.Class
	counted int64          // Counted is the number of bytes that the body was counted with.
	slot    ratelimit.Slot // This is the memory of Slot.
}

// Admit lets a request in before its body is read, if the account and the key are within their limits and, for a call, there is
// credit for the smallest hold of the cheapest model that the key may use. The window is that of the rate of requests that refused it.
func (g *Gateway) Admit(ctx context.Context, a AdmissionRequest) (*Admission, ratelimit.Window, error) {
	switch a.Work {
	case ReadWork:
		return g.count(a, ratelimit.Reads, g.o.Rates.Reads, 0)
	case ChangeWork:
		return g.count(a, ratelimit.Changes, g.o.Rates.Changes, 0)
	case CheckWork:
		return g.count(a, ratelimit.Checks, g.o.Rates.Checks, a.bytes())
	}
	if a.Space == nil {
		a.Space = &Admission{}
	}
	slot := &a.Space.slot
	err := g.o.Limits.AdmitTo(slot, ratelimit.Request{
		AccountID: a.Principal.AccountID, Concurrency: ratelimit.ConcurrencyStandard * max(a.LimitFactor, 1),
		Account: g.o.Limits.Account(a.LimitFactor), Key: a.Key,
	})
	if err != nil {
		return nil, slot.Requests(), err
	}
	admitted, window, err := g.count(a, ratelimit.Calls, g.o.Rates.Calls, a.bytes())
	if err == nil {
		admitted.Slot = slot
		err = g.checkCredit(ctx, a)
	}
	if err != nil {
		slot.Release(0)
		admitted.Release(0)
		return nil, window, err
	}
	return admitted, ratelimit.Window{}, nil
}

// AdmitPerson counts a request that a person makes in the console, by the rates that an account has for its reads and its changes.
// They are counted apart from the account's own, so that people can look while their programs are refused.
func (g *Gateway) AdmitPerson(userID string, factor int, work Work) error {
	class, rate := ratelimit.Reads, g.o.Rates.Reads
	if work != ReadWork {
		class, rate = ratelimit.Changes, g.o.Rates.Changes
	}
	_, _, err := g.count(AdmissionRequest{Principal: app.Principal{AccountID: "person:" + userID}, LimitFactor: factor}, class, rate, 0)
	refused, ok := errors.AsType[*app.Error](err)
	if !ok {
		return err
	}
	return app.Errorf(app.Exhausted, refused.Code, "You sent more than %d requests in %d s, and nothing was done. Try again in %d s.",
		rate.Requests*int64(max(factor, 1)), max(rate.Period, time.Second)/time.Second, refused.RetrySeconds()).After(refused.RetryAfter)
}

// RefusalDelay counts a refused request of an account, and returns how long its answer should wait. Without a delay, a client that
// tries again at once would have many thousands of requests refused each second. The delay is random, so that requests which were
// refused together do not come back together.
func (g *Gateway) RefusalDelay(accountID string) time.Duration {
	rate := ratelimit.Rate{Requests: refusalsInTime, Period: refusalPeriod}
	if _, err := g.o.Limits.Count(accountID, ratelimit.Refusals, rate, 0); err != nil {
		return refusalDelay/2 + time.Duration(g.o.Random(int(refusalDelay)+1))
	}
	return 0
}

// count counts a request against a rate of its account.
func (g *Gateway) count(a AdmissionRequest, c ratelimit.Class, r ratelimit.Rate, bytes int64) (*Admission, ratelimit.Window, error) {
	factor := int64(max(a.LimitFactor, 1))
	r.Requests, r.Bytes = r.Requests*factor, r.Bytes*factor
	window, err := g.o.Limits.Count(a.Principal.AccountID, c, r, bytes)
	if err != nil {
		return nil, window, err
	}
	admitted := a.Space
	if admitted == nil {
		admitted = &Admission{}
	}
	admitted.limits, admitted.account, admitted.class, admitted.counted = g.o.Limits, a.Principal.AccountID, c, min(bytes, r.Bytes)
	return admitted, ratelimit.Window{}, nil
}

// bytes is what the body is counted with before it has come.
func (a AdmissionRequest) bytes() int64 {
	if a.BodyBytes < 0 {
		return bodyBytesUnknown
	}
	return a.BodyBytes
}

// Release ends a request, of whose body bytesRead bytes were read. A slot that its call has already released is not released
// again. Release of a nil admission does nothing.
func (a *Admission) Release(bytesRead int64) {
	if a == nil {
		return
	}
	if a.Slot != nil {
		a.Slot.Release(0)
	}
	if a.counted != bytesRead && (a.class == ratelimit.Checks || a.class == ratelimit.Calls) {
		a.limits.Correct(a.account, a.class, bytesRead-a.counted)
	}
}

// checkCredit refuses a call when the account or the key cannot pay even for the cheapest possible call. When the credit cannot be
// read, the call goes on, and the reservation of its hold decides.
func (g *Gateway) checkCredit(ctx context.Context, a AdmissionRequest) error {
	least := g.minHold(a.Principal, a.Work)
	if g.o.Credit == nil || least <= 0 || a.Principal.Uncharged {
		return nil
	}
	err := g.o.Credit(ctx, billing.HoldRequest{
		ID: a.ID, AccountID: a.Principal.AccountID, BudgetID: a.Principal.BudgetID, Want: least, Min: least,
	})
	switch app.KindOf(err) {
	case app.Unfunded, app.Forbidden:
		return err
	}
	return nil
}

// minHolds caches the smallest holds that calls of a snapshot's models can have.
type minHolds struct {
	snapshot *catalog.Snapshot
	of       map[string]app.Amount
	cheapest map[catalog.Kind]app.Amount
}

// minHold is the smallest hold of the cheapest model that the principal may call. It is zero where there is no such model,
// since the call then fails for that.
func (g *Gateway) minHold(p app.Principal, w Work) app.Amount {
	s := g.o.Snapshot()
	holds := g.minHolds.Load()
	if holds == nil || holds.snapshot != s {
		holds = newMinHolds(s)
		g.minHolds.Store(holds)
	}
	kind := catalog.KindText
	if w == VideoWork {
		kind = catalog.KindVideo
	}
	if len(p.Models) == 0 {
		return holds.cheapest[kind]
	}
	least, found := app.Amount(0), false
	for _, id := range p.Models {
		m, known := s.Model(id)
		if !known || m.Kind != kind {
			continue
		}
		if amount, priced := holds.of[m.ID]; priced && (!found || amount < least) {
			least, found = amount, true
		}
	}
	return least
}

func newMinHolds(s *catalog.Snapshot) *minHolds {
	holds := &minHolds{snapshot: s, of: map[string]app.Amount{}, cheapest: map[catalog.Kind]app.Amount{}}
	for _, m := range s.Models() {
		if !m.Available {
			continue
		}
		amount, err := minHoldOf(m)
		if err != nil {
			// The price is more than any call could pay, which the call itself reports.
			amount = 0
		}
		holds.of[m.ID] = amount
		if cheapest, found := holds.cheapest[m.Kind]; !found || amount < cheapest {
			holds.cheapest[m.Kind] = amount
		}
	}
	return holds
}

const millisecondsPerSecond = 1000

// minHoldOf is the cost of the smallest call of a model.
func minHoldOf(m *catalog.Model) (app.Amount, error) {
	if m.Kind != catalog.KindVideo {
		usual := *m
		usual.RateCard.Conditions = nil // Whether a condition applies depends on the call.
		e, err := newEstimate(&dialect.Head{MaxTokens: 1, Choices: 1}, &usual, time.Time{})
		return e.min, err
	}
	seconds := int64(0)
	for i, n := range m.Seconds {
		if i == 0 || n < seconds {
			seconds = n
		}
	}
	usage := meter.Counts{}
	usage[meter.Seconds] = seconds * millisecondsPerSecond
	least, err := m.RateCard.Cost(usage, meter.Terms{})
	for _, card := range m.SizeRateCards {
		cost, problem := card.Cost(usage, meter.Terms{})
		if err == nil {
			least, err = min(least, cost), problem
		}
	}
	return least, err
}
