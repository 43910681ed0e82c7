package catalog

import (
	"fmt"
	"slices"
	"time"
)

// A breaker may be set within these bounds, and a provider may have this many credentials.
const (
	breakerCountMax = 10_000
	ejectionMin     = 10 * time.Millisecond
	ejectionMax     = time.Hour
	credentialsMax  = 16
	// fallbacksMax bounds the fallback models, because each adds attempts to a call that fails.
	fallbacksMax = 3
)

// checkCredentials checks the credentials and the proxy of a provider.
func (v *FileProvider) checkCredentials(p problems) {
	if reason := badReference(v.Credential); v.Credential != "" && reason != "" {
		p.addf("credential", "%s", reason)
	}
	if v.Credential == "" && len(v.Credentials) > 0 {
		p.addf("credentials", "are further ones; the first belongs in credential")
	}
	if len(v.Credentials) >= credentialsMax {
		p.addf("credentials", "%d are more than %d", len(v.Credentials), credentialsMax-1)
	}
	for i, one := range v.Credentials {
		at := fmt.Sprintf("credentials[%d]", i)
		switch reason := badReference(one); {
		case reason != "":
			p.addf(at, "%s", reason)
		case one == v.Credential || slices.Contains(v.Credentials[:i], one):
			p.addf(at, "%s is there twice", one)
		}
	}
	if reason := badBaseURL(v.Proxy); v.Proxy != "" && reason != "" {
		p.addf("proxy", "%s", reason)
	}
}

// check checks the numbers of a breaker; zero takes the default.
func (b FileBreaker) check(p problems) {
	for _, one := range []struct {
		name   string
		n, max int
	}{{"failures", b.Failures, breakerCountMax}, {"failure_percent", b.FailurePercent, 100}, {"calls_min", b.CallsMin, breakerCountMax}} {
		if one.n < 0 || one.n > one.max {
			p.addf(one.name, "%d is not between 1 and %d; without one it is the default", one.n, one.max)
		}
	}
	for _, one := range []struct {
		name string
		d    Duration
	}{{"ejection", b.Ejection}, {"ejection_max", b.EjectionMax}} {
		if d := time.Duration(one.d); d != 0 && (d < ejectionMin || d > ejectionMax) {
			p.addf(one.name, "%s is not between %s and %s", d, ejectionMin, ejectionMax)
		}
	}
	if b.EjectionMax != 0 && b.EjectionMax < b.Ejection {
		p.addf("ejection_max", "%s is shorter than the ejection of %s", time.Duration(b.EjectionMax), time.Duration(b.Ejection))
	}
}

// checkLonger checks the model for longer contexts, and that its own models for longer contexts do not lead back to this one.
func (m *FileModel) checkLonger(p problems, models map[string]*FileModel) {
	if m.LongerContext == "" {
		return
	}
	longer := models[m.LongerContext]
	switch {
	case m.Kind != KindText:
		p.addf("longer_context", "only text models have one")
		return
	case longer == nil:
		p.addf("longer_context", "%q is not a model of this file", m.LongerContext)
		return
	case longer.Kind != KindText:
		p.addf("longer_context", "%q is not a text model", m.LongerContext)
		return
	case longer != m && longer.ContextTokens <= m.ContextTokens:
		p.addf("longer_context", "%q has room for %d tokens, which is not more than the %d of this model",
			m.LongerContext, longer.ContextTokens, m.ContextTokens)
	}
	for steps := 0; longer != nil && steps < len(models); steps++ {
		if longer == m {
			p.addf("longer_context", "leads back to this model")
			return
		}
		longer = models[longer.LongerContext]
	}
}

// checkFallbacks checks the models that serve a call when no provider of this model answers. Each must be a text model of
// the file that is called in all styles of this one.
func (m *FileModel) checkFallbacks(p problems, models map[string]*FileModel) {
	if len(m.Fallbacks) == 0 {
		return
	}
	if m.Kind != KindText {
		p.addf("fallbacks", "only text models have some")
		return
	}
	if len(m.Fallbacks) > fallbacksMax {
		p.addf("fallbacks", "%d are more than %d", len(m.Fallbacks), fallbacksMax)
	}
	for i, id := range m.Fallbacks {
		at := fmt.Sprintf("fallbacks[%d]", i)
		fallback := models[id]
		switch {
		case id == m.ID:
			p.addf(at, "%q is the model itself", id)
		case slices.Contains(m.Fallbacks[:i], id):
			p.addf(at, "%q is there twice", id)
		case fallback == nil:
			p.addf(at, "%q is not a model of this file", id)
		case fallback.Kind != KindText:
			p.addf(at, "%q is not a text model", id)
		default:
			for _, style := range m.Styles {
				if !slices.Contains(fallback.Styles, style) {
					p.addf(at, "%q is not called in the %s style, and this model is", id, style)
				}
			}
		}
	}
}

// checkRouting checks the fields of a model about its routes.
func (m *FileModel) checkRouting(p problems) {
	m.Timeouts.check(p.at("timeouts"))
	if m.OnCut != "" {
		p.oneOf("on_cut", string(m.OnCut), []string{string(CutError), string(CutRecover)})
	}
	if m.Kind == KindText {
		return
	}
	if m.OnCut != "" {
		p.addf("on_cut", "only text models stream")
	}
	if m.Hedge != nil && *m.Hedge {
		p.addf("hedge", "only text models ask two routes")
	}
}
