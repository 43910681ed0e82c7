package harness

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// Model is one entry that a test adds to the catalog: the upstream's model name has the directives of the simulator.
type Model struct {
	ID            string
	UpstreamModel string
	// Provider is the test provider when empty. Its timeout is 0.7 s of silence, which is too short for streams under load.
	Provider string
	// SecondProvider is the provider of the second route; there is none when empty.
	SecondProvider string
	Paused         bool
	// Style is the style of the upstream; chat when empty.
	Style string
	// Extra has further lines of the entry. When empty, the model is served in chat with few parameters.
	Extra string
}

// EveryStyle lets a test model be called in every style, with whatever any model takes.
const EveryStyle = `    styles: [chat, messages, responses, native]
    parameters: [temperature, top_p, presence_penalty, frequency_penalty, stop, n, seed, logprobs, logit_bias, tools, custom_tools,
      tool_choice, response_format, structured_outputs, reasoning_effort, verbosity]
    input: [text, image, audio, file]
    limits: {requests_per_minute: 100000, tokens_per_minute: 100000000}
`

// ChatOnly has the lines of a catalog entry that is served in chat with few parameters.
const ChatOnly = `    styles: [chat]
    parameters: [temperature, stop, tools, tool_choice]
    input: [text]
    limits: {requests_per_minute: 100000, tokens_per_minute: 100000000}
`

// CatalogLock guards the file of each gateway, since tests add to it in parallel.
var CatalogLock sync.Mutex

// TestProviders are impatient, so that no case waits long; the second one's credential is nowhere to be found.
const TestProviders = `  - id: test
    name: Test upstream
    base_url: ${UMG_SIMULATOR_URL}/test/v1
    credential: ${UMG_SIMULATOR_KEY}
    timeouts: {connect: 500ms, first_byte: 700ms, idle: 700ms}
  - id: test-lost
    name: Lost upstream
    base_url: ${UMG_SIMULATOR_URL}/test/v1
    credential: ${UMG_PROVIDER_NOWHERE}
`

// AddModels puts models into the catalog by the operator's own commands and waits until the gateway lists them.
func (g *Gateway) AddModels(t *testing.T, models ...Model) {
	t.Helper()
	var added strings.Builder
	for _, m := range models {
		provider, speaks, more := cmp.Or(m.Provider, "test"), cmp.Or(m.Style, "chat"), cmp.Or(m.Extra, ChatOnly)
		fmt.Fprintf(&added, `  - id: %s
    name: Test model
    owner: test
    kind: text
    capabilities: [text]
    output: [text]
    context_tokens: 128000
    max_output_tokens: 16000
    availability: available
    paused: %v
    rates: {input_tokens: 1 per 1M, output_tokens: 2 per 1M}
    released: 2026-01-01
%s    routes:
      - {provider: %s, model: %q, style: %s, order: 1, weight: 1}
`, m.ID, m.Paused, more, provider, m.UpstreamModel, speaks)
		if m.SecondProvider != "" {
			fmt.Fprintf(&added, "      - {provider: %s, model: sim, style: chat, order: 2, weight: 1}\n", m.SecondProvider)
		}
	}
	g.PutCatalog(t, TestProviders, added.String(), models[len(models)-1].ID)
}

// PutCatalog adds providers that are not there yet, and models, by the operator's own commands, and waits until the gateway
// lists the last model.
func (g *Gateway) PutCatalog(t *testing.T, providers, models, last string) {
	t.Helper()
	g.editCatalog(t, func(text string) string {
		first, _, _ := strings.Cut(strings.TrimPrefix(providers, "  - "), "\n")
		if !strings.Contains(text, "- "+first+"\n") {
			text = strings.Replace(text, "providers:\n", "providers:\n"+IndentLike(text, providers), 1)
		}
		return strings.Replace(text, "models:\n", "models:\n"+IndentLike(text, models), 1)
	})
	for deadline := time.Now().Add(CallTimeMax); ; time.Sleep(10 * time.Millisecond) {
		if strings.Contains(g.Call(t, "GET", "/v1/models", "").Body, `"id":"`+last+`"`) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the gateway does not list %s", last)
		}
	}
}

// kindOfText is the line that all text models of an exported catalog file have, with its indentation.
var kindOfText = regexp.MustCompile(`(?m)^( +)kind: text$`)

// TurnOffHedges makes the gateway ask one provider for each call from the next change of the catalog on. On a busy machine a second
// route answers some calls first, and a test that reads what the first route got finds nothing.
func (g *Gateway) TurnOffHedges(t *testing.T) {
	t.Helper()
	g.editCatalog(t, func(text string) string { return kindOfText.ReplaceAllString(text, "${1}kind: text\n${1}hedge: false") })
}

// editCatalog changes the catalog by the operator's own commands.
func (g *Gateway) editCatalog(t *testing.T, edit func(string) string) {
	t.Helper()
	CatalogLock.Lock()
	defer CatalogLock.Unlock()
	env := []string{"DATABASE_URL=" + g.DatabaseURL(t)}
	text, status := RunCommand(t, env, "catalog", "export")
	if status != 0 {
		t.Fatal(text)
	}
	file := filepath.Join(DataDir(t), "catalog.yaml")
	if err := os.WriteFile(file, []byte(edit(text)), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, status := RunCommand(t, env, "catalog", "apply", "--allow-unset", file); status != 0 {
		t.Fatalf("catalog apply: %s", out)
	}
}

// IndentLike gives list items the indentation that the exported file has.
func IndentLike(file, items string) string {
	if strings.Contains(file, "\n  - id:") {
		return items
	}
	for _, width := range []string{"    ", ""} {
		if strings.Contains(file, "\n"+width+"- id:") {
			var out strings.Builder
			for line := range strings.Lines(items) {
				out.WriteString(width + strings.TrimPrefix(line, "  "))
			}
			return out.String()
		}
	}
	return items
}

// BreakProvider makes a provider fail for the model with two routes, until the test ends.
func (g *Gateway) BreakProvider(t *testing.T, provider, upstream string) {
	t.Helper()
	g.CallSimulator(t, "PUT", "/_control/faults", fmt.Sprintf(`{"provider":%q,"model":%q,"spec":"status=503"}`, provider, upstream))
	t.Cleanup(func() { g.CallSimulator(t, "DELETE", "/_control/faults?provider="+provider+"&model="+upstream, "") })
}
