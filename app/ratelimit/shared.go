package ratelimit

import (
	"context"
	"crypto/tls"
	_ "embed" // The script is a file of its own.
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"
)

const (
	waitStandard  = 40 * time.Millisecond
	leaseStandard = 12 * time.Second

	jobsMax        = 4096
	lateInARowMax  = 3           // After this many late calls in a row, Redis counts as unavailable.
	redisAnswerMax = time.Second // A connection that answers later than this is closed, unless calls wait longer.
	bufferBytes    = 64 << 10    // Each connection has such a buffer for reading and one for writing.
	ringScale      = 9           // A connection can have two to this power commands in flight.
	connections    = 1           // The client opens two to this power connections.
	keyPrefix      = "umg:limit:{"
)

//go:embed script.lua
var script string

// Shared is where and how replicas share their limits.
type Shared struct {
	Address string        // Address is the URL of the server or of a node of a cluster, such as redis://:PASSWORD@HOST:PORT/0.
	Replica string        // No other replica has this name, and no earlier process of this replica had it.
	Wait    time.Duration // A call waits for Redis at most this long; zero means 40 ms.
	Lease   time.Duration // The places of a replica that died are free after this time; zero means 12 s.
	Log     *slog.Logger

	dial func(context.Context, string, string) (net.Conn, error) // A nil dial uses the network.
}

// shared is this replica's side of limits that several replicas share.
type shared struct {
	o   Shared
	now func() time.Time

	answerMax time.Duration // The client closes a connection that does not answer within answerMax.

	option rueidis.ClientOption
	lua    *luaScript
	jobs   chan *scriptCall
	fallen chan error
	up     atomic.Bool // Up means that Redis answers in time.
	late   atomic.Int64
	counts struct{ away, alone, late, lost atomic.Int64 }
	alone  offlineUse

	mu      sync.Mutex
	number  uint64
	running map[*lease]struct{}
}

// Open makes a Limiter that shares its limits with other replicas while its Run runs and Redis answers. It does not
// connect: a replica can start without Redis.
func Open(o Options, s Shared) (*Limiter, error) {
	option, err := rueidis.ParseURL(s.Address)
	if _, malformed := errors.AsType[*url.Error](err); malformed { // The error repeats the address and its password.
		err = errors.New("redis: the address is malformed")
	}
	if err != nil {
		return nil, fmt.Errorf("%w; it must be such as redis://HOST:6379", err)
	}
	if s.Wait == 0 {
		s.Wait = waitStandard
	}
	if s.Lease == 0 {
		s.Lease = leaseStandard
	}
	answerMax := max(redisAnswerMax, 2*s.Wait)
	option.Dialer = net.Dialer{Timeout: answerMax / 2, KeepAlive: answerMax}
	option.ConnWriteTimeout = answerMax
	option.DisableCache, option.DisableRetry, option.AlwaysPipelining = true, true, true
	option.ReadBufferEachConn, option.WriteBufferEachConn = bufferBytes, bufferBytes
	option.RingScaleEachConn, option.PipelineMultiplex = ringScale, connections
	if s.dial != nil {
		option.DialCtxFn = func(ctx context.Context, address string, _ *net.Dialer, _ *tls.Config) (net.Conn, error) {
			return s.dial(ctx, "tcp", address)
		}
	}
	l := New(o)
	l.shared = &shared{
		o: s, now: o.Now, answerMax: answerMax, option: option, lua: newLua(), jobs: make(chan *scriptCall, jobsMax), fallen: make(chan error, 1),
		running: map[*lease]struct{}{},
	}
	return l, nil
}

// lease is a call and the places it holds. Its state is guarded by shared.mu.
type lease struct {
	name   string
	keys   []string // Keys are the keys of the script.
	bounds []bounds // Bounds has the bounds of each gate in gates.
	gates  []int    // Gates are the indexes of the gates that the keys belong to.
	tokens int64
	alone  bool // Redis does not know the use of a call that was admitted while Redis was unavailable.

	state int
	used  int64
}

// These are the states of a lease.
const (
	isRunning = iota
	isOver    // The call has ended and used some tokens.
	isRefused // The call has never run.
)

// lease makes the lease of a call.
func (s *shared) lease(a *Request, b *[gatesCount]bounds) *lease {
	account := keyPrefix + a.AccountID + "}"
	le := &lease{
		tokens: a.Tokens, keys: make([]string, 0, 2*gatesCount), bounds: make([]bounds, 0, gatesCount), gates: make([]int, 0, gatesCount),
	}
	for i, name := range [gatesCount]string{account, account + "m:" + a.Model, account + "k:" + a.Key.ID} {
		if b[i] != (bounds{}) {
			le.keys = append(le.keys, name, name+":p")
			le.bounds, le.gates = append(le.bounds, b[i]), append(le.gates, i)
		}
	}
	return le
}

// enlist names a lease and has it renewed from now on.
func (s *shared) enlist(le *lease) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.number++
	le.name = s.o.Replica + ":" + strconv.FormatUint(s.number, 36)
	s.running[le] = struct{}{}
}

// retire ends a lease here.
func (s *shared) retire(le *lease, state int, used int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	le.state, le.used = state, used
	delete(s.running, le)
}

// stateOf is how a lease has ended, if it has.
func (s *shared) stateOf(le *lease) (state int, used int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return le.state, le.used
}

// take asks Redis for a place after the limits here, which are no looser than the shared ones as far as this replica's own
// calls go: so a flood is refused without Redis, and this replica knows its share when Redis goes away. Without an answer the
// call is counted here alone. Its lease is in doubt then, and is renewed or given back as if it had been granted.
func (s *shared) take(l *Limiter, a *Request, b *[gatesCount]bounds) (*Slot, refusal) {
	var le *lease
	if s.up.Load() {
		if slot, met := l.enter(a, b, check); met.what != nothing {
			return slot, met
		}
		le = s.lease(a, b)
		s.enlist(le)
		switch said, ok := s.ask(&scriptCall{mode: "take", lease: le, answer: make(chan scriptReply, 1)}, time.NewTimer(s.o.Wait)); {
		case ok && said.met.what != nothing:
			s.retire(le, isRefused, 0)
			slot := a.slot
			if slot == nil {
				slot = &Slot{limiter: l, released: true}
			}
			slot.tell(&said)
			return slot, said.met
		case ok:
			slot, _ := l.enter(a, b, count)
			slot.lease = le
			slot.tell(&said)
			return slot, refusal{}
		}
	}
	s.counts.alone.Add(1)
	slot, met := l.enter(a, b, check|count)
	switch {
	case met.what == nothing && le == nil:
		le = s.lease(a, b)
		le.alone = true
		s.alone.add(le, s.now())
		s.enlist(le)
	case met.what != nothing && le != nil:
		s.refund(le)
	}
	if met.what == nothing {
		slot.lease = le
	}
	return slot, met
}

// tell replaces what is left here by what is left for all replicas.
func (s *Slot) tell(said *scriptReply) {
	s.requests, s.left = Window{}, Window{}
	for i := range said.rooms {
		s.requests, s.left = tighter(s.requests, said.rooms[i].Requests), tighter(s.left, said.rooms[i].Tokens)
	}
}

// settle returns the places of a call and corrects its tokens. No caller waits for it; what Redis does not learn ends with the lease.
func (s *shared) settle(le *lease, used int64) {
	s.retire(le, isOver, used)
	if le.alone && !s.up.Load() {
		s.alone.correct(le, used, s.now())
	}
	s.later(&scriptCall{mode: "settle", lease: le, used: used})
}

// refund gives back all that a call was counted with.
func (s *shared) refund(le *lease) {
	s.retire(le, isRefused, 0)
	if le.alone && !s.up.Load() {
		s.alone.remove(le, s.now())
	}
	s.later(&scriptCall{mode: "refund", lease: le})
}

// later queues a job without waiting for its answer.
func (s *shared) later(j *scriptCall) {
	if s.up.Load() {
		select {
		case s.jobs <- j:
			return
		default:
		}
	}
	s.counts.lost.Add(1)
}

// ask has a job done and waits for it until the timer ends, which it stops. It reports whether there is an answer.
func (s *shared) ask(j *scriptCall, timer *time.Timer) (scriptReply, bool) {
	defer timer.Stop()
	select {
	case s.jobs <- j:
	default:
		return scriptReply{}, false
	}
	select {
	case a := <-j.answer:
		s.late.Store(0)
		return a, a.err == nil
	case <-timer.C:
	}
	if !j.leave() {
		a := <-j.answer // The answer arrived at the last moment.
		return a, a.err == nil
	}
	s.counts.late.Add(1)
	if s.late.Add(1) >= lateInARowMax {
		s.fall(fmt.Errorf("no answer within %s", s.o.Wait))
	}
	return scriptReply{}, false
}

// fall goes on without Redis. The worker goes back to it.
func (s *shared) fall(err error) {
	if s.up.CompareAndSwap(true, false) {
		s.counts.away.Add(1)
		select {
		case s.fallen <- err:
		default:
		}
	}
}
