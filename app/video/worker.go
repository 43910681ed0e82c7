package video

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"umg/app/postgres"
)

// The channels of the store: jobs that clients see change, by id, and that something may be due.
const (
	channel     = "videos"
	workChannel = "video_work"
)

// Limits of the worker.
const (
	looksMax        = 32 // steps at once that ask a provider something
	looksByProvider = 16 // polls of one provider at once, so that a provider that hangs does not stop the others
	copiesMax       = 8  // copies at once
	copiesByOne     = 6
	// picturesAtOnce is how many jobs have their pictures made after their end at once. Not more programs may run.
	picturesAtOnce = 2
	claimMax       = time.Minute // After this time any worker may claim the job again.
	renewEvery     = 20 * time.Second
	gatherMax      = 50 * time.Millisecond // results wait so long to be written together
	// idleMax is the time between two looks for what is due, while something is due or runs.
	idleMax = time.Second
	// sleepMax is the time between two looks otherwise, since new work is announced.
	sleepMax        = 5 * time.Second
	claimsMax       = 2000         // in one pass
	queueMax        = 4 * looksMax // claimed jobs that wait for a crowded provider
	failurePause    = time.Second  // after the store did not answer
	flushMax        = 2500 * time.Millisecond
	gaugeEvery      = 15 * time.Second
	failureCodesMax = 64 // counted apart; more are counted together
)

// working is the state of the worker and of those who follow jobs.
type working struct {
	following subscriptions
	wakes     [3]chan struct{} // by lane; nil without a worker
	wakesMu   sync.Mutex

	running, steps, lag, completed          atomic.Int64
	faults, copyFaults, pictureFaults, late atomic.Int64
	failedMu                                sync.Mutex
	failed                                  map[string]int64
}

// wake makes the worker look at once for what is due.
func (w *working) wake() {
	w.wakesMu.Lock()
	defer w.wakesMu.Unlock()
	for _, c := range w.wakes {
		select {
		case c <- struct{}{}:
		default: // the poller is awake, or there is none
		}
	}
}

// kind is a kind of work on jobs.
type kind string

// The kinds of work.
const (
	// looks are everything but the two others.
	looks kind = "looks"
	// copies store content that was rendered.
	copies kind = "copies"
	// pictures are made of the films of completed jobs whose pictures were not made in time.
	pictures kind = "pictures"
)

// lane is a share of the work with workers of its own: copies take long and must not keep looks waiting, and pictures keep neither
// waiting.
type lane struct {
	kind        kind
	slots       int
	providerMax int
}

func lanes() [3]lane {
	return [3]lane{
		{kind: looks, slots: looksMax, providerMax: looksByProvider},
		{kind: copies, slots: copiesMax, providerMax: copiesByOne},
		{kind: pictures, slots: picturesAtOnce, providerMax: picturesAtOnce},
	}
}

// Run works on jobs and sends changes to their followers, until ctx ends. Then running steps get a few seconds; a step
// that is cut after that is done again by the next worker that claims the job. It returns ctx's error.
func (s *Service) Run(ctx context.Context, dsn string) error {
	s.sweep(os.TempDir())
	steps, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	var working sync.WaitGroup
	for i, l := range lanes() {
		wakes := make(chan struct{}, 1)
		s.work.wakesMu.Lock()
		s.work.wakes[i] = wakes
		s.work.wakesMu.Unlock()
		// goroutine: Run owns it and waits for it; it ends when ctx has ended and its running steps have ended.
		working.Go(func() { s.newDispatcher(steps, l, wakes).run(ctx) })
	}
	// goroutine: Run owns it and waits for it; it ends when ctx ends.
	working.Go(func() { s.gauge(ctx) })
	err := postgres.Follow(ctx, dsn, []string{channel, workChannel}, postgres.Handler{
		Notify: func(on, id string) {
			if on == workChannel {
				s.work.wake()
				return
			}
			s.work.following.notify(id)
		},
		Lost: func(err error) { s.o.Log.Warn("video worker: listening for changes failed, retrying", "error", err) },
	})
	stop := time.AfterFunc(s.waits().StopMax, cut)
	defer stop.Stop()
	working.Wait()
	return err
}

// Work makes one pass over what is due, including what becomes due by it, and says how many steps it took. A step that
// failed is an error of the pass; its job is tried again later.
func (s *Service) Work(ctx context.Context) (done int, err error) {
	due := s.now()
	for _, l := range lanes() {
		p := s.newDispatcher(ctx, l, nil)
		err = errors.Join(err, p.pass(ctx, due))
		done += p.done
	}
	return done, err
}

// dispatcher claims the due jobs of a lane, starts a step for each and writes the results down in batches.
type dispatcher struct {
	lane

	s        *Service
	steps    context.Context //nolint:containedctx // the context of the steps, which outlive the claiming for a while
	wakes    <-chan struct{}
	results  chan result
	running  int
	busy     map[string]int // steps that run, by provider
	queue    []*jobRow      // claimed, while their provider has as many calls as one may have
	finished []postponed    // to be written down
	full     bool           // the last claim got all it asked for
	// pause is the time until the next look for what is due when nothing is heard.
	pause time.Duration
	done  int
	err   error
}

type result struct {
	row  *jobRow
	next *postponed
	err  error
}

func (s *Service) newDispatcher(steps context.Context, l lane, wakes <-chan struct{}) *dispatcher {
	return &dispatcher{lane: l, s: s, steps: steps, wakes: wakes, results: make(chan result, l.slots), busy: map[string]int{}, pause: idleMax}
}

// run works until ctx ends, and then until the running steps have ended.
func (p *dispatcher) run(ctx context.Context) {
	for ctx.Err() == nil {
		err := errors.Join(p.refill(ctx, p.s.now()), p.err)
		if p.err = nil; err != nil && isStore(err) && ctx.Err() == nil { // other errors were logged with their job
			p.s.o.Log.Warn("video worker: database unavailable, retrying", "error", err)
			select {
			case <-ctx.Done():
			case <-time.After(failurePause):
			}
		}
		p.await(ctx)
	}
	p.drain()
}

// pass works until nothing is left that was due at a time.
func (p *dispatcher) pass(ctx context.Context, due time.Time) error {
	for range claimsMax {
		if err := p.refill(ctx, due); err != nil {
			p.drain()
			return errors.Join(p.err, err)
		}
		if p.running == 0 {
			break
		}
		p.collect(<-p.results)
		for p.running > 0 && (!p.full || p.running > p.slots/4) {
			p.collect(<-p.results)
		}
	}
	p.drain()
	return errors.Join(p.err, ctx.Err())
}

// await waits until it is worthwhile to claim more: half of the slots are free, or results should not wait any longer,
// or something may be due.
func (p *dispatcher) await(ctx context.Context) {
	limit := p.pause
	if p.full {
		limit = gatherMax
	}
	tick := time.NewTimer(limit)
	defer tick.Stop()
	wakes := p.wakes
	for {
		select {
		case <-ctx.Done():
			return
		case r := <-p.results:
			p.collect(r)
			if p.full && p.running <= p.slots/2 {
				return
			}
			tick.Reset(gatherMax)
		case <-wakes:
			wakes = nil // more of them say nothing more; those who come in a crowd are served together
			tick.Reset(gatherMax)
		case <-tick.C:
			return
		}
	}
}

// drain gives queued jobs back, waits for the running steps and writes their results.
func (p *dispatcher) drain() {
	for _, r := range p.queue {
		p.finished = append(p.finished, postponed{r, *r.DueAt, r.Tries})
	}
	p.queue = nil
	for p.running > 0 {
		p.collect(<-p.results)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(p.steps), flushMax)
	defer cancel()
	p.err = errors.Join(p.err, p.flush(ctx))
}

func (p *dispatcher) collect(r result) {
	p.running--
	p.s.work.steps.Add(-1)
	if p.busy[r.row.Provider]--; p.busy[r.row.Provider] == 0 {
		delete(p.busy, r.row.Provider)
	}
	p.done++
	if r.next != nil {
		p.finished = append(p.finished, *r.next)
	}
	if r.err != nil && p.steps.Err() == nil {
		p.err = errors.Join(p.err, fmt.Errorf("video %s: %w", r.row.ID, r.err))
	}
	p.startQueued()
}

// flush writes down when to look again at the jobs that have nothing new. What the store cannot take now is written with
// the next results, while the claims last. Otherwise no worker would look at these jobs until their claims end.
func (p *dispatcher) flush(ctx context.Context) error {
	now := p.s.now()
	p.finished = slices.DeleteFunc(p.finished, func(f postponed) bool { return !f.row.ClaimedUntil.After(now) })
	if len(p.finished) == 0 {
		return nil
	}
	err := postpone(ctx, p.s.db, now, p.finished)
	if !isStore(err) {
		p.finished = p.finished[:0]
	}
	return err
}

// refill writes results down and claims as many jobs as there are free slots.
func (p *dispatcher) refill(ctx context.Context, due time.Time) error {
	p.full = false
	if err := p.flush(ctx); err != nil {
		return err
	}
	free := p.slots - p.running
	if ctx.Err() != nil || free == 0 || len(p.queue) > queueMax {
		p.full = true
		return ctx.Err()
	}
	now := p.s.now()
	p.pause = idleMax
	if p.running == 0 && len(p.queue) == 0 {
		next, err := nextDue(ctx, p.s.db)
		if err != nil {
			return err
		}
		if next == nil || next.After(due) {
			p.measure(now, nil)
			p.pause = sleepMax
			if next != nil {
				p.pause = min(max(next.Sub(now), gatherMax), sleepMax)
			}
			return nil
		}
	}
	rows, err := claimDue(ctx, p.s.db, claim{
		due: due, now: now, until: now.Add(claimMax), kind: p.kind, busy: p.saturatedProviders(), away: p.away(), limit: free,
	})
	if err != nil {
		return err
	}
	p.full = len(rows) == free
	p.measure(now, rows)
	for i := range rows {
		p.queue = append(p.queue, &rows[i])
	}
	p.startQueued()
	return nil
}

// saturatedProviders are the providers that have as many calls as one may have, or jobs that wait for one.
func (p *dispatcher) saturatedProviders() []string {
	list := []string{}
	for id, n := range p.busy {
		if n >= p.providerMax {
			list = append(list, id)
		}
	}
	for _, r := range p.queue {
		list = append(list, r.Provider)
	}
	return list
}

// away are the providers that cannot be called from here. Replicas that can call them have their jobs.
func (p *dispatcher) away() []string {
	return slices.AppendSeq([]string{}, maps.Keys(p.s.o.Snapshot().Unusable()))
}

// measure keeps how late the claimed jobs are.
func (p *dispatcher) measure(now time.Time, rows []jobRow) {
	if p.kind != looks {
		return
	}
	lag := time.Duration(0)
	for _, r := range rows {
		lag = max(lag, now.Sub(*r.DueAt))
	}
	p.s.work.lag.Store(int64(lag))
}

// startQueued starts a step for each queued job that has a free slot. A job that has waited so long that its claim may end during its
// step is given back.
func (p *dispatcher) startQueued() {
	late := p.s.now().Add(claimMax / 2)
	waiting := p.queue[:0]
	for _, r := range p.queue {
		switch {
		case p.steps.Err() != nil || r.ClaimedUntil.Before(late):
			p.finished = append(p.finished, postponed{r, *r.DueAt, r.Tries})
		case p.running < p.slots && p.busy[r.Provider] < p.providerMax:
			p.busy[r.Provider]++
			p.running++
			p.s.work.steps.Add(1)
			// goroutine: the dispatcher owns it and reads its result; it ends with its step.
			go func() { p.results <- p.s.safely(p.steps, r) }()
		default:
			waiting = append(waiting, r)
		}
	}
	clear(p.queue[len(waiting):])
	p.queue = waiting
}

// safely runs a step. A step that fails or panics is retried later, because one job must not stop the others.
func (s *Service) safely(ctx context.Context, r *jobRow) (done result) {
	defer func() {
		if broken := recover(); broken != nil {
			s.o.Log.Error("panic in video job step", "video_id", r.ID, "state", r.State, "panic", broken, "stack", string(debug.Stack()))
			done = result{r, &postponed{r, s.backOff(r.Tries, nil), r.Tries + 1}, nil}
		}
	}()
	next, err := s.step(ctx, r)
	if err != nil {
		if ctx.Err() == nil && !isStore(err) {
			s.o.Log.Error("video job step failed", "video_id", r.ID, "state", r.State, "error", err)
		}
		next = &postponed{r, s.afterOurs(err), r.Tries}
	}
	return result{r, next, err}
}
