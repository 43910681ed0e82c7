// Package admission decides whether this replica can take one more call: by the number of calls that run, by the memory that they hold,
// and by the scheduling delay of its goroutines. New makes a Controller; each call takes a Place with Enter, and Admit decides again
// once the caller is known. It reads no database and no body, so a refusal costs little.
package admission

import (
	"hash/maphash"
	"math/bits"
	"sync"
	"sync/atomic"
	"time"

	"umg/app"
)

// Class is the priority of a call. Calls of accounts that have only trial credit are refused first. Cheap requests that people need to
// see the state of the service are refused last.
type Class uint8

// The classes, first refused first.
const (
	Trial Class = iota
	Paid
	Critical
	classes
)

// Defaults of the settings, and what the classes may have of a replica.
const (
	lateMaxDefault = 25 * time.Millisecond
	busyPerCore    = 32 // calls; with fewer, lateness comes from elsewhere and refusals would not end it
	perMille       = 1000
	waitMin        = time.Second // what a refused client is asked to wait, and up to as long again, so that they do not return together
	accountShare   = 2           // the divisor: an account has at most one part in accountShare of the places
	shards         = 16
)

// What a class may fill, in thousandths of the limit: the first to be refused leave room for the others.
var (
	placesMille = [classes]int64{Trial: 800, Paid: 1000, Critical: 1125}
	memoryMille = [classes]int64{Trial: 920, Paid: 950, Critical: 980}
)

// Options of a Controller. Zero values take defaults that suit the machine.
type Options struct {
	InFlightMax int64         // calls at once; zero: as many as memory and file descriptors have room for
	MemoryMax   int64         // MemoryMax is how many bytes this process may hold; zero turns rejections for memory off.
	LateMax     time.Duration // how late goroutines of a healthy process may get to run; zero: 25 ms
	Busy        int64         // Busy is the number of calls in flight below which delay rejects no calls; zero means 32 for each core.
	Cores       int           // zero: one
	Headroom    int64         // Headroom is that of the function of this name; zero leaves the pace of the garbage collector alone.

	BodyBytesMax    int64 // limit for the bodies of all calls together; zero means a quarter of MemoryMax, or 512 MiB
	AccountBytesMax int64 // limit for the bodies of one account; zero means 64 MiB, or half of BodyBytesMax where that is less
}

// Controller admits calls. It is safe for concurrent use.
type Controller struct {
	o        Options
	inFlight atomic.Int64
	entered  atomic.Uint64          // calls that are not vital and were let in so far
	held     atomic.Int64           // Held is in bytes, at the last measurement.
	late     atomic.Int64           // Late is in nanoseconds, at the last measurement.
	let      [classes]atomic.Int64  // thousandths of each class that are admitted while the process is late
	turns    [classes]atomic.Uint64 // thousandths of calls let in so far, to spread refusals evenly
	waits    atomic.Uint64
	refused  [reasons][classes]atomic.Int64
	bodies   atomic.Int64 // bytes that bodies hold
	latency  latencyController
	asleep   atomic.Bool   // Run measures rarely, until a call enters.
	entering chan struct{} // A call that enters wakes Run.
	seed     maphash.Seed
	accounts [shards]shard
}

// shard is a part of the accounts that have calls in flight.
type shard struct {
	mu    sync.Mutex
	calls map[string]int64
	bytes map[string]int64 // bytes that the bodies of each account hold; accounts without bodies are absent
}

// reason is why a call was refused.
type reason uint8

const (
	placesFull reason = iota
	memory
	late
	accountFull
	bodies
	accountBodies
	reasons
)

// noReason means that a call is not refused.
const noReason = reasons

// New returns a Controller that refuses no calls yet.
func New(o Options) *Controller {
	if o.Cores <= 0 {
		o.Cores = 1
	}
	if o.InFlightMax <= 0 {
		o.InFlightMax = inFlightDefault(o.MemoryMax, descriptors())
	}
	if o.LateMax <= 0 {
		o.LateMax = lateMaxDefault
	}
	if o.Busy <= 0 {
		o.Busy = busyPerCore * int64(o.Cores)
	}
	if o.BodyBytesMax <= 0 {
		o.BodyBytesMax = bodyBytesStandard
		if o.MemoryMax > 0 {
			o.BodyBytesMax = o.MemoryMax / bodyShare
		}
	}
	if o.AccountBytesMax <= 0 {
		o.AccountBytesMax = min(accountBytesDefault, max(1, o.BodyBytesMax/accountShare))
	}
	g := &Controller{o: o, entering: make(chan struct{}, 1), seed: maphash.MakeSeed()}
	for i := range g.let {
		g.let[i].Store(perMille)
	}
	for i := range g.accounts {
		g.accounts[i].calls, g.accounts[i].bytes = map[string]int64{}, map[string]int64{}
	}
	return g
}

// Place is the place of one call in the limit of calls. Its zero value is no place.
type Place struct {
	gate    *Controller
	account string
	bytes   int64 // bytes that its body holds
	claimed int64 // bytes that its body counts with in its account
}

// Enter takes a place before the caller is known. It refuses a call that is not critical only when no class below Critical would be
// admitted.
func (g *Controller) Enter(critical bool) (Place, error) {
	class := Paid
	if critical {
		class = Critical
	}
	n := g.inFlight.Add(1)
	if g.asleep.Load() {
		g.wake()
	}
	if err := g.fits(class, n); err != nil {
		g.inFlight.Add(-1)
		return Place{}, err
	}
	if !critical {
		g.entered.Add(1)
	} else if g.latency.late.Load() && !g.turn(Critical) {
		g.inFlight.Add(-1)
		return Place{}, g.refuse(late, Critical)
	}
	return Place{gate: g}, nil
}

// Admit decides again when the caller is known. For critical calls an account has places beyond those of its other calls. It may be
// called once for a place.
func (p *Place) Admit(account string, paid, critical bool) error {
	g := p.gate
	if critical {
		if !g.joinAccount(account, Critical) {
			return g.refuse(accountFull, Critical)
		}
		p.account = account
		return nil
	}
	class := Trial
	if paid {
		class = Paid
	}
	if class == Trial {
		if err := g.fits(Trial, g.inFlight.Load()); err != nil {
			return err
		}
	}
	if g.latency.late.Load() && !g.turn(class) {
		return g.refuse(late, class)
	}
	if !g.joinAccount(account, class) {
		return g.refuse(accountFull, class)
	}
	p.account = account
	return nil
}

// Leave gives the place back.
func (p *Place) Leave() {
	if p.gate == nil {
		return
	}
	p.Shrink()
	if p.account != "" {
		p.gate.leaveAccount(p.account)
	}
	p.gate.inFlight.Add(-1)
	*p = Place{}
}

// fits refuses a class for which no place or no memory is left.
func (g *Controller) fits(c Class, n int64) error {
	if why := g.misses(c, n); why != noReason {
		return g.refuse(why, c)
	}
	return nil
}

// misses returns why a class would be refused if n calls ran, or noReason.
func (g *Controller) misses(c Class, n int64) reason {
	if n > g.places(c) {
		return placesFull
	}
	if limit := g.o.MemoryMax; limit > 0 && g.held.Load() > share(limit, memoryMille[c]) {
		return memory
	}
	return noReason
}

// memoryRefuses reports whether memory refuses calls of any class.
func (g *Controller) memoryRefuses() bool {
	return g.o.MemoryMax > 0 && g.held.Load() > share(g.o.MemoryMax, memoryMille[Trial])
}

// places is how many calls may be in flight when one of the class is admitted: at least one.
func (g *Controller) places(c Class) int64 { return max(1, share(g.o.InFlightMax, placesMille[c])) }

func share(of, mille int64) int64 { return of/perMille*mille + of%perMille*mille/perMille }

// turn admits the part of the class that may pass, evenly spread.
func (g *Controller) turn(c Class) bool {
	step := uint64(g.let[c].Load())
	now := g.turns[c].Add(step)
	return now/perMille != (now-step)/perMille
}

// joinAccount counts a call of an account. It refuses the call when the account has its share of all places, so that one account cannot
// take the places of others.
func (g *Controller) joinAccount(account string, c Class) bool {
	placesMax := max(1, g.o.InFlightMax/accountShare)
	if c == Critical {
		placesMax += max(1, (g.places(Critical)-g.o.InFlightMax)/accountShare)
	}
	s := g.shard(account)
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.calls[account]
	if n >= placesMax {
		return false
	}
	s.calls[account] = n + 1
	return true
}

func (g *Controller) leaveAccount(account string) {
	s := g.shard(account)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.calls[account]--; s.calls[account] <= 0 {
		delete(s.calls, account)
	}
}

func (g *Controller) shard(account string) *shard {
	return &g.accounts[maphash.String(g.seed, account)%shards]
}

// refuse returns the error of a refused call. Clients get different waits, so that they do not return together.
func (g *Controller) refuse(why reason, c Class) error {
	g.refused[why][c].Add(1)
	return &app.Error{
		Kind: app.Unavailable, Code: "overloaded", RetryAfter: g.wait(),
		Message: "The service is at its limit of requests. Nothing was charged; try again in a second or two.",
	}
}

// wait spreads the waits of clients over a second. Multiples of the golden ratio are evenly spread without random numbers.
func (g *Controller) wait() time.Duration {
	const golden = 0x9E3779B97F4A7C15
	part, _ := bits.Mul64(g.waits.Add(1)*golden, uint64(waitMin))
	return waitMin + time.Duration(part)
}
