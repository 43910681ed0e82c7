package ratelimit

import "time"

// Headroom is what an account may still do now, in all and on a model.
type Headroom struct{ Account, Model Remaining }

// Remaining is what is left of one gate's limits. It is not said when places are free again.
type Remaining struct{ Places, Requests, Daily, Tokens Window }

// Peek looks at what is left for each of the asks, and counts nothing. Where limits are shared it is what is left for all
// replicas, as long as Redis answers.
func (l *Limiter) Peek(asks []Request) []Headroom {
	left := make([]Headroom, len(asks))
	var jobs []*scriptCall
	if l.shared != nil && l.shared.up.Load() {
		jobs = make([]*scriptCall, len(asks))
	}
	for i := range asks {
		b := asks[i].bounds()
		left[i] = l.peek(&asks[i], &b)
		if jobs != nil {
			b[keyGate] = bounds{}
			jobs[i] = l.shared.look(&asks[i], &b)
		}
	}
	if jobs == nil {
		return left
	}
	timer := time.NewTimer(l.shared.o.Wait)
	defer timer.Stop()
	for i, j := range jobs {
		if j == nil {
			continue
		}
		select {
		case a := <-j.answer:
			if a.err == nil {
				left[i] = Headroom{Account: a.rooms[accountGate], Model: a.rooms[modelGate]}
			}
		case <-timer.C:
			for _, late := range jobs[i:] {
				if late != nil {
					late.leave()
				}
			}
			return left
		}
	}
	return left
}

// peek looks at the gates here, of which nothing is kept.
func (l *Limiter) peek(a *Request, b *[gatesCount]bounds) Headroom {
	now := l.now()
	sh := l.shard(a.AccountID)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	var acc, model gate
	if known, ok := sh.accounts[a.AccountID]; ok {
		acc = known.gate
		if m, ok := known.models[a.Model]; ok {
			model = *m
		}
	}
	return Headroom{Account: acc.room(&b[accountGate], now), Model: model.room(&b[modelGate], now)}
}

// room is what is left of a copy of a gate.
func (g *gate) room(b *bounds, now time.Time) Remaining {
	g.fill(b, now)
	return Remaining{Places: placesOf(b, g.running), Requests: g.requests.window(), Daily: g.daily.window(), Tokens: g.tokens.window()}
}

// look has a job begun that looks, if there is room for it.
func (s *shared) look(a *Request, b *[gatesCount]bounds) *scriptCall {
	j := &scriptCall{mode: "peek", lease: s.lease(a, b), answer: make(chan scriptReply, 1)}
	select {
	case s.jobs <- j:
		return j
	default:
		return nil
	}
}

// Stats are the limiter's counters.
type Stats struct {
	RefusedPlaces   int64 // RefusedPlaces counts calls beyond what may run at once.
	RefusedRequests int64 // RefusedRequests counts calls beyond the requests per minute.
	RefusedDaily    int64 // RefusedDaily counts calls beyond the requests per day.
	RefusedTokens   int64 // RefusedTokens counts calls beyond the tokens per minute.
	RefusedReads    int64 // RefusedReads counts read requests beyond their rate.
	RefusedChanges  int64 // RefusedChanges counts requests that change something, beyond their rate.
	RefusedChecks   int64 // RefusedChecks counts dry runs and token counts beyond their rate.
	RefusedBursts   int64 // RefusedBursts counts calls beyond the rate of calls or of their bytes within some seconds.

	Shared bool  // Shared means that replicas share limits.
	Up     bool  // Up means that Redis answers.
	Away   int64 // Away counts how often Redis became unavailable.
	Alone  int64 // Alone counts calls that this replica counted alone while Redis was away.
	Late   int64 // Late counts calls whose wait for Redis timed out.
	Lost   int64 // Lost counts ends of calls that did not reach Redis, so their leases expired.
	Leases int64 // Leases counts the calls whose places the worker renews now.
}

// Stats reads the counters.
func (l *Limiter) Stats() Stats {
	st := Stats{
		RefusedPlaces: l.refused[places].Load(), RefusedRequests: l.refused[requests].Load(), RefusedDaily: l.refused[daily].Load(),
		RefusedTokens: l.refused[tokens].Load(), RefusedReads: l.refusedOf[Reads].Load(), RefusedChanges: l.refusedOf[Changes].Load(),
		RefusedChecks: l.refusedOf[Checks].Load(), RefusedBursts: l.refusedOf[Calls].Load(),
	}
	if s := l.shared; s != nil {
		s.mu.Lock()
		st.Leases = int64(len(s.running))
		s.mu.Unlock()
		st.Shared, st.Up = true, s.up.Load()
		st.Away, st.Alone, st.Late, st.Lost = s.counts.away.Load(), s.counts.alone.Load(), s.counts.late.Load(), s.counts.lost.Load()
	}
	return st
}
