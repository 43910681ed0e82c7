package stories

import (
	"net/http"

	"slices"
	"strings"
	"time"

	"github.com/a-h/templ"

	"umg/views"
	operatorpages "umg/views/operator"
)

const (
	replicaOne = "gateway-7d9f-01"
	replicaTwo = "gateway-7d9f-02"
	nastyText  = "<script>alert(\"1\")</script> \u202egnp.exe "
)

func operators(s *views.Shell) { s.Viewer.Operator = true }

// operatorStory is a page for operators.
func operatorStory(name, title, path string, draw func(views.Shell) templ.Component) Story {
	return Story{Name: name, Group: "Operator", Title: title, Status: http.StatusOK, Path: path, Adjust: operators, View: draw}
}

func trafficStory(name, title string, change func(*operatorpages.Traffic)) Story {
	return operatorStory(name, title, "/console/operator", view(operatorpages.TrafficPage, exampleTraffic, change))
}

func operatorPages() []Story {
	return slices.Concat([]Story{
		trafficStory("operator-traffic", "Traffic, all is well", func(*operatorpages.Traffic) {}),
		trafficStory("operator-traffic-empty", "Traffic, no catalog in force", func(t *operatorpages.Traffic) {
			t.Models, t.Providers, t.PauseEvents = nil, nil, nil
		}),
		trafficStory("operator-traffic-quiet", "Traffic, just started", func(t *operatorpages.Traffic) {
			t.PauseEvents = nil
			for i := range t.Models {
				for k := range t.Models[i].Routes {
					if r := &t.Models[i].Routes[k]; len(r.Seen) > 0 && r.Seen[0].State == operatorpages.RouteOpen {
						r.Seen = []operatorpages.RouteSeen{{Replica: replicaOne, State: operatorpages.RouteUnseen}}
					}
				}
			}
			for i := range t.Providers {
				t.Providers[i].Seen = nil
			}
		}),
		trafficStory("operator-traffic-ejected", "Traffic, one route ejected", func(t *operatorpages.Traffic) { ejectFirst(&t.Models[0], 1) }),
		trafficStory("operator-traffic-all-ejected", "Traffic, all routes of a model ejected", func(t *operatorpages.Traffic) {
			ejectFirst(&t.Models[0], 2)
			t.Models[0].Routes[0].Place, t.Models[0].Routes[1].Place = 1, 2
			t.Models[1].Routes[0].Seen[0].State = operatorpages.RouteTrial
			t.Models[1].Routes[0].Seen[0].Fault, t.Models[1].Routes[0].Seen[0].FaultAt = "first_byte_timeout", at(40*time.Second)
		}),
		trafficStory("operator-traffic-paused", "Traffic, a model and a provider paused", pausedTraffic),
		trafficStory("operator-traffic-resting", "Traffic, a credential resting and a provider at its limits", restingTraffic),
		trafficStory("operator-traffic-spend", "Traffic, spend caps that are near and reached", spentTraffic),
		trafficStory("operator-traffic-replicas", "Traffic, two replicas with different views", twoReplicas),
		trafficStory("operator-traffic-replica", "Traffic, as one replica sees it", func(t *operatorpages.Traffic) {
			twoReplicas(t)
			t.Replica = replicaTwo
			for i := range t.Models {
				for k := range t.Models[i].Routes {
					if r := &t.Models[i].Routes[k]; len(r.Seen) > 1 {
						r.Seen = r.Seen[1:]
					}
				}
			}
		}),
		trafficStory("operator-traffic-store-error", "Traffic, the store is away", func(t *operatorpages.Traffic) {
			t.PauseEvents, t.Failure = nil, &views.LoadFailure{RequestID: "req_01kb4a6zt4h2s8j5y7r3w9mvaq"}
		}),
		trafficStory("operator-traffic-problems", "Traffic, problems first, with refused accounts", func(t *operatorpages.Traffic) {
			ejectFirst(&t.Models[1], 1)
			t.Models[0].Refused = 1204
			t.Callers.List = exampleCallers()
		}),
		trafficStory("operator-traffic-closed", "Traffic, all models but one collapsed", func(t *operatorpages.Traffic) {
			t.Query.Closed, t.Query.Flipped = true, []string{t.Models[0].ID}
		}),
		trafficStory("operator-traffic-search", "Traffic, a search", func(t *operatorpages.Traffic) {
			t.Query.Text, t.Callers.List = "aurora", exampleCallers()[:1]
			t.Callers.List[0].Counted, t.Callers.List[0].Calls, t.Callers.List[0].Failed = true, 48_211, 311
			t.Callers.List[0].FirstByte = 412 * time.Millisecond
		}),
		trafficStory("operator-traffic-nothing", "Traffic, a search that finds nothing", func(t *operatorpages.Traffic) {
			t.Query.Text = "nothing-of-this-name"
		}),
		trafficStory("operator-traffic-callers-late", "Traffic, accounts that take too long to add up", func(t *operatorpages.Traffic) {
			t.Callers.Late = true
		}),
		trafficStory("operator-traffic-hostile", "Traffic, hostile text", hostileTraffic),
	}, trafficAsks(), queuePages(), jobPages(), accountPages(), confirmPages(), onePages(), actionPages(), trialPages(), codePages(),
		credentialPages(), providerPages(), providerFormPages(), providerTestPages(), providerModelPages(),
		providerPublishPages(), catalogPages(), metricPages(),
		marginPages(), providerManagement(), modelManagement())
}

func exampleTraffic(s views.Shell) operatorpages.Traffic {
	seen := func(calls, failures int64, p50, p95 time.Duration, flying int64) []operatorpages.RouteSeen {
		return []operatorpages.RouteSeen{{
			Replica: replicaOne, State: operatorpages.RouteOpen, Calls: calls, Failures: failures, P50: p50, P95: p95, InFlight: flying,
		}}
	}
	const ms = time.Millisecond
	return operatorpages.Traffic{
		Shell:    s,
		Replicas: []operatorpages.TrafficReplica{{Name: replicaOne, At: at(time.Second), Own: true}},
		Models: []operatorpages.TrafficModel{
			{ID: "meridian/atlas", Routes: []operatorpages.TrafficRoute{
				{Provider: "meridian", ProviderName: "Meridian", Upstream: "atlas-2", Style: "chat", Place: 1, Seen: seen(412, 3, 310*ms, 920*ms, 38)},
				{Provider: "boreal", ProviderName: "Boreal Cloud", Upstream: "atlas-2-hosted", Style: "chat", Place: 2, Seen: seen(0, 0, 0, 0, 0)},
			}},
			{ID: "aurora/mini", Routes: []operatorpages.TrafficRoute{
				{Provider: "aurora", ProviderName: "Aurora", Upstream: "mini", Style: "messages", Place: 1, Share: 70,
					Seen: seen(96, 0, 180*ms, 450*ms, 4)},
				{Provider: "boreal", ProviderName: "Boreal Cloud", Upstream: "aurora-mini", Style: "chat", Place: 1, Share: 30,
					Seen: seen(41, 0, 240*ms, 1400*ms, 2)},
				{Provider: "cirrus", ProviderName: "Cirrus", Upstream: "mini", Style: "messages",
					Unusable: "credential: the variable CIRRUS_API_KEY is not set"},
			}},
			{ID: "kestrel/swift", Video: true, Routes: []operatorpages.TrafficRoute{
				{Provider: "kestrel", ProviderName: "Kestrel", Upstream: "swift-1", Style: "tasks", Place: 1,
					Seen: []operatorpages.RouteSeen{{Replica: replicaOne, State: operatorpages.RouteUnwatched}}},
			}},
		},
		Providers: []operatorpages.TrafficProvider{
			{ID: "meridian", Name: "Meridian", Credentials: 2, Concurrency: 200, AfterCancel: "stops", Usage: "openai",
				Seen: []operatorpages.ProviderSeen{{Replica: replicaOne, InFlight: 38, Attempts: 414, RetriesLeft: 16}}},
			{ID: "boreal", Name: "Boreal Cloud", Credentials: 1, RPM: 600, AfterCancel: "continues", Usage: "openrouter", CostIsPrice: true,
				Seen: []operatorpages.ProviderSeen{{Replica: replicaOne, InFlight: 2, Attempts: 41, RetriesLeft: 10}}},
			{ID: "aurora", Name: "Aurora", Credentials: 1,
				Seen: []operatorpages.ProviderSeen{{Replica: replicaOne, InFlight: 4, Attempts: 96, RetriesLeft: 11}}},
			{ID: "cirrus", Name: "Cirrus", Credentials: 1, Unusable: "credential: the variable CIRRUS_API_KEY is not set"},
			{ID: "kestrel", Name: "Kestrel", Credentials: 1},
		},
		PauseEvents: []operatorpages.PauseEvent{
			{Kind: "model", ID: "meridian/atlas", By: Email, At: at(50 * time.Minute)},
			{Paused: true, Kind: "model", ID: "meridian/atlas", By: Email,
				Reason: "We move it to other machines until 09:00 UTC", At: at(95 * time.Minute)},
		},
	}
}

// ejectFirst ejects the first routes of a model, which then are tried last.
func ejectFirst(m *operatorpages.TrafficModel, n int) {
	for i := range n {
		r := &m.Routes[i]
		r.Place = 0
		s := &r.Seen[0]
		s.State, s.Until, s.Ejections = operatorpages.RouteEjected, at(-48*time.Second), int64(i)+1
		s.Fault, s.Status, s.FaultAt = "server_error", 503, at(12*time.Second)
		s.Calls, s.Failures, s.InFlight = 38, 21, 0
	}
	if n == 1 {
		m.Routes[0], m.Routes[1] = m.Routes[1], m.Routes[0]
		m.Routes[0].Place = 1
		m.Routes[0].Seen[0].Calls, m.Routes[0].Seen[0].P50, m.Routes[0].Seen[0].P95 = 374, 410*time.Millisecond, 1200*time.Millisecond
	}
}

func exampleCallers() []operatorpages.Caller {
	return []operatorpages.Caller{
		{AccountID: "acct_01kb4a7k2f8s4j6h1d9a3g5b7t", Account: "Harbour Analytics", Refused: 1204, RefusedMost: "rate_limit_exceeded"},
		{AccountID: storyAccount, Account: "Quarry & Sons", Refused: 41, RefusedMost: "insufficient_credit"},
	}
}

func examplePause(reason string) *operatorpages.TrafficPause {
	told := "The model meridian/atlas is temporarily unavailable because of platform traffic control. "
	if reason != "" {
		told += reason + ". "
	}
	return &operatorpages.TrafficPause{
		Reason: reason, By: Email, At: at(4 * time.Minute), Status: 503, Code: "model_temporarily_unavailable",
		Told: told + "Try again later or choose another model.", Wait: 30 * time.Second,
	}
}

func pausedTraffic(t *operatorpages.Traffic) {
	t.Models[0].Pause = examplePause("We move it to other machines until 15:00 UTC")
	t.Models[2].Stops, t.Models[2].Closed = true, "Being rebuilt until December"
	p := &t.Providers[2]
	p.Pause, p.Stranded = examplePause(""), []string{"aurora/large"}
	p.Pause.Reason = "Their invoices are wrong"
	t.Models[1].Routes[0].Place, t.Models[1].Routes[0].Share, t.Models[1].Routes[1].Share = 0, 0, 0
	t.Models[1].Routes[0].Seen[0].State = operatorpages.RoutePaused
	t.Models[1].Routes[0], t.Models[1].Routes[1] = t.Models[1].Routes[1], t.Models[1].Routes[0]
	t.PauseEvents = append([]operatorpages.PauseEvent{
		{Paused: true, Kind: "provider", ID: "aurora", By: Email, Reason: p.Pause.Reason, At: at(4 * time.Minute)},
	}, t.PauseEvents...)
}

func restingTraffic(t *operatorpages.Traffic) {
	t.Providers[0].Seen[0].Resting = []operatorpages.RestSeen{
		{Replica: replicaOne, Credential: 1, Fault: "credential", Status: 401, Until: at(-50 * time.Second)},
		{Replica: replicaOne, Credential: 2, Model: "atlas-2", Fault: "rate_limited", Status: 429, Until: at(-8 * time.Second)},
	}
	first := &t.Models[0].Routes[0]
	first.Place, first.Seen[0].State, first.Seen[0].Fault, first.Seen[0].Status = 0, operatorpages.RouteResting, "rate_limited", 429
	first.Seen[0].FaultAt = at(3 * time.Second)
	t.Models[0].Routes[0], t.Models[0].Routes[1] = t.Models[0].Routes[1], t.Models[0].Routes[0]
	t.Models[0].Routes[0].Place = 1
	second := &t.Models[1].Routes[1]
	second.Place, second.Seen[0].State, second.Share = 2, operatorpages.RouteCrowded, 0
	t.Models[1].Routes[0].Share = 0
	t.Providers[1].Seen[0].Attempts = 600
}

func twoReplicas(t *operatorpages.Traffic) {
	ejectFirst(&t.Models[0], 1)
	t.Replicas = append(t.Replicas, operatorpages.TrafficReplica{Name: replicaTwo, At: at(3 * time.Second)})
	for i := range t.Models {
		for k := range t.Models[i].Routes {
			r := &t.Models[i].Routes[k]
			if len(r.Seen) == 0 {
				continue
			}
			other := r.Seen[0]
			other.Replica = replicaTwo
			if other.State == operatorpages.RouteEjected {
				other.State, other.P50, other.P95, other.Failures = operatorpages.RouteOpen, 305*time.Millisecond, 880*time.Millisecond, 1
				r.Place = 2
			}
			r.Seen = append(r.Seen, other)
		}
	}
	last := &t.Providers[len(t.Providers)-1]
	last.UnusableOn = []operatorpages.UnusableOn{{Replica: replicaTwo, Reason: "credential: the variable UMG_PROVIDER_KESTREL_KEY is not set"}}
	for i := range t.Providers {
		if p := &t.Providers[i]; len(p.Seen) > 0 {
			other := p.Seen[0]
			other.Replica, other.RetriesLeft, other.Attempts = replicaTwo, other.RetriesLeft-4, other.Attempts+20
			p.Seen = append(p.Seen, other)
		}
	}
	t.Providers[0].Seen[0].Resting = []operatorpages.RestSeen{
		{Replica: replicaOne, Credential: 1, Fault: "credential", Status: 401, Until: at(-50 * time.Second)},
	}
}

func hostileTraffic(t *operatorpages.Traffic) {
	long := strings.Repeat("averylongwordwithoutanyspace", 12)
	t.Replicas = append(t.Replicas, operatorpages.TrafficReplica{Name: nastyText + long, At: at(time.Minute)})
	t.Models = t.Models[:1]
	m := &t.Models[0]
	m.ID, m.Closed, m.Pause = nastyText+long, nastyText+long, examplePause(nastyText+long)
	m.Pause.By, m.Pause.Told, m.Pause.Code = nastyText+long, nastyText+long, "model_temporarily_unavailable"
	for i := range m.Routes {
		r := &m.Routes[i]
		r.ProviderName, r.Upstream, r.Unusable = nastyText+long, nastyText+long, nastyText+long
	}
	m.Routes[0].Unusable = ""
	s := &m.Routes[0].Seen[0]
	s.Replica, s.Fault, s.Status, s.FaultAt, s.State = nastyText, nastyText+long, 599, at(time.Second), operatorpages.RouteEjected
	other := *s
	other.State = operatorpages.RouteOpen
	m.Routes[0].Seen = append(m.Routes[0].Seen, other)
	p := &t.Providers[0]
	t.Providers = t.Providers[:1]
	p.Name, p.ID, p.Unusable, p.Pause, p.Stranded = nastyText+long, nastyText+long, nastyText, m.Pause, []string{nastyText + long}
	p.UnusableOn = []operatorpages.UnusableOn{{Replica: nastyText + long, Reason: nastyText + long}}
	p.Seen[0].Resting = []operatorpages.RestSeen{
		{Replica: nastyText + long, Credential: 1, Model: nastyText + long, Fault: nastyText, Until: at(-time.Second)},
	}
	t.PauseEvents = []operatorpages.PauseEvent{
		{Paused: true, Kind: "model", ID: nastyText + long, By: nastyText + long, Reason: nastyText + long, At: at(time.Second)},
	}
}
