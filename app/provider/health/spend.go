package health

import "umg/app/catalog"

// spentUp is which credentials of a provider have a spend cap that is reached.
type spentUp struct {
	// all means that no credential may be used.
	all         bool
	credentials uint64 // Credentials has a bit for each credential.
}

func (s spentUp) has(credential int) bool { return s.credentials>>uint(credential)&1 == 1 }

// spentUp asks for the spend caps of a provider. Most providers have none.
func (m *Monitor) spentUp(p *catalog.Provider) (s spentUp) {
	if p.Spend == nil || m.o.Capped == nil {
		return s
	}
	if m.o.Capped(p, "") {
		return spentUp{all: true}
	}
	s.all = len(p.Credentials) > 0
	for i := range p.Credentials {
		if id := p.CredentialID(i); id != "" && m.o.Capped(p, id) {
			s.credentials |= 1 << i
		} else {
			s.all = false
		}
	}
	return s
}

// SpentUp reports whether spend caps keep all calls away from a provider.
func (m *Monitor) SpentUp(p *catalog.Provider) bool { return m.spentUp(p).all }

// SpendCapped reports whether a spend cap keeps calls away from a provider that use its first credential alone.
func (m *Monitor) SpendCapped(p *catalog.Provider) bool {
	s := m.spentUp(p)
	return s.all || s.has(0)
}
