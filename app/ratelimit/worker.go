package ratelimit

import (
	"context"
	"sync"
	"time"

	"github.com/redis/rueidis"
)

const (
	carriersCount  = 4   // This many goroutines carry jobs to Redis.
	batchJobsMax   = 64  // One request to Redis carries at most this many jobs.
	renewLeasesMax = 200 // One step renews at most this many leases.
	renewsPerLease = 3   // A lease survives the loss of two renewals.

	rejoinPauseMin   = 100 * time.Millisecond
	rejoinPauseMax   = 2 * time.Second
	rejoinPauseReset = 10 * time.Second // After answers for this long, the next pause is short again.
	farewellMax      = time.Second      // Run takes at most this long to send the last jobs.
)

// Run shares the limits until ctx ends: it carries calls to Redis and renews their leases, goes on alone while Redis is
// away, and goes back when it answers. A Limiter that counts in this process has nothing to do.
func (l *Limiter) Run(ctx context.Context) error {
	if l.shared == nil {
		<-ctx.Done()
		return nil
	}
	return l.shared.run(ctx)
}

// run is the life of the replica's side. The carriers end when their queue is empty, or soon after.
func (s *shared) run(ctx context.Context) error {
	c := &connection{}
	var crew sync.WaitGroup
	for range carriersCount {
		// goroutine: run owns it and waits for it; it ends when ctx has ended and the queue is empty.
		crew.Go(func() { s.carry(ctx, c) })
	}
	s.watch(ctx, c)
	crew.Wait()
	s.up.Store(false)
	c.close()
	return nil
}

// connection is the client, once there is one.
type connection struct {
	mu     sync.Mutex
	client rueidis.Client
}

func (c *connection) get() rueidis.Client {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.client
}

func (c *connection) set(client rueidis.Client) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.client = client
}

func (c *connection) close() {
	if client := c.get(); client != nil {
		client.Close()
	}
}

// watch goes to Redis and back to it.
func (s *shared) watch(ctx context.Context, c *connection) {
	pause, told := rejoinPauseMin, false
	for ctx.Err() == nil {
		err := s.join(ctx, c)
		if err == nil {
			s.o.Log.Info("limits: connected to redis", "redis", s.option.InitAddress)
			told = false
			begun := s.now()
			if err = s.keep(ctx, c); ctx.Err() != nil {
				return
			}
			if s.now().Sub(begun) >= rejoinPauseReset {
				pause = rejoinPauseMin
			}
		}
		if !told && ctx.Err() == nil {
			s.o.Log.Warn("limits: redis unavailable, counting locally", "error", err)
			told = true
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
		pause = min(2*pause, rejoinPauseMax)
	}
}

// join connects, and writes all running calls and all offline use to Redis, so that no call gets a place that is taken
// or tokens that are used up. It fails when the server does not answer in time.
func (s *shared) join(ctx context.Context, c *connection) error {
	client := c.get()
	if client == nil {
		var err error
		if client, err = rueidis.NewClient(s.option); err != nil {
			return err
		}
		c.set(client)
	}
	if err := s.renew(ctx, client); err != nil {
		return err
	}
	if err := s.carryOver(ctx, client); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, s.o.Wait)
	defer cancel()
	if err := s.mark(ctx, client); err != nil {
		return err
	}
	s.late.Store(0)
	s.up.Store(true)
	return nil
}

// carryOver writes the offline use to Redis. When it fails half-way it is repeated later: a bucket that is empty by then gets no emptier.
func (s *shared) carryOver(ctx context.Context, client rueidis.Client) error {
	used := s.alone.pending(s.now(), s.o.Lease)
	steps := make([]scriptArgs, len(used))
	for i := range used {
		steps[i] = used[i].step
	}
	if err := s.all(ctx, client, steps); err != nil {
		return err
	}
	s.alone.carried(used)
	return nil
}

// mark writes what only proves that this replica can write.
func (s *shared) mark(ctx context.Context, client rueidis.Client) error {
	return s.all(ctx, client, []scriptArgs{s.renewal(keyPrefix+s.o.Replica+"}alive", []string{s.o.Replica})})
}

// keep renews the leases until Redis does not answer any more.
func (s *shared) keep(ctx context.Context, c *connection) error {
	tick := time.NewTicker(s.o.Lease / renewsPerLease)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-s.fallen:
			return err
		case <-tick.C:
			if err := s.renew(ctx, c.get()); err != nil {
				s.fall(err)
			}
		}
	}
}

// renew extends all leases. This takes the place of a call that has ended since once more, so renew releases that place again.
func (s *shared) renew(ctx context.Context, client rueidis.Client) error {
	s.mu.Lock()
	leases := make([]*lease, 0, len(s.running))
	for le := range s.running {
		leases = append(leases, le)
	}
	s.mu.Unlock()
	held := map[string][]string{}
	for _, le := range leases {
		for i, b := range le.bounds {
			if b.places > 0 {
				key := le.keys[2*i+1]
				held[key] = append(held[key], le.name)
			}
		}
	}
	var steps []scriptArgs
	for key, names := range held {
		for len(names) > 0 {
			n := min(len(names), renewLeasesMax)
			steps, names = append(steps, s.renewal(key, names[:n])), names[n:]
		}
	}
	if err := s.all(ctx, client, steps); err != nil {
		return err
	}
	var ended []scriptArgs
	for _, le := range leases {
		if state, _ := s.stateOf(le); state != isRunning {
			ended = append(ended, scriptArgs{le.keys, []string{"drop", millis(s.o.Lease), le.name}})
		}
	}
	return s.all(ctx, client, ended)
}

// renewal is the step that holds places for some time more.
func (s *shared) renewal(key string, leases []string) scriptArgs {
	j := scriptArgs{keys: []string{key}}
	j.args = append([]string{"renew", millis(s.o.Lease)}, leases...)
	return j
}

// all runs steps, every one of which must succeed.
func (s *shared) all(ctx context.Context, client rueidis.Client, steps []scriptArgs) error {
	for len(steps) > 0 {
		n := min(len(steps), batchJobsMax)
		if err := s.some(ctx, client, steps[:n]); err != nil {
			return err
		}
		steps = steps[n:]
	}
	return nil
}

func (s *shared) some(ctx context.Context, client rueidis.Client, steps []scriptArgs) error {
	ctx, cancel := context.WithTimeout(ctx, s.answerMax)
	defer cancel()
	for _, r := range s.lua.run(ctx, client, steps) {
		if err := r.Error(); err != nil {
			return err
		}
	}
	return nil
}

// carry takes jobs to Redis, as many at once as there are.
func (s *shared) carry(ctx context.Context, c *connection) {
	batch := make([]*scriptCall, 0, batchJobsMax)
	for {
		select {
		case <-ctx.Done():
			s.sayFarewell(ctx, c, batch)
			return
		case j := <-s.jobs:
			s.send(ctx, c.get(), s.gather(append(batch[:0], j)))
		}
	}
}

// gather adds what waits to a batch.
func (s *shared) gather(batch []*scriptCall) []*scriptCall {
	for len(batch) < batchJobsMax {
		select {
		case j := <-s.jobs:
			batch = append(batch, j)
		default:
			return batch
		}
	}
	return batch
}

// sayFarewell carries what was settled last, so that the next replica finds free places.
func (s *shared) sayFarewell(ctx context.Context, c *connection, batch []*scriptCall) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewellMax)
	defer cancel()
	for s.up.Load() && ctx.Err() == nil {
		if batch = s.gather(batch[:0]); len(batch) == 0 {
			return
		}
		s.send(ctx, c.get(), batch)
	}
}

// send runs a batch. It skips jobs that were not sent yet and that no caller waits for.
func (s *shared) send(ctx context.Context, client rueidis.Client, batch []*scriptCall) {
	steps, sent := make([]scriptArgs, 0, len(batch)), batch[:0]
	for _, j := range batch {
		if j.begin() {
			steps, sent = append(steps, s.step(j)), append(sent, j)
		}
	}
	if len(sent) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, s.answerMax)
	defer cancel()
	for i, r := range s.lua.run(ctx, client, steps) {
		s.finish(sent[i], readAnswer(sent[i].lease, r))
	}
}

// finish hands an answer over. A call that was counted after its caller had gone on without it is settled when it has
// ended by then, and otherwise when it ends.
func (s *shared) finish(j *scriptCall, a scriptReply) {
	if a.err != nil {
		s.fall(a.err)
	}
	wanted := j.end()
	if j.answer == nil {
		return
	}
	if wanted {
		j.answer <- a
		return
	}
	if j.mode != "take" || a.err != nil || a.met.what != nothing {
		return
	}
	switch state, used := s.stateOf(j.lease); state {
	case isOver:
		s.later(&scriptCall{mode: "settle", lease: j.lease, used: used})
	case isRefused:
		s.later(&scriptCall{mode: "refund", lease: j.lease})
	}
}
