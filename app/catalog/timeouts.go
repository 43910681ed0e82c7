package catalog

import (
	"cmp"
	"fmt"
	"time"
)

// These bound the time without content where a file names no bound.
const (
	// contentFactor times the wait for the next event is the wait for the next content.
	contentFactor = 5

	// Models that hide their reasoning send no content for minutes. Half of totalDefault is left for another route.
	contentDefaultMax = 5 * time.Minute
)

// ContentMax bounds the time without content in a stream whose provider sends other frames, such as comments and pings, each within
// sign. It is zero for no bound.
func (t Timeouts) ContentMax(sign time.Duration) time.Duration {
	if t.Content > 0 {
		return t.Content
	}
	return max(sign, min(contentFactor*sign, contentDefaultMax))
}

// attemptTotal bounds one attempt on a route: by the route, the model or the provider, whichever names a total first, and otherwise by
// the timeout of the call.
func (m *FileModel) attemptTotal(r *FileRoute, p *Provider) time.Duration {
	named := time.Duration(0)
	if p.totalNamed {
		named = p.Timeouts.Total
	}
	return cmp.Or(time.Duration(r.Timeouts.Total), time.Duration(m.Timeouts.Total), named, time.Duration(m.Timeout), p.Timeouts.Total)
}

// idleTotals warns of totals that can have no effect, a line each.
func idleTotals(f File) []string {
	var all []string
	providers := make(map[string]*FileProvider, len(f.Providers))
	for i := range f.Providers {
		providers[f.Providers[i].ID] = &f.Providers[i]
	}
	for i := range f.Models {
		m := &f.Models[i]
		for j := range m.Routes {
			p := providers[m.Routes[j].Provider]
			if total, owner := m.namedTotal(&m.Routes[j], p); m.Timeout > 0 && total > m.Timeout {
				all = append(all, fmt.Sprintf("models[%d].routes[%d]: the timeouts.total of %s is %s, but the timeout of %s ends the call after %s",
					i, j, owner, time.Duration(total), m.ID, time.Duration(m.Timeout)))
			}
		}
	}
	return all
}

// namedTotal is the total that bounds the attempts of a route, and what sets it.
func (m *FileModel) namedTotal(r *FileRoute, p *FileProvider) (total Duration, owner string) {
	switch {
	case r.Timeouts.Total > 0:
		return r.Timeouts.Total, "the route"
	case m.Timeouts.Total > 0:
		return m.Timeouts.Total, "the model"
	case p != nil:
		return p.Timeouts.Total, "provider " + p.ID
	}
	return 0, ""
}
