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

	"github.com/lib/pq"

	"path/filepath"

	"umg/app"
	"umg/app/postgres"
)

// These are the channels of the store: one has the ids of jobs that clients see change, the other announces work that is due.
const (
	channel     = "videos"
	workChannel = "video_work"
)

// These are the limits of the worker.
const (
	looksMax        = 32 // At most this many looks run at once.
	looksByProvider = 16 // A provider that does not answer can occupy only this many looks.
	copiesMax       = 8  // At most this many copies run at once.
	copiesByOne     = 6
	// picturesAtOnce is how many jobs have their pictures made after their end at once. Not more programs may run.
	picturesAtOnce = 2
	claimMax       = time.Minute // After this time any worker may claim the job again.
	renewEvery     = 20 * time.Second
	gatherMax      = 50 * time.Millisecond // Results wait this long for others, and are then written together.
	// idleMax is the time between two looks for what is due, while something is due or runs.
	idleMax = time.Second
	// sleepMax is the time between two looks otherwise, since new work is announced.
	sleepMax        = 20 * time.Second
	claimsMax       = 2000         // One pass makes at most this many claims.
	queueMax        = 4 * looksMax // No job is claimed while more than this many wait for a crowded provider.
	failurePause    = time.Second  // The worker waits this long after the database did not answer.
	flushMax        = 2500 * time.Millisecond
	gaugeEvery      = 20 * time.Second
	failureCodesMax = 64 // Jobs that failed with further codes are counted together.
)

// working is the state of the worker and of those who follow jobs.
type working struct {
	following subscriptions
	wakes     [3]chan struct{} // Each lane has a channel, which is nil without a worker.
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
		app.Wake(c)
	}
}

// kind is a kind of work on jobs.
type kind string

// These are the kinds of work.
const (
	// looks are everything but the two others.
	looks kind = "looks"
	// copies store content that was rendered.
	copies kind = "copies"
	// pictures are made of the films of completed jobs whose pictures were not made in time.
	pictures kind = "pictures"
)

// lane is a share of the work with workers of its own: copies take long and must not keep looks waiting, and pictures keep neither waiting.
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
func (s *Service) Run(ctx context.Context, listener *postgres.Listener) error {
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
	for n, lost := range listener.Listen(ctx, channel, workChannel) {
		switch {
		case lost != nil:
			s.o.Log.Warn("video worker: listening for changes failed, retrying", "error", lost)
		case n.Channel == workChannel:
			s.work.wake()
		default:
			s.work.following.notify(n.Payload)
		}
	}
	stop := time.AfterFunc(s.waits().StopMax, cut)
	defer stop.Stop()
	working.Wait()
	return ctx.Err()
}

// sweep removes what copies that were killed have left in the folder of temporary files.
func (s *Service) sweep(dir string) {
	left, _ := filepath.Glob(filepath.Join(dir, spoolPattern)) // The pattern is well formed, so that Glob succeeds.
	for _, name := range left {
		if info, err := os.Stat(name); err != nil || time.Since(info.ModTime()) < spoolAgeMax+s.waits().CopyMax {
			continue
		}
		if err := os.Remove(name); err != nil {
			s.o.Log.Warn("removing spool file failed", "file", name, "error", err)
		}
	}
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
	busy     map[string]int // This counts the running steps by provider.
	queue    []*jobRow      // These claimed jobs wait because their provider has the maximum of calls.
	finished []postponed    // These results are not yet written.
	full     bool           // The last claim filled every free slot.
	// pause is the time until the next look for what is due when nothing is heard.
	pause time.Duration
	// ticks ends a pause of sleepMax, at the moments at which other workers look, too. It is nil in a single pass.
	ticks <-chan time.Time
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
	rhythm := time.NewTicker(sleepMax)
	defer rhythm.Stop()
	p.ticks = rhythm.C
	for ctx.Err() == nil {
		err := errors.Join(p.refill(ctx, p.s.now()), p.err)
		if p.err = nil; err != nil && isStore(err) && ctx.Err() == nil { // Other errors were logged with their job.
			p.s.o.Log.Warn("video worker: database unavailable, retrying", "error", err)
			_ = app.Sleep(ctx, failurePause)
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
	wakes, ticks := p.wakes, p.ticks
	if limit < sleepMax {
		ticks = nil
	}
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
			wakes = nil // Further wake-ups add nothing, and a burst of them is served together.
			tick.Reset(gatherMax)
		case <-tick.C:
			return
		case <-ticks:
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

// postponed is a claimed job that has nothing new, and when to look at it again.
type postponed struct {
	row   *jobRow
	due   time.Time
	tries int
}

// postpone returns claimed jobs, all in one statement. A job that was woken since it was claimed stays due as it was
// woken. A job that another worker has claimed since is not changed. claimed_until becomes the time of the return.
func postpone(ctx context.Context, q postgres.Queryer, now time.Time, list []postponed) error {
	n := len(list)
	ids, tries := make([]string, n), make([]int64, n)
	was, claimed, due := make([]string, n), make([]string, n), make([]string, n)
	for i, p := range list {
		ids[i], tries[i] = p.row.ID, int64(p.tries)
		was[i], claimed[i], due[i] = stamp(*p.row.DueAt), stamp(*p.row.ClaimedUntil), stamp(p.due)
	}
	_, err := q.ExecContext(ctx, `
		update video_jobs j set tries = p.tries, claimed_until = $6,
			due_at = case when j.due_at = p.was then p.due else least(j.due_at, p.due) end
		from unnest($1::text[], $2::timestamptz[], $3::timestamptz[], $4::timestamptz[], $5::integer[]) p (id, was, claimed, due, tries)
		where j.id = p.id and j.claimed_until = p.claimed`,
		pq.Array(ids), pq.Array(was), pq.Array(claimed), pq.Array(due), pq.Array(tries), now)
	return postgres.StoreError("video: postpone", err)
}

// stamp is a moment as the store keeps it.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05.999999Z07:00") }

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
		var next *time.Time // This reads one entry of an index: planning a claim costs the database ten times as much.
		if err := p.s.repeated.GetContext(ctx, &next, `select min(due_at) from video_jobs`); err != nil {
			return postgres.StoreError("video: look for what is due", err)
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

// claim says what a worker wants to work on.
type claim struct {
	// due is the time until which jobs must be due.
	due time.Time
	now time.Time
	// until is when the claim ends without a renewal.
	until time.Time
	kind  kind
	// busy are providers that get no more calls for now.
	busy []string
	// away are providers that cannot be called from here.
	away  []string
	limit int
}

// othersMax is how long after its deadline a job is left to replicas that can call its provider. Then any replica ends it.
const othersMax = 5 * time.Minute

const claimQuery = `
	with due as (
		select id as due_id from video_jobs
		where due_at <= $1 and (claimed_until is null or claimed_until <= $2)
			and case
				when deleted_at is not null then 'looks'
				when state = 'storing' then 'copies'
				when state = 'completed' and due_at < expires_at then 'pictures'
				else 'looks' end = $3
			and provider <> all($4)
			and (provider <> all($7) or state = 'completed' or deadline_at <= $8)
		order by due_at limit $5 for update skip locked)
	update video_jobs set claimed_until = $6 from due where id = due_id returning ` + columns

// claimDue claims jobs that no worker works on. It skips rows that another worker has locked, and does not wait for them.
func claimDue(ctx context.Context, q postgres.Queryer, c claim) (rows []jobRow, err error) {
	err = q.SelectContext(ctx, &rows, claimQuery, c.due, c.now, string(c.kind), pq.Array(c.busy), c.limit, c.until,
		pq.Array(c.away), c.now.Add(-othersMax))
	return rows, postgres.StoreError("video: claim", err)
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
