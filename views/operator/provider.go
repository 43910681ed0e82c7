package operator

import (
	"slices"
	"strconv"
	"strings"

	"umg/views"
	"umg/views/format"
	"umg/views/ui"
)

// verdict is how a provider does.
func (p TrafficProvider) verdict() views.Badge {
	switch {
	case p.Unusable != "":
		return views.Badge{Tone: ui.Danger, Text: "Not set up"}
	case len(p.UnusableOn) > 0:
		return views.Badge{Tone: ui.Danger, Text: "Not set up on some replicas"}
	case p.Pause != nil:
		return views.Badge{Tone: ui.Warning, Text: "Paused"}
	case slices.ContainsFunc(p.Spend, func(s ProviderSpend) bool { return s.Credential == "" && s.reached() }):
		return views.Badge{Tone: ui.Warning, Text: "Spend cap reached"}
	case len(p.rests()) > 0:
		return views.Badge{Tone: ui.Warning, Text: "Credential resting"}
	case len(p.Seen) == 0:
		return views.Badge{Tone: ui.Plain, Text: "No calls lately"}
	}
	return views.Badge{Tone: ui.Success, Text: "In use"}
}

// rests are the credentials that rest, on any replica.
func (p TrafficProvider) rests() []RestSeen {
	var all []RestSeen
	for _, s := range p.Seen {
		all = append(all, s.Resting...)
	}
	return all
}

// where names the credential, and the model and the replica to which the rest is limited.
func (r RestSeen) where(p TrafficProvider) string {
	text := "No. " + strconv.Itoa(r.Credential)
	if r.Model != "" {
		text += " for " + r.Model
	}
	if len(p.Seen) > 1 {
		text += " on " + r.Replica
	}
	return text
}

// why says why a credential rests: the provider did something.
func (r RestSeen) why() string { return "the provider " + faultText(r.Fault, r.Status) }

// spanOf returns the range of a count over the replicas.
func (p TrafficProvider) spanOf(of func(ProviderSeen) int64) string {
	if len(p.Seen) == 0 {
		return "–"
	}
	all := each(p.Seen, of)
	low, high := slices.Min(all), slices.Max(all)
	if low == high {
		return format.Count(low)
	}
	return format.Count(low) + "–" + format.Count(high)
}

func (p TrafficProvider) sum(of func(ProviderSeen) int64) int64 {
	var n int64
	for _, one := range each(p.Seen, of) {
		n += one
	}
	return n
}

func (p TrafficProvider) attempts() string {
	return format.Count(p.sum(func(s ProviderSeen) int64 { return s.Attempts }))
}

func (p TrafficProvider) inFlight() string {
	return format.Count(p.sum(func(s ProviderSeen) int64 { return s.InFlight }))
}

func (p TrafficProvider) retries() string {
	return p.spanOf(func(s ProviderSeen) int64 { return s.RetriesLeft })
}

// limitText is a limit of the provider's own, which every replica keeps by itself.
func (t Traffic) limitText(limit int64) string {
	switch {
	case limit == 0:
		return "no limit"
	case len(t.Replicas) > 1:
		return "of " + format.Count(limit) + " a replica"
	}
	return "of " + format.Count(limit)
}

// billing says how calls of the provider are counted.
func (p TrafficProvider) billing() string {
	text := map[string]string{
		"stops": "Stops when a request is cancelled", "continues": "Continues when a request is cancelled",
	}[p.AfterCancel]
	if text == "" {
		text = "Unknown whether it stops when a request is cancelled"
	}
	if p.Usage != "" {
		text += " · usage as " + p.Usage
	}
	if p.CostIsPrice {
		text += " · its stated cost is the price"
	}
	return text
}

// keys says how many credentials there are.
func (p TrafficProvider) keys() string {
	resting := map[int]bool{}
	for _, r := range p.rests() {
		if r.Model == "" {
			resting[r.Credential] = true
		}
	}
	if len(resting) == 0 {
		return format.CountOf(int64(p.Credentials), "credential", "credentials")
	}
	return strconv.Itoa(len(resting)) + " of " + strconv.Itoa(p.Credentials) + " resting"
}

// list joins names for a sentence.
func list(names []string, most int) string {
	if len(names) > most {
		return strings.Join(names[:most], ", ") + " and " + strconv.Itoa(len(names)-most) + " more"
	}
	return strings.Join(names, ", ")
}

// again says how often a route was left out, after the first time.
func (s RouteSeen) again() string {
	if s.Ejections < 2 {
		return ""
	}
	return "for the " + ordinal(s.Ejections) + " time"
}

// ordinal is a place in a row: 1st, 2nd, 3rd, 4th.
func ordinal(n int64) string {
	text, tens, ones := strconv.FormatInt(n, 10), n/10%10, n%10
	switch {
	case tens == 1:
		return text + "th"
	case ones == 1:
		return text + "st"
	case ones == 2:
		return text + "nd"
	case ones == 3:
		return text + "rd"
	}
	return text + "th"
}
