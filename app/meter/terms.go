package meter

import (
	"fmt"
	"strings"
	"time"
)

// Terms are what decides the prices of a call beside its counts, as the provider served it. The zero value is the usual service.
// The texts are words of the catalog, such as flex or us, and not those of providers.
type Terms struct {
	// At is when the call began. Prices by the hour depend on it.
	At time.Time
	// ServiceTier is the tier that served the call: flex, priority, batch or another word that the rate card knows.
	ServiceTier string
	// Region is where the call was processed, when that has a price of its own.
	Region string
	// Speed is the mode that served the call, such as fast.
	Speed string
	// Size and Quality are those of a picture or a video.
	Size, Quality string
}

// members lists the members of Terms with their names in records.
func (t *Terms) members() [5]struct {
	name  string
	value *string
} {
	return [5]struct {
		name  string
		value *string
	}{
		{"service_tier", &t.ServiceTier}, {"region", &t.Region}, {"speed", &t.Speed}, {"size", &t.Size}, {"quality", &t.Quality},
	}
}

// String writes the terms as records keep them: name=value, separated by spaces, without the time. The usual service is empty.
func (t Terms) String() string {
	if (t == Terms{At: t.At}) {
		return ""
	}
	var parts []string
	for _, m := range t.members() {
		if *m.value != "" {
			parts = append(parts, m.name+"="+*m.value)
		}
	}
	return strings.Join(parts, " ")
}

// ParseTerms reads what String wrote.
func ParseTerms(s string, at time.Time) (Terms, error) {
	t := Terms{At: at}
	members := t.members()
next:
	for part := range strings.FieldsSeq(s) {
		name, value, _ := strings.Cut(part, "=")
		for _, m := range members {
			if m.name == name {
				*m.value = value
				continue next
			}
		}
		return t, fmt.Errorf("meter: %q is not a term of a price", part)
	}
	return t, nil
}
