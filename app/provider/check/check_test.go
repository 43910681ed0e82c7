package check_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"umg/app"
	"umg/app/preset"
	"umg/app/provider/check"
)

// TestEveryPresetPasses tests all presets at the emulator: the list, a call, a stream, a tool and the usage in each of their styles.
func TestEveryPresetPasses(t *testing.T) {
	t.Parallel()
	b := setup(t, 0)
	tested := map[string]bool{}
	for i := range emulatedProviders {
		w := &emulatedProviders[i]
		o := b.options(w)
		tested[o.File.Preset] = true
		var seen recorder
		r := check.Run(t.Context(), o, seen.report)
		got := steps(r)
		if !r.Passed || r.Cancelled || r.Unbooked != nil {
			t.Errorf("%s:\n%s", w.name, states(r))
			continue
		}
		want := check.Passed
		if w.listed < 0 {
			want = check.Skipped
		}
		if s := got["list"]; s.State != want || len(r.Models) != max(w.listed, 0) {
			t.Errorf("%s: the list is %+v with %v", w.name, s, r.Models)
		}
		calls, sum := 0, app.Amount(0)
		for _, m := range w.models {
			for _, style := range m.styles {
				for _, name := range []string{"call", "stream", "tools", "usage"} {
					s := got[name+" "+string(style)]
					if s.State != check.Passed || s.Model != m.name || s.Detail == "" || s.Advice != "" || s.Started.IsZero() {
						t.Errorf("%s: %s in %s is %+v", w.name, name, style, s)
					}
					if name == "usage" {
						continue
					}
					if calls++; s.Cost == nil || *s.Cost <= 0 || s.Tokens.Input <= 0 || s.Tokens.Output <= 0 {
						t.Errorf("%s: %s in %s has no cost: %+v", w.name, name, style, s)
						continue
					}
					sum += *s.Cost
				}
				if s := got["usage "+string(style)]; !strings.Contains(s.Detail, "tokens in and ") || !strings.Contains(s.Detail, "They cost $0.0") {
					t.Errorf("%s: the usage is %q", w.name, s.Detail)
				}
			}
		}
		for _, name := range []string{"credential", "clock"} {
			if got[name].State != check.Passed {
				t.Errorf("%s: %s is %+v", w.name, name, got[name])
			}
		}
		if r.Calls != calls || r.Cost != sum {
			t.Errorf("%s: %d calls for %s, not %d for %s", w.name, r.Calls, r.Cost, calls, sum)
		}
		for name, state := range seen.last() {
			if state != got[name].State {
				t.Errorf("%s: the last report of %s is %s", w.name, name, state)
			}
		}
		if first := seen.all[0]; first.State != check.Waiting || len(seen.all) < 3*len(r.Steps)-2 {
			t.Errorf("%s: %d reports of %d steps, the first is %s", w.name, len(seen.all), len(r.Steps), first.State)
		}
	}
	for _, id := range preset.IDs() {
		if !tested[id] {
			t.Errorf("preset %s is not tested", id)
		}
	}
}

// TestOnlyOneModelOfAStyleIsCalled gives a test several models of a style.
func TestOnlyOneModelOfAStyleIsCalled(t *testing.T) {
	t.Parallel()
	b := setup(t, 0)
	w := *find(t, "openai")
	w.models = append(w.models, model{"gpt-4o-mini", chatAndResponses})
	r := check.Run(t.Context(), b.options(&w), nil)
	if !r.Passed || r.Calls != 6 || len(b.Records("gpt-4o-mini")) > 0 {
		t.Errorf("%d calls:\n%s", r.Calls, states(r))
	}
}

// TestADraftIsTested tests a provider that is stored as disabled, and one whose credential is sealed.
func TestADraftIsTested(t *testing.T) {
	t.Parallel()
	b := setup(t, 0)
	o := b.options(find(t, "groq"))
	sealed, _ := b.secret("KEY_GROQ")
	o.File.Disabled, o.File.Credential = true, "sealed:groq"
	o.Sources.Sealed = sealedAs("groq", sealed)
	if r := check.Run(t.Context(), o, nil); !r.Passed {
		t.Error(states(r))
	}
	o.Sources.Sealed = nil
	r := check.Run(t.Context(), o, nil)
	if s := steps(r)["credential"]; r.Passed || s.State != check.Failed || !strings.Contains(s.Detail, "there is no sealed credential groq") {
		t.Error(states(r))
	}
	if i := slices.IndexFunc(r.Steps[1:], func(s check.Step) bool { return s.State != check.Skipped }); i >= 0 {
		t.Errorf("a step was made without a credential:\n%s", states(r))
	}
}

// TestEachCredentialIsTested tests providers with three credentials, of which the second is wrong.
func TestEachCredentialIsTested(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"groq", "azure", "openrouter"} {
		b := setup(t, 0)
		b.secrets["WRONG"] = wrongKey
		o := b.options(find(t, name))
		o.File.Credentials = []string{"${WRONG}", o.File.Credential}
		r := check.Run(t.Context(), o, nil)
		all := steps(r)
		if all["credential"].State != check.Passed || all["credential 2"].State != check.Failed || all["credential 3"].State != check.Passed {
			t.Errorf("%s:\n%s", name, states(r))
		}
		if s := all["credential 2"]; !strings.HasPrefix(s.Advice, "Paste the credential") {
			t.Errorf("%s: %+v", name, s)
		}
		assertHidden(t, name, r, wrongKey)
	}
}

// TestAListOf10000ModelsIsTested tests a provider with many models, and follows how far the list is.
func TestAListOf10000ModelsIsTested(t *testing.T) {
	t.Parallel()
	b := setup(t, 0)
	b.ListMore("anthropic", 10_000)
	progress := 0
	r := check.Run(t.Context(), b.options(find(t, "anthropic")), func(s check.Step) {
		if s.Name == check.StepList && s.State == check.Running && strings.HasSuffix(s.Detail, "models so far.") {
			progress++
		}
	})
	if s := steps(r)["list"]; !r.Passed || len(r.Models) != 10_001 || s.Detail != "10001 models." || progress < 10 || s.Took > 20*time.Second {
		t.Errorf("%d models, %d reports: %+v", len(r.Models), progress, s)
	}
}

// TestTheListDecidesAmongAlternatives proposes a model that the provider does not list, with and without others in its place.
func TestTheListDecidesAmongAlternatives(t *testing.T) {
	t.Parallel()
	b := setup(t, 0)
	w := *find(t, "anthropic")
	w.models = []model{{"claude-haiku-9-9", w.models[0].styles}, {"claude-haiku-9-8", w.models[0].styles}, w.models[0]}
	o := b.options(&w)
	o.Alternatives, o.Models = o.Models, o.Models[:1]
	var seen recorder
	r := check.Run(t.Context(), o, seen.report)
	if s := steps(r)["call messages"]; !r.Passed || s.Model != "claude-haiku-4-5" {
		t.Errorf("the call is %+v:\n%s", s, states(r))
	}
	o.Alternatives = o.Alternatives[:2]
	r = check.Run(t.Context(), o, seen.report)
	if s := steps(r)["call messages"]; !r.Passed || s.State != check.Skipped || !strings.Contains(s.Detail, "lists no model") {
		t.Errorf("without a listed one the call is %+v", s)
	}
	o.Alternatives = nil
	r = check.Run(t.Context(), o, seen.report)
	if s := steps(r)["call messages"]; r.Passed || s.State != check.Failed || s.Model != "claude-haiku-9-9" {
		t.Errorf("without others the call is %+v", s)
	}
}
