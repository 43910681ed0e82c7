package video

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"umg/app"
	"umg/app/catalog"
	"umg/app/llm"
	"umg/app/provider/videoapi"
)

const (
	pausedRetryAfter = 30 * time.Second
	modelsShownMax   = 8 // An error names at most this many models.
)

// choose finds a model that makes videos and that the principal may use.
func choose(s *catalog.Snapshot, p app.Principal, id string, now time.Time) (*catalog.Model, error) {
	s = s.For(p.AccountID)
	m, known := s.Model(id)
	if !known {
		e := noModel("The model %q does not exist. %s", app.Truncate(id, shownRunesMax), others(s, p))
		e.Value = id
		return nil, e
	}
	if !m.IsAllowed(p.MayUse) {
		return nil, app.Errorf(app.Forbidden, "model_not_allowed",
			"This key may not use the model %s. GET /v1/models lists those it may use.", m.ID).At("model").Final()
	}
	if err := m.Ended(now); err != nil {
		return nil, err
	}
	if !m.Available {
		return nil, noModel("The model %s is not available yet. %s", m.ID, others(s, p))
	}
	if m.Kind != catalog.KindVideo {
		return nil, noModel("The model %s makes no videos. %s", m.ID, others(s, p))
	}
	if m.Paused {
		return nil, paused(m, m.Notice)
	}
	return m, nil
}

// paused is the error for a model that takes no new calls. It contains the operator's reason when there is one.
func paused(m *catalog.Model, reason string) error {
	if reason != "" {
		reason = strings.TrimSuffix(reason, ".") + ". "
	}
	return app.Errorf(app.Unavailable, "model_temporarily_unavailable",
		"The model %s is temporarily unavailable because of platform traffic control. %sTry again later or choose another model.",
		m.ID, reason).At("model").After(pausedRetryAfter)
}

// choose finds a model as choose does, and refuses one that an operator has paused.
func (s *Service) choose(p app.Principal, id string, now time.Time) (*catalog.Model, error) {
	m, err := choose(s.o.Snapshot(), p, id, now)
	if err != nil {
		return nil, err
	}
	if pause, ok := s.o.Health.ModelPaused(m.ID); ok {
		return nil, paused(m, pause.Reason)
	}
	return m, nil
}

func noModel(format string, args ...any) *app.Error {
	return app.Errorf(app.NotFound, "model_not_found", format, args...).At("model")
}

// others names the models that would do.
func others(s *catalog.Snapshot, p app.Principal) string {
	var ids []string
	for _, m := range s.Models() {
		if m.Kind == catalog.KindVideo && m.Available && !m.Paused && m.IsAllowed(p.MayUse) && len(ids) < modelsShownMax {
			ids = append(ids, m.ID)
		}
	}
	if len(ids) == 0 {
		return "GET /v1/models lists all models."
	}
	return "Models that make videos: " + strings.Join(ids, ", ") + "."
}

// routesOf are the ways to serve a plan in the order to try them: by order, and among equals by weight and chance. What
// changes a video stays with the provider that made it, as no other knows the video.
func (s *Service) routesOf(p *plan) ([]*catalog.Route, error) {
	var routes []*catalog.Route
	stopped, capped := false, false
	for i := range p.model.Routes {
		r := &p.model.Routes[i]
		switch {
		case p.source != nil && !canChange(r, p.source):
		case s.o.Health.ProviderPaused(r.Provider.ID):
			stopped = true
		case s.o.Health.SpendCapped(r.Provider):
			capped = true
		default:
			routes = append(routes, r)
		}
	}
	switch {
	case len(routes) > 0:
		return s.draw(routes), nil
	case stopped: // An operator has paused the provider of a route.
		return nil, paused(p.model, "")
	case capped: // A spend cap of the operator is reached.
		return nil, noProvider(p.model)
	case p.source != nil && len(p.model.Routes) > 0:
		return nil, invalid("model", "The model %s cannot change this video, which %s has made. Leave model out, or make a new video.",
			p.model.ID, p.source.Model)
	}
	return nil, noProvider(p.model)
}

func noProvider(m *catalog.Model) error {
	return app.Errorf(app.Unavailable, "no_available_provider",
		"No provider of %s can take this call right now. Try again in a few seconds, or choose another model.", m.ID)
}

// canChange reports whether a route can change a video. Where a change takes everything but its prompt from the source,
// another model would be paid for but not used.
func canChange(r *catalog.Route, source *jobRow) bool {
	return r.Provider.ID == source.Provider && r.Style == source.Style && videoapi.Remixes(r) &&
		(r.Model == source.UpstreamModel || !inherits(r.Style))
}

// inherits reports whether a change takes model, size and length from its source in a style, whatever is asked for.
func inherits(style llm.Style) bool { return style != catalog.OperationsStyle }

// draw puts routes of the same order in a random one, so that each comes first as often as its weight says.
func (s *Service) draw(routes []*catalog.Route) []*catalog.Route {
	slices.SortStableFunc(routes, func(a, b *catalog.Route) int { return cmp.Compare(a.Order, b.Order) })
	for i := range routes {
		sum := 0
		for _, r := range routes[i:] {
			if r.Order == routes[i].Order {
				sum += max(1, r.Weight)
			}
		}
		mark := int(s.o.Jitter(int64(sum)))
		for j := i; j < len(routes); j++ {
			if mark -= max(1, routes[j].Weight); mark < 0 {
				routes[i], routes[j] = routes[j], routes[i]
				break
			}
		}
	}
	return routes
}

// defaults fills in what was not said: from the video to change, else from what the model names first. A video that is
// changed can only be made in what the model makes.
func (p *plan) defaults() error {
	if p.source != nil {
		p.params.size = cmp.Or(p.params.size, p.source.Size)
		p.params.seconds = cmp.Or(p.params.seconds, p.source.Seconds)
	}
	if len(p.model.Sizes) == 0 || len(p.model.Seconds) == 0 {
		return fmt.Errorf("video: the model %s has no sizes or no lengths", p.model.ID)
	}
	p.params.size = cmp.Or(p.params.size, p.model.Sizes[0])
	p.params.seconds = cmp.Or(p.params.seconds, int(p.model.Seconds[0]))
	if p.source != nil && inherits(p.source.Style) {
		if p.params.size != p.source.Size {
			return invalid("size", "This video is %s and its remix will be too; leave size out.", p.source.Size)
		}
		if p.params.seconds != p.source.Seconds {
			return invalid("seconds", "This video has %d seconds and its remix will too; leave seconds out.",
				p.source.Seconds)
		}
	}
	if !slices.Contains(p.model.Sizes, p.params.size) {
		return invalid("size", "The model %s does not make videos of %s, the size of the source; it makes %s.",
			p.model.ID, p.params.size, strings.Join(p.model.Sizes, ", "))
	}
	if !slices.Contains(p.model.Seconds, int64(p.params.seconds)) {
		return app.Errorf(app.Invalid, codeInvalid, "The model %s does not make videos of %d seconds, the length of the source; it makes %s.",
			p.model.ID, p.params.seconds, strings.ReplaceAll(strings.Trim(fmt.Sprint(p.model.Seconds), "[]"), " ", ", ")).At("seconds")
	}
	if _, err := fmt.Sscanf(p.params.size, "%dx%d", &p.width, &p.height); err != nil || p.width <= 0 || p.height <= 0 {
		return fmt.Errorf("video: the model %s has a size %q", p.model.ID, p.params.size)
	}
	return nil
}

// complete fills in a plan whose call is understood.
func (s *Service) complete(c *Call, p *plan) (err error) {
	if err = p.checkFrame(c); err != nil {
		return err
	}
	if len(p.params.assets) > 0 && p.source != nil {
		return invalid(paramAssets, "A remix begins with its source; leave asset_ids out.")
	}
	// This precedes the defaults, so that the error names a model that cannot change the video.
	if p.routes, err = s.routesOf(p); err != nil {
		return err
	}
	if err = p.defaults(); err != nil {
		return err
	}
	p.card = p.model.CardFor(p.params.size)
	if p.cost, err = costOf(p.card, int64(p.params.seconds)); err != nil {
		return fmt.Errorf("video: price of %s: %w", p.model.ID, err)
	}
	return nil
}
