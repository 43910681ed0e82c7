package check_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"umg/app/llm"
	"umg/app/provider/check"
	"umg/app/simulator/emulator"
)

const wrongKey = "sk-wrong-0a1b2c3d4e5f60718293a4b5c6"

// assertHidden fails when a step shows a credential, or fails without advice of one sentence.
func assertHidden(t *testing.T, name string, r check.Result, secrets ...string) {
	t.Helper()
	text := states(r)
	for _, secret := range secrets {
		if secret != "" && strings.Contains(text, secret) {
			t.Errorf("%s: a step shows a credential:\n%s", name, text)
		}
	}
	for _, s := range r.Steps {
		if s.State == check.Failed && (s.Advice == "" || s.Detail == "") {
			t.Errorf("%s: a step fails without advice: %+v", name, s)
		}
		if s.State == check.Waiting || s.State == check.Running {
			t.Errorf("%s: a step has not ended: %+v", name, s)
		}
	}
}

// TestAWrongKeyIsTold tests each provider with a key that it does not know.
func TestAWrongKeyIsTold(t *testing.T) {
	t.Parallel()
	for i := range emulatedProviders {
		w := &emulatedProviders[i]
		b := setup(t, 0)
		wrong := map[string]string{
			"": wrongKey, "AWS": "AKIAWRONG00000000001:" + emulator.SecretAccessKey, "AWS_SESSION": emulator.SessionKeyID + ":wrong/secret+of+a+session:token",
			"ENTRA": wrongKey, "GOOGLE_USER": strings.Replace(b.secrets["GOOGLE_USER"], emulator.UserSecret, "wrong-secret-of-the-user", 1),
		}[w.credential]
		name := w.credential
		if name == "" {
			name = "KEY_" + strings.ToUpper(w.upstream())
		}
		b.secrets[name] = wrong
		r := check.Run(t.Context(), b.options(w), nil)
		s := steps(r)["credential"]
		if r.Passed || s.State != check.Failed || s.ProviderWords == "" {
			t.Errorf("%s:\n%s", w.name, states(r))
		}
		if r.Calls != 0 || r.Cost != 0 {
			t.Errorf("%s: refused calls are booked: %d", w.name, r.Calls)
		}
		// A list that needs the credential ends the test; otherwise the first call does.
		most := 1
		if w.listed < 0 || w.open {
			most = 2
		}
		if n := len(b.Records("")); n > most {
			t.Errorf("%s: %d requests were sent with a wrong key", w.name, n)
		}
		assertHidden(t, w.name, r, append(strings.Split(wrong, ":"), emulator.SessionSecret, "wrong-secret-of-the-user")...)
	}
}

// TestAFaultHasItsAdvice makes providers fail in each way that an operator meets.
func TestAFaultHasItsAdvice(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, provider string
		rule           emulator.Rule
		step           string
		advice         string
		// others are steps that must pass in spite of the fault.
		others []string
	}{
		{"no right to call", "bedrock", emulator.Rule{Fault: "account", Path: "/model/"}, "call messages", "right to call models", []string{"list"}},
		{"no right in a project", "openai", emulator.Rule{Fault: "project", Path: "/chat/"}, "call chat", "right to call models", []string{"list", "call responses"}},
		{"no right in a project of Google", "vertex", emulator.Rule{Fault: "project", Path: "/projects/"}, "call native", "right to call models", []string{"list"}},
		{"no right to read the list", "vertex", emulator.Rule{Fault: "project", Path: "/v1beta1/publishers/google/models"}, "list", "right to read models",
			[]string{"call native", "credential"}},
		{"no list at the address", "openai", emulator.Rule{Fault: "path", Path: "/models"}, "list", "write the names of the models yourself", []string{"call chat", "credential"}},
		{"quota of a day", "gemini", emulator.Rule{Fault: "quota", Path: ":generateContent"}, "call native", "Raise the quota", []string{"list", "credential"}},
		{"no credit", "openai", emulator.Rule{Fault: "account", Path: "/chat/"}, "call chat", "Add credit", []string{"list"}},
		{"no credit at Anthropic", "anthropic", emulator.Rule{Fault: "account", Path: "/messages"}, "call messages", "Add credit", []string{"list"}},
		{"too many requests", "mistral", emulator.Rule{Fault: "rate", Path: "/chat/"}, "call chat", "Wait a minute", []string{"list"}},
		{"overloaded", "anthropic", emulator.Rule{Fault: "overloaded", Path: "/messages"}, "call messages", "in a few minutes", []string{"list"}},
		{"a failing server", "groq", emulator.Rule{Fault: "server", Path: "/chat/"}, "call chat", "status page", []string{"list"}},
		{"no such model", "groq", emulator.Rule{Fault: "model", Path: "/chat/"}, "call chat", "Check the name of the model", []string{"list"}},
		{"a broken list", "openai", emulator.Rule{Fault: emulator.Broken, Path: "/models"}, "list", "that of the API", []string{"call chat"}},
		{"an empty list", "openai", emulator.Rule{Fault: emulator.Empty, Path: "/models"}, "list", "has models", []string{"call chat", "credential"}},
		{"a broken answer", "openai", emulator.Rule{Fault: emulator.Broken, Path: "/chat/"}, "call chat", "choose the style", []string{"list"}},
		{"a cut stream", "groq", emulator.Rule{Fault: emulator.Cut, Text: `"stream":true`}, "stream chat", "proxies", []string{"call chat", "tools chat", "usage chat"}},
		{"a late error", "anthropic", emulator.Rule{Fault: emulator.Late, Text: `"stream":true`}, "stream messages", "in a few minutes", []string{"call messages"}},
		{"an ended session", "bedrock-session", emulator.Rule{Fault: "expired"}, "credential", "Get a new session", nil},
		{"a wrong region", "bedrock", emulator.Rule{Fault: "region"}, "credential", "Choose the region", nil},
	} {
		b := setup(t, 0)
		b.Add(c.rule)
		r := check.Run(t.Context(), b.options(find(t, c.provider)), nil)
		all := steps(r)
		if s := all[c.step]; r.Passed || s.State != check.Failed || !strings.Contains(s.Advice, c.advice) {
			t.Errorf("%s: %s has the advice %q:\n%s", c.name, c.step, s.Advice, states(r))
		}
		for _, other := range c.others {
			if s := all[other]; s.State != check.Passed {
				t.Errorf("%s: %s is %s: %q", c.name, other, s.State, s.Detail)
			}
		}
		assertHidden(t, c.name, r, emulator.Key(c.provider), emulator.SecretAccessKey, emulator.SessionToken)
	}
}

// TestAWrongClockIsTold tests providers whose clocks differ from that of this server by an hour. Only those that check signatures refuse.
func TestAWrongClockIsTold(t *testing.T) {
	t.Parallel()
	for _, ahead := range []time.Duration{time.Hour, -time.Hour} {
		word := map[bool]string{true: "1h0m0s behind", false: "1h0m0s ahead"}[ahead > 0]
		b := setup(t, ahead)
		r := check.Run(t.Context(), b.options(find(t, "bedrock")), nil)
		all := steps(r)
		if s := all["credential"]; s.State != check.Failed || !strings.HasPrefix(s.Advice, "Set the clock") {
			t.Errorf("a signature:\n%s", states(r))
		}
		if s := all["clock"]; s.State != check.Failed || !strings.Contains(s.Detail, word) || !strings.HasPrefix(s.Advice, "Set the clock") {
			t.Errorf("the clock: %+v", s)
		}
		b.secrets["GOOGLE_USER"] = b.ServiceAccount(b.url)
		r = check.Run(t.Context(), b.options(find(t, "vertex")), nil)
		if s := steps(r)["credential"]; s.State != check.Failed || !strings.HasPrefix(s.Advice, "Set the clock") {
			t.Errorf("an assertion:\n%s", states(r))
		}
		r = check.Run(t.Context(), b.options(find(t, "openai")), nil)
		all = steps(r)
		if s := all["clock"]; r.Passed || s.State != check.Failed || !strings.Contains(s.Detail, word) || all["call chat"].State != check.Passed {
			t.Errorf("a key:\n%s", states(r))
		}
	}
}

// TestASlowProviderIsBoundedAndCanBeCancelled stalls the list, a call and a stream.
func TestASlowProviderIsBoundedAndCanBeCancelled(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rule emulator.Rule
		step string
	}{
		{emulator.Rule{Fault: emulator.Stall, Path: "/models"}, "list"},
		{emulator.Rule{Fault: emulator.Stall, Path: "/chat/"}, "call chat"},
		{emulator.Rule{Fault: emulator.Stall, Text: `"stream":true`}, "stream chat"},
	} {
		b := setup(t, 0)
		b.Add(c.rule)
		o := b.options(find(t, "groq"))
		ctx, cancel := context.WithCancel(t.Context())
		r := check.Run(ctx, o, func(s check.Step) {
			if s.State == check.Running && strings.TrimSpace(s.Name+" "+string(s.Style)) == c.step {
				cancel()
			}
		})
		if s := steps(r)["credential"]; s.State == check.Passed && c.step == "list" {
			t.Errorf("%s, cancelled: the credential is %+v", c.step, s)
		}
		if s := steps(r)[c.step]; !r.Cancelled || r.Passed || s.State != check.Skipped || s.Detail != "The test was cancelled." {
			t.Errorf("%s, cancelled:\n%s", c.step, states(r))
		}
		assertHidden(t, c.step, r)
		o.StepTimeMax = 100 * time.Millisecond
		r = check.Run(t.Context(), o, nil)
		if s := steps(r)[c.step]; r.Cancelled || s.State != check.Failed || s.Took < o.StepTimeMax || !strings.Contains(s.Detail, "in time") {
			t.Errorf("%s, bounded:\n%s", c.step, states(r))
		}
		cancel()
	}
}

// TestAnAddressWithoutAProviderIsTold tests addresses at which no provider answers, or something else does.
func TestAnAddressWithoutAProviderIsTold(t *testing.T) {
	t.Parallel()
	b := setup(t, 0)
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	plain := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<html><body>Welcome</body></html>")
	}))
	t.Cleanup(plain.Close)
	away := httptest.NewServer(http.RedirectHandler("https://elsewhere.example/v1", http.StatusMovedPermanently))
	t.Cleanup(away.Close)
	missing := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(missing.Close)
	for address, advice := range map[string]string{
		closed.URL: "firewall", "http://name.invalid": "the DNS", strings.Replace(plain.URL, "http:", "https:", 1): "TLS", plain.URL: "that of the API",
		away.URL: "to which the provider leads", missing.URL: "Check the address",
	} {
		w := emulated{entry: `preset: custom, with: {address: "` + address + `/v1"}`, provider: "groq", models: []model{
			{"m", []llm.Style{llm.Chat}}, {"n", []llm.Style{llm.Responses}},
		}}
		r := check.Run(t.Context(), b.options(&w), nil)
		all := steps(r)
		for _, name := range []string{"list", "call chat"} {
			if s := all[name]; s.State != check.Failed || name == "list" && !strings.Contains(s.Advice, advice) {
				t.Errorf("%s: %s is %+v", address, name, s)
			}
		}
		if s := all["call responses"]; (address == closed.URL) != (s.State == check.Skipped) && strings.HasPrefix(address, "http://127") {
			t.Errorf("%s: the second style is %+v", address, s)
		}
		if s := all["credential"]; s.State != check.Skipped {
			t.Errorf("%s: the credential is %+v", address, s)
		}
		assertHidden(t, address, r)
	}
}

// TestAnUnknownStyleIsTold tests a model whose style the test does not know, beside one that it knows.
func TestAnUnknownStyleIsTold(t *testing.T) {
	t.Parallel()
	b := setup(t, 0)
	o := b.options(find(t, "openai"))
	o.Models[1].Routes[0].Style = "embeddings"
	r := check.Run(t.Context(), o, nil)
	all := steps(r)
	if s := all["call embeddings"]; s.State != check.Failed || !strings.Contains(s.Advice, "Choose a style") || all["stream embeddings"].State != check.Skipped {
		t.Errorf("the unknown style:\n%s", states(r))
	}
	if all["call chat"].State != check.Passed || all["usage chat"].State != check.Passed {
		t.Errorf("the known style:\n%s", states(r))
	}
}

// TestAModelThatCannotBePreparedIsTold tests a model with a mistake in its entry.
func TestAModelThatCannotBePreparedIsTold(t *testing.T) {
	t.Parallel()
	b := setup(t, 0)
	o := b.options(find(t, "groq"))
	o.Models[0].Routes[0].Cost = nil // Its price follows from the cost.
	r := check.Run(t.Context(), o, nil)
	if s := steps(r)["call chat"]; s.State != check.Failed || s.Detail == "" || !strings.Contains(s.Advice, "entry of the model") {
		t.Errorf("%s", states(r))
	}
	o.Models[0].Markup = 0
	r = check.Run(t.Context(), o, nil)
	if s := steps(r)["usage chat"]; !r.Passed || !strings.Contains(s.Detail, "is not known") || r.Cost != 0 || r.Calls != 3 {
		t.Errorf("without a price:\n%s", states(r))
	}
}

// TestWeakAnswersAreTold tests a server whose answers lack what a gateway needs.
func TestWeakAnswersAreTold(t *testing.T) {
	t.Parallel()
	b := setup(t, 0)
	message := `{"role":"assistant","content":"hello"}`
	usage := `,"usage":{"prompt_tokens":9,"completion_tokens":2,"total_tokens":11}`
	answer := func(message, usage string) string {
		return `{"id":"1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":` + message + `,"finish_reason":"stop"}]` + usage + `}`
	}
	tool := `{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"get_weather","arguments":"ARGS"}}]}`
	for _, c := range []struct{ name, whole, tools, step, advice string }{
		{"no stream", answer(message, usage), answer(tool, usage), "stream chat", "supports streams"},
		{"no text", answer(`{"role":"assistant","content":""}`, usage), answer(tool, usage), "call chat", "answers with text"},
		{"no usage", answer(message, ""), answer(tool, usage), "usage chat", "estimates"},
		{"no tool", answer(message, usage), answer(message, usage), "tools chat", "leave tools out"},
		{"broken arguments", answer(message, usage), answer(strings.Replace(tool, "ARGS", `{\"city\":`, 1), usage), "tools chat", "leave tools out"},
		{"an error with status 200", `{"error":{"message":"Your key ` + wrongKey + ` is not known","code":"invalid_api_key"}}`, "", "credential", "Paste the credential"},
	} {
		o := b.server(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			w.Header().Set("Content-Type", "application/json")
			switch {
			case r.Method == http.MethodGet:
				http.NotFound(w, r)
			case strings.Contains(string(body), `"tools"`):
				_, _ = fmt.Fprint(w, c.tools)
			default:
				_, _ = fmt.Fprint(w, c.whole)
			}
		})
		r := check.Run(t.Context(), o, nil)
		if s := steps(r)[c.step]; s.State != check.Failed || !strings.Contains(s.Advice, c.advice) {
			t.Errorf("%s:\n%s", c.name, states(r))
		}
		assertHidden(t, c.name, r, wrongKey)
	}
}
