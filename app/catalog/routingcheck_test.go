package catalog

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"umg/app/llm"
)

// routingFile has every word about routing.
const routingFile = `
providers:
  - id: north
    name: North
    base_url: https://north.example/v1
    credential: ${KEY}
    credentials:
      - ${SECOND}
      - ${THIRD}
    proxy: ${PROXY}
    prefill: [chat, messages]
    breaker:
      failures: 3
      failure_percent: 40
      calls_min: 10
      ejection: 1s
      ejection_max: 4s
    timeouts:
      first_byte: 7s
      idle: 9s
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
    timeout: 20s
    timeouts:
      idle: 8s
    on_cut: recover
    longer_context: acme/large
    fallbacks: [acme/large]
    hedge: true
    rates: {input_tokens: 1 per 1M, output_tokens: 1 per 1M}
    released: 2026-05-01
    routes:
      - {provider: north, model: s, style: chat, timeouts: {first_byte: 100ms}}
      - {provider: north, model: t, style: chat, timeouts: {total: 1s}}
  - id: acme/large
    name: Large
    owner: acme
    kind: text
    capabilities: [text]
    input: [text]
    output: [text]
    context_tokens: 5000
    max_output_tokens: 500
    styles: [chat]
    rates: {input_tokens: 1 per 1M, output_tokens: 1 per 1M}
    released: 2026-05-01
    routes: [{provider: north, model: l, style: chat, timeouts: {total: 30m}}]
`

func TestWordsAboutRoutingAreChecked(t *testing.T) {
	t.Parallel()
	if all := Check(parse(t, routingFile)); all != nil {
		t.Fatal(all)
	}
	for i, k := range []problemCase{
		{"- ${SECOND}", "- sk-live-2", "providers[0].credentials[0]", "never written"},
		{"- ${SECOND}", "- Bearer ${SECOND}", "providers[0].credentials[0]", "never written"},
		{"- ${SECOND}", "- ''", "providers[0].credentials[0]", "never written"},
		{"- ${THIRD}", "- ${SECOND}", "providers[0].credentials[1]", "twice"},
		{"- ${THIRD}", "- ${KEY}", "providers[0].credentials[1]", "twice"},
		{"    credential: ${KEY}\n", "", "providers[0].credentials", "first belongs in credential"},
		{"- ${THIRD}", strings.Repeat("- ${THIRD}\n      ", 16), "providers[0].credentials", "more than 15"},
		{"proxy: ${PROXY}", "proxy: socks5://proxy:1080", "providers[0].proxy", "http or https"},
		{"proxy: ${PROXY}", "proxy: http://user:pass@proxy:8080", "providers[0].proxy", "password"},
		{"proxy: ${PROXY}", "proxy: proxy:8080", "providers[0].proxy", "http or https"},
		{"prefill: [chat, messages]", "prefill: [videos]", "providers[0].prefill", "not one of the styles"},
		{"prefill: [chat, messages]", "prefill: [chat, chat]", "providers[0].prefill", "twice"},
		{"failures: 3", "failures: -1", "providers[0].breaker.failures", "between"},
		{"failure_percent: 40", "failure_percent: 101", "providers[0].breaker.failure_percent", "between"},
		{"calls_min: 10", "calls_min: 10001", "providers[0].breaker.calls_min", "between"},
		{"ejection: 1s", "ejection: 1ms", "providers[0].breaker.ejection", "between"},
		{"ejection: 1s", "ejection: 2h", "providers[0].breaker.ejection", "between"},
		{"ejection_max: 4s", "ejection_max: 1ms", "providers[0].breaker.ejection_max", "between"},
		{"ejection_max: 4s", "ejection_max: 2h", "providers[0].breaker.ejection_max", "between"},
		{"ejection_max: 4s", "ejection_max: 900ms", "providers[0].breaker.ejection_max", "shorter than the ejection of 1s"},
		{"idle: 8s", "idle: -8s", "models[0].timeouts.idle", "between"},
		{"on_cut: recover", "on_cut: ignore", "models[0].on_cut", "not one of error, recover"},
		{"longer_context: acme/large", "longer_context: acme/huge", "models[0].longer_context", "not a model of this file"},
		{"longer_context: acme/large", "longer_context: acme/small", "models[0].longer_context", "leads back"},
		{"context_tokens: 5000", "context_tokens: 5000\n    longer_context: acme/small", "models[0].longer_context", "leads back"},
		{"context_tokens: 5000", "context_tokens: 5000\n    longer_context: acme/small", "models[1].longer_context", "leads back"},
		{"context_tokens: 5000", "context_tokens: 1000", "models[0].longer_context", "not more than the 1000"},
		{"fallbacks: [acme/large]", "fallbacks: [acme/huge]", "models[0].fallbacks[0]", "not a model of this file"},
		{"fallbacks: [acme/large]", "fallbacks: [acme/small]", "models[0].fallbacks[0]", "the model itself"},
		{"fallbacks: [acme/large]", "fallbacks: [acme/large, acme/large]", "models[0].fallbacks[1]", "twice"},
		{"fallbacks: [acme/large]", "fallbacks: [acme/a, acme/b, acme/c, acme/large]", "models[0].fallbacks", "4 are more than 3"},
		{"styles: [chat]", "styles: [chat, native]", "models[0].fallbacks[0]", "not called in the native style"},
	} {
		t.Run(fmt.Sprintf("%02d %s", i, k.path), func(t *testing.T) {
			t.Parallel()
			raw := strings.Replace(routingFile, k.old, k.new, 1)
			if raw == routingFile {
				t.Fatal("nothing was changed")
			}
			if all := Check(parse(t, raw)); !slices.ContainsFunc(all, func(err error) bool {
				p, ok := err.(FileError)
				return ok && p.Path == k.path && strings.Contains(p.Text, k.says)
			}) {
				t.Errorf("no problem %q with %q among %q", k.path, k.says, all)
			}
		})
	}
}

func TestOnlyTextModelsHaveALongerOneFallbacksAHedgeAndStreamsThatAreCut(t *testing.T) {
	t.Parallel()
	raw := strings.Replace(smallFile, "availability: coming",
		"availability: coming\n    longer_context: acme/one\n    fallbacks: [acme/one]\n    hedge: true\n    on_cut: error", 1)
	var paths []string
	for _, err := range Check(parse(t, raw)) {
		paths = append(paths, err.(FileError).Path)
	}
	for _, want := range []string{"models[1].longer_context", "models[1].fallbacks", "models[1].hedge", "models[1].on_cut"} {
		if !slices.Contains(paths, want) {
			t.Errorf("no problem at %s: %q", want, paths)
		}
	}
	film := strings.Replace(smallFile, "context_tokens: 1000", "context_tokens: 1000\n    longer_context: acme/film:fast", 1)
	if all := Check(parse(t, film)); len(all) != 1 || !strings.Contains(all[0].Error(), "is not a text model") {
		t.Errorf("%q", all)
	}
	film = strings.Replace(smallFile, "context_tokens: 1000", "context_tokens: 1000\n    fallbacks: [acme/film:fast]", 1)
	if all := Check(parse(t, film)); len(all) != 1 || !strings.Contains(all[0].Error(), "is not a text model") {
		t.Errorf("%q", all)
	}
}

func TestAModelSaysWhichModelsServeInItsPlace(t *testing.T) {
	t.Parallel()
	s := snapshotWith(t, parse(t, routingFile), Options{Now: time.Now, Secrets: func(string) (string, bool) { return "http://proxy.example", true }})
	small, _ := s.Model("acme/small")
	large, _ := s.Model("acme/large")
	if !strings.Contains(string(small.ListEntry()), `"fallbacks":["acme/large"]`) || strings.Contains(string(large.ListEntry()), "fallbacks") {
		t.Errorf("%s, %s", small.ListEntry(), large.ListEntry())
	}
}

func TestWordsAboutRoutingSurviveTheStoreAndTheExport(t *testing.T) {
	t.Parallel()
	secrets := map[string]string{"KEY": "one", "SECOND": "two", "THIRD": "three", "PROXY": "http://user:pass@proxy.example:8080"}
	b := setup(t, func(name string) (string, bool) { v, ok := secrets[name]; return v, ok })
	b.apply(t, routingFile)
	want := parse(t, routingFile)
	got, err := Export(t.Context(), b.db)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v\n%+v\n%+v", err, got, want)
	}
	if names := want.Names(); !slices.Equal(names, []string{"KEY", "PROXY", "SECOND", "THIRD"}) {
		t.Errorf("the file asks for %q", names)
	}
	s := b.awaitVersion(t, b.c)
	small, _ := s.Model("acme/small")
	p := small.Routes[0].Provider
	var revealed []string
	for _, c := range p.Credentials {
		revealed = append(revealed, c.Reveal())
	}
	if !slices.Equal(revealed, []string{"one", "two", "three"}) || p.Proxy != secrets["PROXY"] || p.Unusable != "" {
		t.Errorf("%q through %s", revealed, p.Proxy)
	}
	if p.Breaker != (Breaker{Failures: 3, FailurePercent: 40, CallsMin: 10, Ejection: time.Second, EjectionMax: 4 * time.Second}) || !slices.Equal(p.Prefill, []llm.Style{llm.Chat, llm.Messages}) {
		t.Errorf("breaker %+v, prefill %q", p.Breaker, p.Prefill)
	}
	if small.OnCut != CutRecover || small.LongerContext != "acme/large" || !slices.Equal(small.Fallbacks, []string{"acme/large"}) || !small.Hedge || small.Timeout != 20*time.Second {
		t.Errorf("%+v", small)
	}
	// The route's waits are over the model's, and those over the provider's.
	if w := small.Routes[0].Timeouts; w != (Timeouts{Connect: 5 * time.Second, FirstByte: 100 * time.Millisecond, Idle: 8 * time.Second, Total: 20 * time.Second}) {
		t.Errorf("%+v", w)
	}
	if w := small.Routes[1].Timeouts; w.FirstByte != 7*time.Second || w.Total != time.Second {
		t.Errorf("%+v", w)
	}
	if large, _ := s.Model("acme/large"); large.Timeout != 30*time.Minute || large.OnCut != CutRecover || !large.Hedge {
		t.Errorf("a call may take %s where one attempt may take half an hour", large.Timeout)
	}
}

func TestAHedgeIsUsualAndCanBeTurnedOff(t *testing.T) {
	t.Parallel()
	b := setup(t, func(string) (string, bool) { return "https://proxy.example", true })
	for text, want := range map[string]bool{"": true, "hedge: true": true, "hedge: false": false} {
		raw := strings.Replace(routingFile, "hedge: true", text, 1)
		b.apply(t, raw)
		got, err := Export(t.Context(), b.db)
		if err != nil || !reflect.DeepEqual(got, parse(t, raw)) {
			t.Errorf("%q: %v, %+v", text, err, got)
		}
		if m, _ := b.awaitVersion(t, b.c).Model("acme/small"); m.Hedge != want {
			t.Errorf("%q: hedged %t", text, m.Hedge)
		}
	}
}

func TestABreakerIsCompletedWithDefaults(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		file           FileBreaker
		first, longest time.Duration
	}{
		{FileBreaker{}, 5 * time.Second, 15 * time.Second},
		{FileBreaker{Ejection: Duration(time.Second)}, time.Second, 15 * time.Second},
		{FileBreaker{Ejection: Duration(time.Minute)}, time.Minute, time.Minute},
		{FileBreaker{EjectionMax: Duration(2 * time.Second)}, 2 * time.Second, 2 * time.Second},
		{FileBreaker{Ejection: Duration(time.Second), EjectionMax: Duration(time.Hour)}, time.Second, time.Hour},
	} {
		if set := c.file.Settings(); set.Ejection != c.first || set.EjectionMax != c.longest || set.Failures != 5 || set.FailurePercent != 50 || set.CallsMin != 20 {
			t.Errorf("%+v: %+v", c.file, set)
		}
	}
}

func TestADiffNamesWordsAboutRouting(t *testing.T) {
	t.Parallel()
	next := strings.NewReplacer("- ${THIRD}", "", "proxy: ${PROXY}", "proxy: http://proxy:1", "failures: 3", "failures: 4",
		"on_cut: recover", "on_cut: error", "longer_context: acme/large", "", "fallbacks: [acme/large]", "", "hedge: true", "", "idle: 8s", "idle: 6s").Replace(routingFile)
	lines, err := Diff(parse(t, routingFile), parse(t, next))
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Join(lines, "\n")
	for _, want := range []string{
		"~ provider north credentials [${SECOND}, ${THIRD}] → [${SECOND}]", "~ provider north proxy ${PROXY} → http://proxy:1",
		"~ provider north breaker.failures 3 → 4", "~ model acme/small on_cut recover → error", "- model acme/small longer_context acme/large",
		"- model acme/small fallbacks [acme/large]",
		"- model acme/small hedge true", "~ model acme/small timeouts.idle 8s → 6s",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not among\n%s", want, got)
		}
	}
}

func TestAProxyThatIsNoAddressMakesItsProviderUnusable(t *testing.T) {
	t.Parallel()
	v := FileProvider{ID: "north", BaseURL: "https://north.example", Proxy: "${PROXY}"}
	for proxy, want := range map[string]string{"http://u:p@proxy:1": "", "socks5://u:hunter2@proxy:1": "proxy: must be an http or https address", "": "proxy: the variable PROXY is not set"} {
		p, _ := v.resolve(&Sources{Env: func(string) (string, bool) { return proxy, proxy != "" }})
		if p.Unusable != want {
			t.Errorf("%s: %q", proxy, p.Unusable)
		}
	}
}
