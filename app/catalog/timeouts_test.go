package catalog

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// TestTheTotalOfAnAttemptAndTheTimeoutOfACallBothHold names the two bounds in every combination.
func TestTheTotalOfAnAttemptAndTheTimeoutOfACallBothHold(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name                          string
		provider, model, route, whole string // These are the totals that are named, and the timeout of the model.
		total, timeout                time.Duration
		warns                         string // Warns is a part of the warning; empty for none.
	}{
		{"nothing is named", "", "", "", "", 10 * time.Minute, 10 * time.Minute, ""},
		{"a short total", "30s", "", "", "10m", 30 * time.Second, 10 * time.Minute, ""},
		{"a short total of the model", "", "30s", "", "10m", 30 * time.Second, 10 * time.Minute, ""},
		{"a short total of the route", "5m", "4m", "30s", "10m", 30 * time.Second, 10 * time.Minute, ""},
		{"no total and a long call", "", "", "", "20m", 20 * time.Minute, 20 * time.Minute, ""},
		{"no total and a short call", "", "", "", "1m", time.Minute, time.Minute, ""},
		{"a long total and no timeout", "30m", "", "", "", 30 * time.Minute, 30 * time.Minute, ""},
		{"a long total and a short call", "15m", "", "", "2m", 15 * time.Minute, 2 * time.Minute, "timeouts.total of provider north is 15m"},
		{"a long total of the model", "1m", "15m", "", "2m", 15 * time.Minute, 2 * time.Minute, "timeouts.total of the model is 15m"},
		{"a long total of the route", "1m", "", "15m", "2m", 15 * time.Minute, 2 * time.Minute, "timeouts.total of the route is 15m"},
	} {
		file := parse(t, totalsFile(c.provider, c.model, c.route, c.whole))
		if all := Check(file); all != nil {
			t.Fatal(c.name, all)
		}
		s := snapshotFrom(t, file)
		m, _ := s.Model("acme/small")
		if got := m.Routes[0].Timeouts.Total; got != c.total || m.Timeout != c.timeout {
			t.Errorf("%s: an attempt may take %s and the call %s, want %s and %s", c.name, got, m.Timeout, c.total, c.timeout)
		}
		warnings := idleTotals(file)
		if c.warns == "" && len(warnings) > 0 || c.warns != "" && (len(warnings) != 1 || !strings.Contains(warnings[0], c.warns) ||
			!strings.HasPrefix(warnings[0], "models[0].routes[0]: ") || !strings.Contains(warnings[0], "2m")) {
			t.Errorf("%s: the warnings are %q", c.name, warnings)
		}
	}
}

func totalsFile(provider, model, route, whole string) string {
	named := func(key, value string) string {
		if value == "" {
			return ""
		}
		return key + ": " + value
	}
	return `
providers:
  - {id: north, name: North, base_url: https://north.example/v1, credential: "${KEY}", timeouts: {` + named("total", provider) + `}}
models:
  - id: acme/small
    name: Small
    owner: acme
    kind: text
    capabilities: [text]
    input: [text]
    output: [text]
    context_tokens: 1000
    max_output_tokens: 500
    styles: [chat]
    ` + named("timeout", whole) + `
    timeouts: {` + named("total", model) + `}
    rates: {input_tokens: 1 per 1M, output_tokens: 1 per 1M}
    released: 2026-05-01
    routes:
      - {provider: north, model: s, style: chat, timeouts: {` + named("total", route) + `}}
`
}

func TestTheDefaultCatalogHasNoWarnings(t *testing.T) {
	t.Parallel()
	if got := Warnings(parse(t, string(Default()))); len(got) > 0 {
		t.Errorf("%q", got)
	}
}

func TestTheTimeWithoutContentIsBoundedByDefault(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ named, sign, want time.Duration }{
		{0, time.Minute, 5 * time.Minute},
		{0, 2 * time.Second, 10 * time.Second},
		{0, 2 * time.Minute, 5 * time.Minute},
		{0, 8 * time.Minute, 8 * time.Minute},
		{0, 0, 0},
		{time.Second, time.Minute, time.Second},
		{20 * time.Minute, time.Minute, 20 * time.Minute},
	} {
		if got := (Timeouts{Content: c.named}).ContentMax(c.sign); got != c.want {
			t.Errorf("with %s named and %s for a sign of life: %s, want %s", c.named, c.sign, got, c.want)
		}
	}
	file := strings.Replace(totalsFile("", "", "", ""), "timeouts: {}", "timeouts: {content: 40s}", 1)
	small, _ := snapshotFrom(t, parse(t, file)).Model("acme/small")
	if w := small.Routes[0].Timeouts; w.Content != 40*time.Second {
		t.Errorf("content %s", w.Content)
	}
	bad := Check(parse(t, strings.Replace(file, "40s", "2h", 1)))
	if !slices.ContainsFunc(bad, func(err error) bool { return strings.HasPrefix(err.Error(), "providers[0].timeouts.content: ") }) {
		t.Errorf("%v", bad)
	}
}
