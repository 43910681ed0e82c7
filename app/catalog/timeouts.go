package catalog

import (
	"cmp"
	"fmt"
	"time"
)

// The bound on the time without content where a file names none.
const (
	// contentFactor times the wait for the next event is the wait for the next content.
	contentFactor = 5

	// Models that hide their reasoning say nothing for minutes. Half of totalDefault is left for another route.
	contentDefaultMax = 5 * time.Minute
)

// ContentMax is how long a stream may go on without content while its provider gives other signs of life, each within sign:
// comments, pings, and frames that say nothing. It is zero for no bound.
func (t Timeouts) ContentMax(sign time.Duration) time.Duration {
	if t.Content > 0 {
		return t.Content
	}
	return max(sign, min(contentFactor*sign, contentDefaultMax))
}

// attemptTotal is how long one attempt on a route may take: as the route, the model or the provider names it, and without any
// of them as long as the whole call.
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

// namedTotal is the total that holds for the attempts of a route, and whose it is.
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
