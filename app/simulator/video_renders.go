package simulator

import (
	"container/list"
	"slices"
	"strings"
	"sync"
	"time"

	"umg/app/simulator/testvideo"
)

const (
	// rendersMax is how many renders are remembered; the oldest that has ended goes first.
	rendersMax = 20_000
	// renderPromptBytesMax bounds the prompts of all renders together.
	renderPromptBytesMax = 64 << 20
	// backwardLooks are the looks at a render that goes backwards before it behaves.
	backwardLooks = 3
)

// render is a video on its way. What stands below the line changes, under the lock of the renders.
type render struct {
	order

	id         string
	provider   string
	from       string // From is the id of the source.
	result     string // Result is the id of the video itself in the tasks style.
	base       string // Base is the prefix of the addresses of its files.
	prompt     *prompt
	fault      *fault
	late       *guardrail
	created    time.Time
	takes      time.Duration
	seed       uint64
	generation int

	looks, endedLooks   int
	finished, cancelled time.Time
	told                string // Told is the status of the latest callback.
	place               *list.Element
}

// renders are all videos. The zero value has none.
type renders struct {
	mu    sync.Mutex
	list  list.List // The elements are *render, and the oldest is first.
	byID  map[string]*render
	bytes int
	total int64 // Total counts every render since the start.
}

// stage is how far a render is.
type stage uint8

const (
	waiting stage = iota
	rendering
	succeeded
	failed
)

// view is what a look at a render shows.
type view struct {
	stage     stage
	odd       bool // Odd gives the render an unknown status word.
	progress  int64
	ended     time.Time
	guard     *guardrail // Guard is the guardrail that refused the render, or nil.
	code      string     // Code says why a render failed for another reason.
	cancelled bool
}

// externalKey names a render by the caller's own id.
func externalKey(provider, kind, external string) string {
	return strings.Join([]string{provider, kind, external}, "\x00")
}

// add remembers a render. It reports false when the caller's own id for it is taken.
func (s *renders) add(r *render, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	external := externalKey(r.provider, r.kind, r.external)
	if r.external != "" && s.byID[external] != nil {
		return false
	}
	for s.list.Len() > 0 && (s.list.Len() >= rendersMax || s.bytes+len(r.text) > renderPromptBytesMax) {
		s.drop(s.evictable(now))
	}
	if s.byID == nil {
		s.byID = make(map[string]*render)
	}
	r.place = s.list.PushBack(r)
	s.byID[r.id] = r
	if r.external != "" {
		s.byID[external] = r
	}
	s.bytes += len(r.text)
	s.total++
	return true
}

// oldest goes through the renders, oldest first. The mutex is held.
func (s *renders) oldest(yield func(*render) bool) {
	for at := s.list.Front(); at != nil; at = at.Next() {
		if r, ok := at.Value.(*render); ok && !yield(r) {
			return
		}
	}
}

// evictable is the oldest render that has ended, or the oldest when none has. The mutex is held.
func (s *renders) evictable(now time.Time) *render {
	var first *render
	for r := range s.oldest {
		if r.over(now) {
			return r
		}
		if first == nil {
			first = r
		}
	}
	return first
}

// drop forgets a render. The mutex is held.
func (s *renders) drop(r *render) {
	s.list.Remove(r.place)
	r.place = nil
	s.bytes -= len(r.text)
	delete(s.byID, r.id)
	delete(s.byID, externalKey(r.provider, r.kind, r.external))
}

// remove forgets a render.
func (s *renders) remove(r *render) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.place != nil {
		s.drop(r)
	}
}

// find looks a render up by its id or, where the kind has one, by the caller's; one that vanished is not found.
func (s *renders) find(provider, kind, id string) *render {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.byID[id]
	if r == nil {
		r = s.byID[externalKey(provider, kind, id)]
	}
	if r == nil || r.provider != provider || r.kind != kind || r.fault.vanish {
		return nil
	}
	return r
}

// findResult looks the render up whose result has this id.
func (s *renders) findResult(provider, result string) *render {
	s.mu.Lock()
	defer s.mu.Unlock()
	if result == "" {
		return nil
	}
	for r := range s.oldest {
		if r.provider == provider && r.result == result && !r.fault.vanish {
			return r
		}
	}
	return nil
}

// newest are the renders of a kind, newest first.
func (s *renders) newest(provider, kind string) []*render {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []*render
	for r := range s.oldest {
		if r.provider == provider && r.kind == kind && !r.fault.vanish {
			found = append(found, r)
		}
	}
	slices.Reverse(found)
	return found
}

// look shows a render, and counts the look for those that change by looks.
func (s *renders) look(r *render, now time.Time) view {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.looks++
	if r.over(now) {
		r.endedLooks++
	}
	return r.view(now)
}

// peek shows a render.
func (s *renders) peek(r *render, now time.Time) view {
	s.mu.Lock()
	defer s.mu.Unlock()
	return r.view(now)
}

// cancel ends a render that has not ended.
func (s *renders) cancel(r *render, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.cancelled.IsZero() && !r.over(now) {
		r.cancelled = now
	}
}

// finish ends the renders that a text names by id or by a part of the prompt; the empty text means all. It returns those it ended.
func (s *renders) finish(text string, now time.Time) []*render {
	s.mu.Lock()
	defer s.mu.Unlock()
	var ended []*render
	for r := range s.oldest {
		if r.over(now) || r.fault.never || text != "" && r.id != text && r.external != text && !strings.Contains(r.text, text) {
			continue
		}
		r.finished = now
		ended = append(ended, r)
	}
	return ended
}

// tell notes that a callback says this status, and reports whether the last one said another.
func (s *renders) tell(r *render, status string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	news := r.told != status
	r.told = status
	return news
}

// made is how many renders there ever were, deleted ones too.
func (s *renders) made() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.total
}

// all are the renders, oldest first, as they are now.
func (s *renders) all(now time.Time) []Render {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := make([]Render, 0, s.list.Len())
	for r := range s.oldest {
		found = append(found, Render{ID: r.id, Provider: r.provider, Kind: r.kind, Model: r.model, Prompt: r.text, Width: r.width,
			Height: r.height, Seconds: r.seconds, External: r.external, Callback: r.callback, Status: r.video(r.view(now)).Status,
			Looks: r.looks, Generation: r.generation, Created: r.created, Cancelled: !r.cancelled.IsZero(), Assets: r.assets})
	}
	return found
}

// over reports whether nothing changes any more. The mutex is held.
func (r *render) over(now time.Time) bool {
	switch {
	case !r.cancelled.IsZero() || !r.finished.IsZero():
		return true
	case r.fault.never || r.fault.held:
		return false
	}
	before := 0 // This many looks must show an unfinished render, because they show its fault.
	switch {
	case r.fault.backwards:
		before = backwardLooks
	case r.fault.oddWord || r.fault.claims:
		before = 1
	}
	return now.Sub(r.created) >= r.takes && (before == 0 || r.looks > before)
}

// view is the state. The mutex is held.
func (r *render) view(now time.Time) view {
	if !r.over(now) {
		return r.running(now)
	}
	v := view{stage: failed, ended: r.created.Add(r.takes)}
	if !r.finished.IsZero() {
		v.ended = r.finished
	}
	switch {
	case !r.cancelled.IsZero():
		v.ended, v.cancelled = r.cancelled, true
	case r.late != nil:
		v.guard = r.late
	case r.fault.failCode == videosService.refusal(&anyContent).code:
		v.guard = &anyContent
	case r.fault.failCode != "":
		v.code = r.fault.failCode
	case r.fault.flip && r.endedLooks > 1:
		v.code = "generation_failed"
	default:
		v.stage, v.progress = succeeded, 100
	}
	return v
}

// running is the state of a render that has not ended: its progress grows with time.
func (r *render) running(now time.Time) view {
	const half, almost, begun = 50, 99, 10
	v := view{stage: rendering, progress: half, odd: r.fault.oddWord}
	if r.takes > 0 {
		v.progress = min(max(int64(now.Sub(r.created)*100/r.takes), 0), almost)
	}
	if v.progress < begun {
		v.stage = waiting
	}
	switch {
	case r.fault.backwards && r.looks == 1:
		v.stage, v.progress = rendering, 80
	case r.fault.backwards && r.looks == backwardLooks-1:
		v.stage, v.progress = waiting, 0
	case r.fault.claims:
		v.stage, v.progress = rendering, r.fault.saying
	}
	return v
}

// shown is the length of the film, which a fault may make shorter than was asked.
func (r *render) shown() int {
	if r.fault.shortFilm > 0 {
		return int(r.fault.shortFilm)
	}
	return r.seconds
}

// film says what the video looks like. It depends on what was asked only, so that the same order gives the same bytes.
func (r *render) film() testvideo.Spec {
	const titleRunesMax = 60
	title := strings.TrimSpace(r.prompt.asked)
	return testvideo.Spec{Width: r.width, Height: r.height, Seconds: r.shown(), Title: shorten(title, titleRunesMax),
		Seed: r.seed, Generation: r.generation}
}
