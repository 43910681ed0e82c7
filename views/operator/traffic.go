package operator

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"umg/views"
	"umg/views/format"
	"umg/views/ui"
)

const (
	unknownSpan  = "–"
	troubleNamed = 3 // models named in a sentence
)

// Traffic is where calls go at this moment: the models with their routes, and the providers.
type Traffic struct {
	views.Shell
	Replica     string // the replica that the page is about; empty for all replicas
	Replicas    []TrafficReplica
	Models      []TrafficModel
	Providers   []TrafficProvider
	PauseEvents []PauseEvent // newest first
	Query       TrafficQuery
	Callers     Callers
	Failure     *views.LoadFailure // the other replicas and the pauses could not be read
}

// TrafficReplica is a replica that reports the health of providers.
type TrafficReplica struct {
	Name string
	At   time.Time
	Own  bool // the replica that rendered the page
}

// TrafficPause is an operator's word that something takes no new calls.
type TrafficPause struct {
	Reason, By string
	At         time.Time
	Status     int    // status that clients get
	Code       string // error code that clients get
	Told       string // error message that clients get
	Wait       time.Duration
}

// TrafficModel is a model with its routes in the order in which they would be tried now.
type TrafficModel struct {
	ID     string
	Video  bool
	Pause  *TrafficPause // pause by an operator
	Closed string        // the catalog's own notice, when the catalog has paused the model
	Stops  bool          // the catalog has paused it
	State  views.ModelState
	Now    views.ModelNow
	Routes []TrafficRoute
	// Refused are the requests for the model that were refused in the last hour.
	Refused int64
}

// RouteState is the state of a route for calls.
type RouteState string

// The states of a route.
const (
	RouteOpen      RouteState = "open"
	RouteUnseen    RouteState = "unseen"  // no replica has tried it recently
	RouteTrial     RouteState = "trial"   // gets one call at a time, to test whether it works again
	RouteCrowded   RouteState = "crowded" // the provider's own limits are used up
	RouteCapped    RouteState = "capped"  // a spend cap is reached
	RouteResting   RouteState = "resting" // every credential of the provider is in its cooldown
	RouteEjected   RouteState = "ejected"
	RoutePaused    RouteState = "paused"    // paused with its provider
	RouteUnusable  RouteState = "unusable"  // the provider is not configured
	RouteUnwatched RouteState = "unwatched" // videos have no breaker
)

// TrafficRoute is one way to serve a model.
type TrafficRoute struct {
	Provider, ProviderName string
	Upstream, Style        string
	Place                  int   // position in the order of attempts; zero: it would not be tried
	Share                  int64 // percent, between routes of one place; zero without a random choice
	Unusable               string
	Seen                   []RouteSeen // state on each replica
}

// RouteSeen is how one replica sees a route.
type RouteSeen struct {
	Replica         string
	State           RouteState
	Fault           string // class of the last failure
	Status          int
	FaultAt         time.Time
	Until           time.Time // end of the ejection
	Slow            bool      // the route is ejected because another route is faster
	Ejections       int64
	Calls, Failures int64 // counts of the last minute
	P50, P95        time.Duration
	InFlight        int64
}

// TrafficProvider is a provider over all its models.
type TrafficProvider struct {
	ID, Name, Unusable string
	Credentials        int
	Pause              *TrafficPause
	Stranded           []string // models that would have no other route during a pause
	Concurrency, RPM   int64    // the provider's own limits on each replica; zero if unknown
	Seen               []ProviderSeen
	UnusableOn         []UnusableOn // replicas that cannot call it, while others can
	// AfterCancel is what it does after a cancelled request: stops, continues or unknown.
	AfterCancel string
	// Usage is the reader of its usage; empty for that of the style.
	Usage string
	// CostIsPrice means that the cost that it states is the price of the call.
	CostIsPrice bool
	// Spend are the spend caps, with what is spent.
	Spend []ProviderSpend
}

// UnusableOn is a replica that cannot call a provider, and why.
type UnusableOn struct{ Replica, Reason string }

// ProviderSeen is how one replica sees a provider.
type ProviderSeen struct {
	Replica                         string
	InFlight, Attempts, RetriesLeft int64
	Resting                         []RestSeen
}

// RestSeen is a credential that is not used for a while, for one model or for all.
type RestSeen struct {
	Replica    string
	Credential int
	Model      string // empty for all models
	Fault      string
	Status     int
	Until      time.Time
}

// PauseEvent is a pause or its end, by an operator.
type PauseEvent struct {
	Paused     bool
	Kind, ID   string
	Reason, By string
	At         time.Time
}

// TrafficAsk asks before a model or a provider is paused or let go on.
type TrafficAsk struct {
	views.Shell
	Kind, ID    string
	Pause       TrafficPause // the pause in force, or the one to be confirmed
	Paused      bool         // the pause is in force
	ReasonError string
	Stranded    []string // models without another route, when a provider is paused
	Others      []string // models that continue on other routes
}

func (a TrafficAsk) verb() string {
	if a.Paused {
		return "Resume"
	}
	return "Pause"
}

func (a TrafficAsk) action() string { return views.OperatorPath + "/" + strings.ToLower(a.verb()) }

// path leads to the question before something is paused or let go on.
func askPath(kind, id string, paused bool) string {
	to := views.OperatorPath + "/pause"
	if paused {
		to = views.OperatorPath + "/resume"
	}
	return to + "?" + url.Values{"kind": {kind}, "id": {id}}.Encode()
}

// domID is an id for an element made of a name that may hold anything. Different names have different ids.
func domID(prefix, name string) string {
	var b strings.Builder
	b.WriteString(prefix + "-")
	for _, r := range name {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' {
			b.WriteRune(r)
			continue
		}
		b.WriteString("_" + strconv.FormatInt(int64(r), 16))
	}
	return b.String()
}

// query is the address of the page as it is.
func (t Traffic) query() TrafficQuery { return t.Query.of(t.Replica) }

func (t Traffic) at(replica string) string { return t.Query.of(replica).Path() }

var routeVerdicts = map[RouteState]views.Badge{
	RouteOpen:      {Tone: ui.Success, Text: "Answering"},
	RouteUnseen:    {Tone: ui.Plain, Text: "No calls lately"},
	RouteTrial:     {Tone: ui.Warning, Text: "On trial"},
	RouteCrowded:   {Tone: ui.Warning, Text: "At its limit"},
	RouteCapped:    {Tone: ui.Warning, Text: "Spend cap reached"},
	RouteResting:   {Tone: ui.Danger, Text: "No credential"},
	RouteEjected:   {Tone: ui.Danger, Text: "Ejected"},
	RoutePaused:    {Tone: ui.Warning, Text: "Provider paused"},
	RouteUnusable:  {Tone: ui.Danger, Text: "Not set up"},
	RouteUnwatched: {Tone: ui.Plain, Text: "No health check"},
}

// badness orders states: what an operator has to know comes last.
var badness = []RouteState{
	RouteUnwatched, RouteUnseen, RouteOpen, RouteCrowded, RouteTrial, RouteCapped, RouteResting, RouteEjected, RoutePaused, RouteUnusable,
}

// state is the worst that any replica sees, and how many see it.
func (r TrafficRoute) state() (worst RouteSeen, n int) {
	if r.Unusable != "" {
		return RouteSeen{State: RouteUnusable}, 0
	}
	worst.State = RouteUnwatched
	for _, s := range r.Seen {
		switch a, b := slices.Index(badness, s.State), slices.Index(badness, worst.State); {
		case a > b || n == 0:
			worst, n = s, 1
		case a == b:
			n++
			if s.Until.After(worst.Until) {
				worst = s
			}
		}
	}
	return worst, n
}

func (r TrafficRoute) in(state RouteState) bool {
	worst, _ := r.state()
	return worst.State == state
}

// verdict is the state of a route over the replicas.
func (r TrafficRoute) verdict() views.Badge {
	worst, n := r.state()
	v := routeVerdicts[worst.State]
	if n > 0 && n < len(r.Seen) && worst.State != RouteOpen && worst.State != RouteUnseen {
		v.Text += " on " + strconv.Itoa(n) + " of " + strconv.Itoa(len(r.Seen))
		v.Tone = ui.Warning
	}
	return v
}

// differs reports whether the states of the route on the replicas differ so much that each is listed.
func (r TrafficRoute) differs() bool {
	quiet := func(s RouteState) bool { return s == RouteOpen || s == RouteUnseen }
	for _, s := range r.Seen {
		if s.State != r.Seen[0].State && (!quiet(s.State) || !quiet(r.Seen[0].State)) {
			return true
		}
	}
	return false
}

// faultWords say in which way an attempt failed, as the end of a sentence that begins with "it".
var faultWords = map[string]string{
	"connect": "could not be reached", "dns": "has an address that cannot be resolved", "tls": "has no certificate that can be trusted",
	"reset": "broke off the connection", "first_byte_timeout": "did not begin to answer in time", "idle_timeout": "fell silent in an answer",
	"total_timeout": "did not finish an answer in time", "rate_limited": "asked us to slow down", "server_error": "failed with a server error",
	"credential": "refused our credential", "refused": "refused a call", "redirect": "sent us elsewhere",
	"content": "sent something else than an answer", "too_large": "sent too much", "setup": "cannot be called as the catalog says",
}

// faultText is a failure in a few words.
func faultText(class string, status int) string {
	text, known := faultWords[class]
	if !known {
		text = "failed: " + class
	}
	if status != 0 {
		text += " (" + strconv.Itoa(status) + ")"
	}
	return text
}

// reason is why a route is in a state, in a few words. The time of the failure follows it.
func (s RouteSeen) reason() string {
	switch {
	case s.State == RouteCrowded:
		return "The provider's own limits are used up"
	case s.State == RouteCapped:
		return "Goes on in the next day or month, or with a higher cap"
	case s.State == RouteUnwatched:
		return "Circuit breaker covers text only"
	case s.State == RoutePaused:
		return "Goes on when the provider is resumed"
	case s.State == RouteEjected && s.Slow:
		return "Another route answers sooner"
	case s.Fault == "":
		return ""
	case s.State == RouteOpen || s.State == RouteUnseen:
		return "Last failure: " + faultText(s.Fault, s.Status)
	}
	return "It " + faultText(s.Fault, s.Status)
}

// sums of a route over the replicas.
func (r TrafficRoute) calls() (calls, failures, inFlight int64) {
	for _, s := range r.Seen {
		calls, failures, inFlight = calls+s.Calls, failures+s.Failures, inFlight+s.InFlight
	}
	return calls, failures, inFlight
}

// failed is the part of calls that failed, empty when there were none.
func (r TrafficRoute) failed() string {
	calls, failures, _ := r.calls()
	if calls == 0 {
		return ""
	}
	return format.Percent(failures, calls) + " failed"
}

// span is what the replicas measured: one figure where they agree, else from the least to the most.
func span(all []time.Duration) string {
	var known []time.Duration
	for _, d := range all {
		if d > 0 {
			known = append(known, d)
		}
	}
	if len(known) == 0 {
		return unknownSpan
	}
	low, high := format.Duration(slices.Min(known)), format.Duration(slices.Max(known))
	if low == high {
		return low
	}
	if unit := " ms"; strings.HasSuffix(low, unit) && strings.HasSuffix(high, unit) {
		low = strings.TrimSuffix(low, unit)
	}
	return low + "–" + high
}

func (r TrafficRoute) p50() string {
	return span(each(r.Seen, func(s RouteSeen) time.Duration { return s.P50 }))
}

func (r TrafficRoute) p95() string {
	return span(each(r.Seen, func(s RouteSeen) time.Duration { return s.P95 }))
}

func each[S, T any](all []S, of func(S) T) []T {
	list := make([]T, len(all))
	for i, s := range all {
		list[i] = of(s)
	}
	return list
}

// place is where the route is in the order of trying.
func (r TrafficRoute) place() string {
	if r.Place == 0 {
		return "–"
	}
	return strconv.Itoa(r.Place)
}

// placeNote is the share of calls that the route gets, or that it is not tried.
func (r TrafficRoute) placeNote() string {
	switch {
	case r.Place == 0:
		return "not tried"
	case r.Share > 0:
		return strconv.FormatInt(r.Share, 10) + "% of calls"
	}
	return ""
}

// badge is the state of a model as customers see it. A model that is in no catalog any more has only a pause.
func (m TrafficModel) badge(now time.Time) views.Badge {
	if m.State == "" {
		return m.verdict()
	}
	return views.Model{State: m.State}.Badge(now)
}

// verdict is how the routes of a model do.
func (m TrafficModel) verdict() views.Badge {
	if m.Pause != nil || m.Stops {
		return views.Badge{Tone: ui.Warning, Text: "Paused"}
	}
	var usable, well, ejected, open int
	for _, r := range m.Routes {
		worst, n := r.state()
		if worst.State != RouteUnusable && worst.State != RoutePaused {
			usable++
		}
		if worst.State == RouteEjected && n == len(r.Seen) {
			ejected++
		}
		if worst.State == RouteOpen || worst.State == RouteUnseen || worst.State == RouteUnwatched {
			well++
		}
		if worst.State == RouteOpen {
			open++
		}
	}
	switch {
	case usable == 0:
		return views.Badge{Tone: ui.Danger, Text: "No route"}
	case ejected == usable:
		return views.Badge{Tone: ui.Danger, Text: "All routes ejected"}
	case well < len(m.Routes):
		return views.Badge{Tone: ui.Warning, Text: "Not at full strength"}
	case m.Video:
		return views.Badge{Tone: ui.Plain, Text: "No health check"}
	case open == 0:
		return views.Badge{Tone: ui.Plain, Text: "Ready"}
	}
	return views.Badge{Tone: ui.Success, Text: "Answering"}
}

// note explains the state of a model where its routes do not.
func (m TrafficModel) note() string {
	v := m.verdict()
	switch {
	case m.Stops && m.Pause == nil:
		return "The catalog in force pauses this model; apply one that does not to let calls through."
	case v.Text == "No route" && slices.ContainsFunc(m.Routes, func(r TrafficRoute) bool { return r.in(RoutePaused) }):
		return "Clients get 503 model_temporarily_unavailable."
	case v.Text == "No route":
		return "Clients get 503 no_available_provider."
	case v.Text == "All routes ejected":
		return "Every call still tries one of them, so the model recovers as soon as one answers."
	}
	return ""
}

// trouble counts the models that are paused, and names those that need a look.
func (t Traffic) trouble() (paused int, bad []string) {
	for _, m := range t.Models {
		v := m.verdict()
		switch {
		case v.Text == "Paused":
			paused++
		case v.Tone == ui.Danger || v.Tone == ui.Warning:
			bad = append(bad, m.ID)
		}
	}
	return paused, bad
}

// said is the state of all models and providers in a sentence, for screen readers.
func (t Traffic) said() views.Badge {
	paused, bad := t.trouble()
	var words []string
	if len(bad) > 0 {
		words = append(words, format.CountOf(int64(len(bad)), "model needs", "models need")+" a look: "+list(bad, troubleNamed))
	}
	if paused > 0 {
		words = append(words, format.CountOf(int64(paused), "model is", "models are")+" paused")
	}
	stopped := 0
	for _, p := range t.Providers {
		if p.Pause != nil {
			stopped++
		}
	}
	if stopped > 0 {
		words = append(words, format.CountOf(int64(stopped), "provider is", "providers are")+" paused")
	}
	switch {
	case len(t.Models) == 0:
		return views.Badge{Tone: ui.Warning, Text: "No model takes calls: the catalog has none."}
	case len(bad) > 0:
		return views.Badge{Tone: ui.Warning, Text: strings.Join(words, "; ") + "."}
	case len(words) > 0:
		return views.Badge{Tone: ui.Info, Text: strings.Join(words, ", ") + "; everything else takes calls."}
	}
	return views.Badge{Tone: ui.Success, Text: "Every model takes calls."}
}

// sums of everything.
func (t Traffic) sums() (calls, failures, inFlight int64) {
	seen := map[string]bool{}
	for _, m := range t.Models {
		for _, r := range m.Routes {
			id := r.Provider + " " + r.Upstream
			if seen[id] { // two models may share a provider
				continue
			}
			seen[id] = true
			c, f, n := r.calls()
			calls, failures, inFlight = calls+c, failures+f, inFlight+n
		}
	}
	return calls, failures, inFlight
}
