package stories

import (
	"strings"
	"time"

	"umg/views"
	operatorpages "umg/views/operator"
)

func trafficAsks() []Story {
	ask := func(name, title string, status int, change func(*operatorpages.TrafficAsk)) Story {
		return Story{Name: name, Group: "Operator", Title: title, Status: status, Path: "/console/operator/pause", Adjust: operators,
			View: view(operatorpages.TrafficAskPage, func(s views.Shell) operatorpages.TrafficAsk {
				return operatorpages.TrafficAsk{Shell: s, Kind: "model", ID: "meridian/atlas", Pause: *examplePause("")}
			}, change)}
	}
	return []Story{
		ask("operator-pause-model", "Pause a model", 200, func(*operatorpages.TrafficAsk) {}),
		ask("operator-pause-error", "Pause a model, the reason is too long", 422, func(a *operatorpages.TrafficAsk) {
			a.Pause.Reason, a.ReasonError = strings.Repeat("long ", 50), "The reason may have at most 200 characters."
		}),
		ask("operator-pause-provider", "Pause a provider", 200, func(a *operatorpages.TrafficAsk) {
			a.Kind, a.ID, a.Others = "provider", "boreal", []string{"meridian/atlas", "aurora/mini"}
		}),
		ask("operator-pause-last", "Pause a provider that others depend on", 200, func(a *operatorpages.TrafficAsk) {
			a.Kind, a.ID, a.Others = "provider", "meridian", []string{"aurora/mini"}
			a.Stranded = []string{"meridian/atlas", "meridian/atlas-small"}
		}),
		ask("operator-resume-model", "Resume a model", 200, func(a *operatorpages.TrafficAsk) {
			a.Paused, a.Pause = true, *examplePause("We move it to other machines until 15:00 UTC")
		}),
		ask("operator-pause-hostile", "Pause a provider, hostile text", 200, func(a *operatorpages.TrafficAsk) {
			long := nastyText + strings.Repeat("averylongwordwithoutanyspace", 12)
			a.Kind, a.ID, a.Stranded, a.Others, a.Pause.Told = "provider", long, []string{long, long}, []string{long}, long
		}),
	}
}

func metricPages() []Story {
	story := func(name, title string, change func(*operatorpages.Metrics)) Story {
		return operatorStory(name, title, "/console/operator/metrics", view(operatorpages.MetricsPage, exampleMetrics, change))
	}
	return []Story{
		story("operator-metrics", "Metrics of a busy hour", func(*operatorpages.Metrics) {}),
		story("operator-metrics-empty", "Metrics, just started", func(m *operatorpages.Metrics) {
			for i := range m.Minutes {
				m.Minutes[i] = operatorpages.MetricMinute{Start: m.Minutes[i].Start, Seen: i == len(m.Minutes)-1}
			}
			m.Hour, m.RawURL = operatorpages.MetricMinute{Seen: true}, ""
			m.Replicas = []operatorpages.MetricReplica{{Name: replicaOne, Seen: at(time.Second)}}
		}),
		story("operator-metrics-none", "Metrics, before the first count", func(m *operatorpages.Metrics) {
			for i := range m.Minutes {
				m.Minutes[i] = operatorpages.MetricMinute{Start: m.Minutes[i].Start}
			}
			m.Hour, m.Replicas = operatorpages.MetricMinute{}, nil
		}),
		story("operator-metrics-store-error", "Metrics, the store is away", func(m *operatorpages.Metrics) {
			m.Minutes, m.Replicas, m.Failure = nil, nil, &views.LoadFailure{RequestID: "req_01kb4a6zt4h2s8j5y7r3w9mvaq"}
		}),
		story("operator-metrics-hostile", "Metrics, hostile text", func(m *operatorpages.Metrics) {
			m.Replicas[0].Name = nastyText + strings.Repeat("averylongwordwithoutanyspace", 12)
			m.Minutes[59].Calls, m.Minutes[59].First95 = 1<<62, 1<<62
		}),
	}
}

// exampleMetrics is an hour with a rush, a provider that fails and a restart.
func exampleMetrics(s views.Shell) operatorpages.Metrics {
	m := operatorpages.Metrics{Shell: s, RawURL: "http://127.0.0.1:9464/metrics", Minutes: make([]operatorpages.MetricMinute, 60)}
	end := Now().Truncate(time.Minute)
	for i := range m.Minutes {
		n := int64(i)
		one := operatorpages.MetricMinute{
			Start: end.Add(time.Duration(i-59) * time.Minute), Seen: true, Calls: 380 + 7*(n%11) + 5*(n%7), InFlightMax: 31 + n%9,
			First50: time.Duration(290+4*(n%8)) * time.Millisecond, First95: time.Duration(880+23*(n%9)) * time.Millisecond,
			Own50: time.Duration(410+9*(n%5)) * time.Microsecond, Own95: time.Duration(1900+70*(n%6)) * time.Microsecond, Errors: n % 3,
		}
		if i >= 30 && i < 38 {
			one.Calls, one.Limited, one.InFlightMax, one.Errors = one.Calls*2, 40+3*n, 92, 60+n
			one.First95 += 900 * time.Millisecond
		}
		if i == 44 || i == 45 {
			one = operatorpages.MetricMinute{Start: one.Start}
		}
		if i%17 == 5 {
			one.Unfunded = 3
		}
		if i == 36 {
			one.Overloaded = 55
		}
		m.Hour.Calls, m.Hour.Errors, m.Hour.Limited = m.Hour.Calls+one.Calls, m.Hour.Errors+one.Errors, m.Hour.Limited+one.Limited
		m.Hour.Unfunded, m.Hour.Overloaded = m.Hour.Unfunded+one.Unfunded, m.Hour.Overloaded+one.Overloaded
		m.Minutes[i] = one
	}
	m.Hour.Seen, m.Hour.First50, m.Hour.First95 = true, 305*time.Millisecond, 1100*time.Millisecond
	m.Hour.Own50, m.Hour.Own95 = 430*time.Microsecond, 2100*time.Microsecond
	one, two := m.Hour, m.Hour
	one.Calls, one.Errors, two.Calls, two.Errors = m.Hour.Calls/2, m.Hour.Errors, m.Hour.Calls-m.Hour.Calls/2, 0
	two.Limited, two.Unfunded, two.Overloaded = 0, 0, 0
	m.Replicas = []operatorpages.MetricReplica{
		{Name: replicaOne, Seen: at(2 * time.Second), InFlight: 18, MetricMinute: one},
		{Name: replicaTwo, Seen: at(4 * time.Second), InFlight: 16, MetricMinute: two},
	}
	return m
}

func catalogPages() []Story {
	list := func(name, title string, change func(*operatorpages.CatalogHistory)) Story {
		return Story{Name: name, Group: "Operator", Title: title, Status: 200, Path: "/console/operator/catalog", Adjust: operators,
			View: view(operatorpages.CatalogHistoryPage, func(s views.Shell) operatorpages.CatalogHistory {
				return operatorpages.CatalogHistory{Shell: s, Versions: exampleVersions(), Current: 14}
			}, change)}
	}
	one := func(name, title string, change func(*operatorpages.CatalogChange)) Story {
		return Story{Name: name, Group: "Operator", Title: title, Status: 200, Path: "/console/operator/catalog/13", Adjust: operators,
			View: view(operatorpages.CatalogVersionPage, func(s views.Shell) operatorpages.CatalogChange {
				return operatorpages.CatalogChange{Shell: s, Version: exampleVersions()[1], Current: 14, Since: exampleVersions()[0].Changes}
			}, change)}
	}
	return []Story{
		list("operator-catalog", "Catalog history", func(*operatorpages.CatalogHistory) {}),
		list("operator-catalog-empty", "Catalog history, nothing applied", func(h *operatorpages.CatalogHistory) {
			h.Versions,
				h.Current = nil, 0
		}),
		list("operator-catalog-page", "Catalog history, a page in the middle", func(h *operatorpages.CatalogHistory) {
			h.Versions, h.Newer, h.Older = h.Versions[1:3], true, 12
		}),
		list("operator-catalog-store-error", "Catalog history, the store is away", func(h *operatorpages.CatalogHistory) {
			h.Versions, h.Failure = nil, &views.LoadFailure{RequestID: "req_01kb4a6zt4h2s8j5y7r3w9mvaq"}
		}),
		list("operator-catalog-hostile", "Catalog history, hostile text", func(h *operatorpages.CatalogHistory) {
			h.Versions = []operatorpages.CatalogVersion{hostileVersion()}
		}),
		one("operator-version", "One version of the catalog", func(*operatorpages.CatalogChange) {}),
		one("operator-version-current", "The version in force", func(c *operatorpages.CatalogChange) {
			c.Version, c.Since = exampleVersions()[0], nil
		}),
		one("operator-version-same", "A version that says what is in force", func(c *operatorpages.CatalogChange) { c.Since = nil }),
		one("operator-version-gone", "A version whose file is not kept", func(c *operatorpages.CatalogChange) {
			c.Version, c.Since, c.Problem = exampleVersions()[3], nil, "There is no version 1 of the catalog, or its file is not kept any more."
		}),
		one("operator-version-hostile", "One version, hostile text", func(c *operatorpages.CatalogChange) {
			c.Version, c.Since = hostileVersion(), hostileVersion().Changes
		}),
		one("operator-version-long", "One version with more changes than are drawn", func(c *operatorpages.CatalogChange) {
			for range 500 {
				c.Since = append(c.Since, "~ model meridian/atlas description short → long")
			}
		}),
	}
}

func exampleVersions() []operatorpages.CatalogVersion {
	return []operatorpages.CatalogVersion{
		{Number: 14, At: at(26 * time.Minute), By: "ada@ops-1", Note: "Cheaper output since the new contract", Kept: true, Changes: []string{
			"~ model meridian/atlas rates.output_tokens 12.00 → 9.50",
			"+ model meridian/atlas routes[boreal atlas-2-hosted chat].provider boreal",
			"+ model meridian/atlas routes[boreal atlas-2-hosted chat].weight 30",
			"- model aurora/mini notice Back at noon",
		}},
		{Number: 13, At: at(30 * time.Hour), By: "grace@ops-2", Kept: true, Changes: []string{
			"+ provider cirrus", "- model aurora/nano", "~ model aurora/mini timeouts.first_byte 20s → 10s", "~ the order of models",
			"~ aliases.headers.x-api-key authorization → x-key",
		}},
		{Number: 12, At: at(9 * 24 * time.Hour), By: "", Whole: true, Kept: true},
		{Number: 1, Kept: false},
	}
}

func hostileVersion() operatorpages.CatalogVersion {
	long := strings.Repeat("averylongwordwithoutanyspace", 12)
	return operatorpages.CatalogVersion{
		Number: 1 << 62, At: at(time.Minute), By: nastyText + long, Note: nastyText + long, Kept: true, Changes: []string{
			"~ model " + nastyText + long, "+ model x " + nastyText + " " + long,
			"~ model x a[b " + long + " → → → " + nastyText, "", "?", "~ ]]][[[ x → y",
		},
	}
}
