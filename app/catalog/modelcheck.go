package catalog

import (
	"slices"
	"strings"
	"time"

	"umg/app/llm"
	"umg/app/meter"
	"umg/billing"
)

func (m *FileModel) check(p problems) {
	if !modelID.MatchString(m.ID) {
		p.addf("id", "%q must be like owner/name or owner/name:variant, in small letters, digits, dots and hyphens", m.ID)
	}
	if m.Name == "" {
		p.addf("name", "is missing")
	}
	if m.Owner == "" {
		p.addf("owner", "is missing")
	}
	if m.Released.IsZero() {
		p.addf("released", "is missing")
	}
	if !m.Shutdown.IsZero() && time.Time(m.Shutdown).Before(time.Time(m.Deprecated)) {
		p.addf("shutdown", "is before deprecated")
	}
	p.oneOf("kind", string(m.Kind), knownKinds)
	p.oneOf("availability", string(m.Availability), []string{string(Available), string(Coming)})
	checkWords(p, "capabilities", m.Capabilities, knownCapabilities)
	checkWords(p, "input", m.Input, knownModalities)
	checkWords(p, "output", m.Output, knownModalities)
	m.checkStyles(p)
	m.checkThinking(p)
	m.checkSizes(p)
	m.checkRates(p)
	m.checkAnnounced(p)
	m.checkLimits(p)
	m.checkRouting(p)
}

func (m *FileModel) checkSuccessor(p problems, models map[string]bool) {
	switch {
	case m.Successor == "":
	case m.Successor == m.ID:
		p.addf("successor", "%q is the model itself", m.Successor)
	case !models[m.Successor]:
		p.addf("successor", "%q is not a model of this file", m.Successor)
	case m.Deprecated.IsZero() && m.Shutdown.IsZero():
		p.addf("successor", "a model that never leaves needs none; give it a day of deprecation or shutdown")
	}
}

func checkWords(p problems, field string, words, known []string) {
	if len(words) == 0 {
		p.addf(field, "is empty")
	}
	for i, w := range words {
		p.oneOf(field, w, known)
		if slices.Contains(words[:i], w) {
			p.addf(field, "%q is there twice", w)
		}
	}
}

func (m *FileModel) checkStyles(p problems) {
	checkStyles(p, "styles", m.Styles, llm.Styles())
	if m.Kind != KindText {
		if len(m.Styles) > 0 {
			p.addf("styles", "only text models are called in styles")
		}
		return
	}
	if len(m.Styles) == 0 {
		p.addf("styles", "is empty")
	}
	if m.ContextTokens < 1 || m.ContextTokens > limitMax {
		p.addf("context_tokens", "%d is not between 1 and %d", m.ContextTokens, limitMax)
	}
	if m.MaxOutputTokens < 1 || m.MaxOutputTokens > m.ContextTokens {
		p.addf("max_output_tokens", "%d is not between 1 and the %d tokens of the context", m.MaxOutputTokens, m.ContextTokens)
	}
}

func (m *FileModel) checkSizes(p problems) {
	if m.Kind == KindVideo && len(m.Sizes) == 0 {
		p.addf("sizes", "is empty: a video model names the sizes it renders, the default first")
	}
	if m.Kind == KindVideo && len(m.Seconds) == 0 {
		p.addf("seconds", "is empty: a video model names the lengths it renders, the default first")
	}
	for i, size := range m.Sizes {
		if !sizeForm.MatchString(size) {
			p.addf("sizes", "%q is not like 1280x720", size)
		}
		if slices.Contains(m.Sizes[:i], size) {
			p.addf("sizes", "%q is there twice", size)
		}
	}
	for i, s := range m.Seconds {
		if slices.Contains(m.Seconds[:i], s) {
			p.addf("seconds", "%d is there twice", s)
		}
		if s < 1 || s > 3600 {
			p.addf("seconds", "%d is not between 1 and 3600", s)
		}
	}
}

func (m *FileModel) checkRates(p problems) {
	switch {
	case m.Markup > 0:
		if len(m.Rates) > 0 || len(m.SizeRates) > 0 || len(m.Conditions) > 0 {
			p.addf("markup", "the prices come from the cost of the first route, so leave out rates, size_rates and conditions")
		}
		return
	case len(m.Rates) == 0 && m.Availability == Available:
		p.addf("rates", "a model without rates cannot be available")
	case len(m.Rates) == 0:
	default:
		m.checkMeters(p, checkCard(p, "rates", m.Rates, "conditions", m.Conditions))
	}
	if len(m.Conditions) > 0 && len(m.Rates) == 0 {
		p.addf("conditions", "are other prices for some calls, so all others need rates too")
	}
	m.checkSizeRates(p, "", m.Rates, m.SizeRates, m.Conditions)
}

// checkSizeRates adds the problems of the prices of sizes, which are beside other prices at a path.
func (m *FileModel) checkSizeRates(p problems, path string, rates Rates, sizeRates map[string]Rates, conditions []FileCondition) {
	for _, size := range sortedKeys(sizeRates) {
		field := path + "size_rates." + size
		if !slices.Contains(m.Sizes, size) {
			p.addf(field, "is not one of the model's sizes")
		}
		checkCard(p, field, sizeRates[size], "", nil)
	}
	if len(sizeRates) > 0 && len(rates) == 0 {
		p.addf(path+"rates", "sizes have rates, so all others need one too")
	}
	switch {
	case len(conditions) == 0:
	case m.Kind == KindVideo:
		p.addf(path+"conditions", "videos have no conditions; write size_rates for sizes with prices of their own")
	case len(sizeRates) > 0:
		p.addf(path+"conditions", "cannot be combined with size_rates; write conditions with a size in their place")
	}
}

// checkMeters adds a problem unless the card has prices for all meters of one way in which the kind of model can be charged.
func (m *FileModel) checkMeters(p problems, card billing.RateCard) {
	needed := neededMeters[m.Kind]
	if len(needed) == 0 || len(card.Rates) == 0 {
		return
	}
	priced := func(m meter.Meter) bool {
		return slices.ContainsFunc(card.Rates, func(r billing.Rate) bool { return r.Meter == m })
	}
	var ways []string
	for _, meters := range needed {
		names := make([]string, len(meters))
		missing := false
		for i, m := range meters {
			names[i] = m.String()
			missing = missing || !priced(m)
		}
		if !missing {
			return
		}
		ways = append(ways, strings.Join(names, " and "))
	}
	p.addf("rates", "a %s model needs a rate of %s", m.Kind, strings.Join(ways, ", or of "))
}

func (m *FileModel) checkLimits(p problems) {
	at := p.at("limits")
	for _, limit := range []struct {
		name string
		n    int64
	}{
		{"requests_per_minute", m.Limits.RequestsPerMinute}, {"tokens_per_minute", m.Limits.TokensPerMinute},
		{"concurrency", m.Limits.Concurrency}, {"requests_per_day", m.Limits.RequestsPerDay},
		{"jobs_per_day", m.Limits.JobsPerDay}, {"jobs_running", m.Limits.JobsRunning},
	} {
		checkLimit(at, limit.name, limit.n)
	}
	checkTimeout(p, "timeout", m.Timeout)
}

func (m *FileModel) checkRoutes(p problems, providers map[string]*FileProvider) {
	if len(m.Routes) == 0 && m.Availability == Available {
		p.addf("routes", "a model without routes cannot be available")
	}
	if len(m.Routes) > routesMax {
		p.addf("routes", "%d routes are more than %d", len(m.Routes), routesMax)
	}
	seen := map[string]bool{}
	for i, r := range m.Routes {
		at := p.at("routes[%d]", i)
		provider := providers[r.Provider]
		if provider == nil {
			at.addf("provider", "provider %q does not exist", r.Provider)
		}
		if r.Model == "" {
			at.addf("model", "is missing")
		}
		m.checkRouteStyle(at, r.Style)
		if provider != nil && len(provider.Styles) > 0 && r.Style != "" && !slices.Contains(provider.Styles, r.Style) {
			at.addf("style", "provider %s speaks %v, not %s", r.Provider, provider.Styles, r.Style)
		}
		if r.Order < 1 || r.Order > routesMax {
			at.addf("order", "%d is not between 1 and %d", r.Order, routesMax)
		}
		if r.Weight < 1 || r.Weight > 1000 {
			at.addf("weight", "%d is not between 1 and 1000", r.Weight)
		}
		r.Timeouts.check(at.at("timeouts"))
		if r.Cost != nil {
			checkCard(at, "cost.rates", r.Cost.Rates, "cost.conditions", r.Cost.Conditions)
		}
		if id := r.id(m.ID); seen[id] {
			at.addf("", "this provider, model and style are there twice")
		} else {
			seen[id] = true
		}
	}
}

// checkAssets adds a problem when a model takes assets and no route can carry them.
func (m *FileModel) checkAssets(p problems, providers map[string]*FileProvider) {
	if m.Assets == 0 {
		return
	}
	if m.Kind != KindVideo {
		p.addf("assets", "only video models take assets")
		return
	}
	if m.Assets < 1 || m.Assets > assetsMax {
		p.addf("assets", "%d is not between 1 and %d", m.Assets, assetsMax)
	}
	carries := func(r FileRoute) bool {
		provider := providers[r.Provider]
		return provider != nil && provider.Assets.Group != "" && r.Style == TasksStyle
	}
	if !slices.ContainsFunc(m.Routes, carries) {
		p.addf("assets", "no route can carry them: one must have the style %s and a provider with assets.group", TasksStyle)
	}
}

// checkRouteStyle adds a problem when a route has a style that cannot carry the output of the model.
func (m *FileModel) checkRouteStyle(p problems, style llm.Style) {
	switch {
	case m.Kind == KindText:
		checkStyles(p, "style", []llm.Style{style}, llm.RouteStyles())
	case m.Kind == KindVideo:
		checkStyles(p, "style", []llm.Style{style}, VideoStyles())
		known := sizesOf(style)
		for _, size := range m.Sizes {
			if known != nil && !slices.Contains(known, size) {
				p.addf("style", "%s cannot ask for the size %s; it knows %s", style, size, strings.Join(known, ", "))
			}
		}
	case style != "":
		p.addf("style", "only text and video models are called in styles")
	}
}

// id identifies a route in breakers, logs and metrics. It does not depend on the order in the file.
func (r FileRoute) id(model string) string {
	return model + "#" + r.Provider + "/" + string(r.Style) + "/" + r.Model
}
