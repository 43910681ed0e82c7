package modelstatus

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"umg/app"
	"umg/app/catalog"
	"umg/app/provider/health"
	"umg/billing/usage"
)

// statsTimeMax bounds one query of the statistics, because pages wait for it.
const statsTimeMax = time.Second

// Options of a Service. Now is required.
type Options struct {
	Now app.Clock
	// Health knows the pauses and the routes that are set aside. It is nil where nothing is paused or set aside.
	Health *health.Monitor
	// Stats reads the calls of the last 24 hours by model. Models are not judged by their calls when it is nil.
	Stats func(context.Context) (map[string]usage.ModelStats, error)
	// StatsAge is how long statistics are used before they are read again. They are read for each board when it is zero.
	StatsAge time.Duration
	// Log gets failures to read the statistics; it may be nil.
	Log *slog.Logger
}

// Service judges models. It is safe for concurrent use.
type Service struct {
	o Options

	mu     sync.Mutex
	stats  map[string]usage.ModelStats
	readAt time.Time // ReadAt is when the statistics were read, or when that failed. It is zero before the first time.
}

// New returns a Service. It panics when a required option is missing.
func New(o Options) *Service {
	app.RequireOptions("modelstatus.New", map[string]bool{"Options.Now": o.Now != nil})
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Service{o: o}
}

// Board judges all models of a snapshot. The routes are judged as this replica sees them. When the statistics cannot be read, the former
// ones count, so that a page does not fail for them.
func (s *Service) Board(ctx context.Context, snapshot *catalog.Snapshot) Board {
	stats, now, all := s.recent(ctx), s.o.Now(), snapshot.Models()
	b := Board{verdicts: make(map[string]Verdict, len(all))}
	for _, m := range all {
		b.verdicts[m.ID] = s.judge(m, stats[m.ID], now)
	}
	for _, m := range all {
		if v := b.verdicts[m.ID]; v.needsOther() {
			v.Instead = b.instead(m, all)
			b.verdicts[m.ID] = v
		}
	}
	return b
}

// Troubled is a model that is paused or failing.
type Troubled struct {
	Model *catalog.Model
	State State
}

// Troubled returns the models of a snapshot that are paused or failing, in its order and not more than most. It judges them as Board does,
// but looks for no models to use instead, because every page asks for it.
func (s *Service) Troubled(ctx context.Context, snapshot *catalog.Snapshot, most int) (list []Troubled) {
	stats, now := s.recent(ctx), s.o.Now()
	for _, m := range snapshot.Models() {
		if len(list) == most {
			break
		}
		if state := s.judge(m, stats[m.ID], now).State; state == Paused || state == Failing {
			list = append(list, Troubled{m, state})
		}
	}
	return list
}

// recent returns the statistics of the last 24 hours by model.
func (s *Service) recent(ctx context.Context) map[string]usage.ModelStats {
	if s.o.Stats == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.o.Now()
	if !s.readAt.IsZero() && now.Sub(s.readAt) < s.o.StatsAge {
		return s.stats
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), statsTimeMax)
	defer cancel()
	s.readAt = now
	stats, err := s.o.Stats(ctx)
	if err != nil {
		s.o.Log.Warn("model status: reading statistics failed", "error", err)
		return s.stats
	}
	s.stats = stats
	return stats
}

// judge decides the state of one model.
func (s *Service) judge(m *catalog.Model, stats usage.ModelStats, now time.Time) Verdict {
	v := Verdict{Reason: m.Notice, Stats: stats, Health: healthOf(&stats)}
	pause, isPaused := s.pauseOf(m)
	routes := s.routesOf(m)
	switch {
	case !m.Available:
		v.State = Coming
	case ended(m, now):
		v.State = Ended
	case isPaused:
		v.State, v.Reason = Paused, pause.Reason
	case m.Paused:
		v.State = Paused
	case !m.Answers():
		v.State = Unserved
	case routes.paused == len(m.Routes):
		v.State = Paused
	case routes.paused+routes.ejected == len(m.Routes):
		v.State, v.NoRoute = Failing, true
	default:
		v.State = v.Health.state()
	}
	return v
}

func (s *Service) pauseOf(m *catalog.Model) (health.Pause, bool) {
	if s.o.Health == nil {
		return health.Pause{}, false
	}
	return s.o.Health.ModelPaused(m.ID)
}

// routeCounts are how many routes of a model take no calls, because their provider is paused or because they failed. A route that is only
// busy is in neither number.
type routeCounts struct{ paused, ejected int }

func (s *Service) routesOf(m *catalog.Model) (c routeCounts) {
	if s.o.Health == nil {
		return c
	}
	for i := range m.Routes {
		switch s.o.Health.Blocked(&m.Routes[i]) {
		case health.Paused:
			c.paused++
		case health.Ejected:
			c.ejected++
		}
	}
	return c
}
