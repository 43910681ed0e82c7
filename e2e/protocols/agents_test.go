package protocols

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"umg/e2e/harness"
)

// Agents are clients that go on with what they got: they call tools, give the results back, keep what the model thought
// and let another model go on. Each row is how one of them really speaks, with all the members that it sends and the
// history as it keeps it; each talks to providers of all styles, and in the middle moves on to one of another style.

// agent is a client with habits.
type agent struct {
	name    string
	style   string
	headers []string
	// request is the body, with MODEL, MARK and HISTORY to be filled in.
	request string
	// begin is the history before the first call, with PROMPT.
	begin string
	// say is a message of the user, with PROMPT.
	say string
	// keep is what the agent keeps of an answer in its history, and what it understands of it.
	keep func(t *testing.T, body string) (item string, calls []called, text string)
	// give is the item of the history with the results of calls, in the order of the calls.
	give func(calls []called, said []string) string
}

// called is a call of a tool as an agent understands it.
type called struct{ id, group, name, arguments, kind string }

const agentModels = `  - id: agents/%[1]s
    name: Agents %[1]s
    owner: matrix
    kind: text
    capabilities: [text]
    input: [text, image, file]
    output: [text]
    context_tokens: 128000
    max_output_tokens: 64000
    styles: [chat, messages, responses, native]
    parameters: [temperature, top_p, stop, seed, tools, custom_tools, tool_choice, response_format, structured_outputs, reasoning_effort, verbosity]
    availability: available
    rates: {input_tokens: 3 per 1M, cache_read_tokens: 0.30 per 1M, cache_write_tokens: 3 per 1M, output_tokens: 15 per 1M}
    limits: {requests_per_minute: 100000, tokens_per_minute: 100000000}
    released: 2026-01-01
    routes:
      - {provider: m-%[1]s, model: upstream-%[1]s-7, style: %[1]s, order: 1, weight: 1}
`

// newAgents is a gateway for agents, with a model for each style of upstream.
func newAgents(t *testing.T) *matrix {
	t.Helper()
	m := newMatrix(t)
	var models strings.Builder
	for _, up := range styleNames {
		fmt.Fprintf(&models, agentModels, up)
	}
	m.putCatalog(t, "", models.String())
	for deadline := time.Now().Add(harness.CallTimeMax); !strings.Contains(m.Call(t, http.MethodGet, "/v1/models", "").Body, `"id":"agents/native"`); {
		if time.Now().After(deadline) {
			t.Fatal("the gateway does not list the models of the agents")
		}
		time.Sleep(10 * time.Millisecond)
	}
	return m
}

// marked is a word by which the upstreams' records of one conversation are found again.
func (m *matrix) marked() string { return fmt.Sprintf("mark%06d", m.marks.Add(1)) }

// ask sends the history and keeps the answer.
func (a *agent) ask(t *testing.T, m *matrix, upstream, mark string, history *[]string) ([]called, string) {
	t.Helper()
	body := strings.NewReplacer("MODEL", "agents/"+upstream, "MARK", mark, "HISTORY", strings.Join(*history, ",")).Replace(a.request)
	if !json.Valid([]byte(body)) {
		t.Fatalf("the agent itself is broken: %s", body)
	}
	got := m.Call(t, http.MethodPost, harness.Styles[a.style].Path, body, append([]string{"X-Error-Status", "standard"}, a.headers...)...)
	if got.Status != http.StatusOK {
		t.Fatalf("to %s: %d %s\nafter %s", upstream, got.Status, got.Body, body)
	}
	item, calls, text := a.keep(t, got.Body)
	if item != "" {
		*history = append(*history, item)
	}
	return calls, text
}

// agentPrompt lets the model call three tools: one whose arguments are easily spoiled, one in a namespace where the agent
// has those, and one that takes free text where the agent has such.
const agentPrompt = "call: get_weather " + nastyArguments + "\ncall: docs__search {\"q\":\"x\"}\ncall: patch {\"input\":\"*** a\"}"

// filled puts a text into a piece of JSON that has PROMPT inside of a string.
func filled(t *testing.T, piece, prompt string) string {
	t.Helper()
	raw, err := json.Marshal(prompt)
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(piece, "PROMPT", string(raw[1:len(raw)-1]))
}

// foreign are members that no other style has: what an upstream must not find, unless it is its own or a tool's.
var foreign = map[string][]string{
	"chat":      {`"tool_calls":`, `"tool_call_id":`, `"reasoning_content":`, `"extra_content":`, `"stream_options":`, `"max_completion_tokens":`},
	"messages":  {`"tool_use_id":`, `"cache_control":`, `"input_schema":`, `"is_error":`, `"context_management":`, `"output_config":`, `"thinking":`},
	"responses": {`"call_id":`, `"input_text"`, `"encrypted_content":`, `"prompt_cache_key":`, `"store":`, `"instructions":`},
	"native":    {`"functionCall":`, `"functionResponse":`, `"thoughtSignature":`, `"generationConfig":`, `"safetySettings":`, `"systemInstruction":`},
}

// reached holds what the upstreams got against what belongs to their styles.
func (a *agent) reached(t *testing.T, m *matrix, mark string) {
	t.Helper()
	all := m.arrived(t, mark)
	if len(all) == 0 {
		t.Fatal("nothing reached an upstream")
	}
	for _, one := range all {
		style := strings.TrimPrefix(one.Provider, "m-")
		for of, members := range foreign {
			for _, member := range members {
				if of != style && strings.Contains(one.Body, member) {
					t.Errorf("an upstream of the %s style got %s: %s", style, member, one.Body)
				}
			}
		}
		for _, sealed := range []string{`"gw1.`, `"Z3cxL`} {
			if strings.Contains(one.Body, sealed) {
				t.Errorf("an upstream of the %s style got a sealed signature: %s", style, one.Body)
			}
		}
	}
}

// TestAgents lets each agent talk to each upstream, go on with another and come back.
func TestAgents(t *testing.T) {
	t.Parallel()
	m := newAgents(t)
	t.Run("conversations", func(t *testing.T) {
		for i := range agents {
			for _, first := range styleNames {
				a := &agents[i]
				t.Run(a.name+" on "+first, func(t *testing.T) {
					t.Parallel()
					for _, then := range styleNames {
						a.converses(t, m, first, then)
					}
				})
			}
		}
		t.Run("odd histories", func(t *testing.T) {
			t.Parallel()
			oddHistories(t, m)
		})
	})
	m.CheckLedger(t)
}

func (a *agent) converses(t *testing.T, m *matrix, first, then string) {
	t.Helper()
	mark := m.marked()
	history := []string{filled(t, a.begin, agentPrompt)}
	calls, _ := a.ask(t, m, first, mark, &history)
	a.understands(t, first, calls)
	history = append(history, a.give(calls, []string{"18 degrees", "nothing found", "done"}))
	if _, text := a.ask(t, m, first, mark, &history); !strings.Contains(text, "18 degrees") || !strings.Contains(text, "done") {
		t.Errorf("%s: the model answers the results with %q", first, text)
	}
	for _, next := range []string{then, first} {
		words := "now on " + next
		history = append(history, filled(t, a.say, "echo: "+words))
		if _, text := a.ask(t, m, next, mark, &history); text != words {
			t.Errorf("%s goes on with %q", next, text)
		}
	}
	a.reached(t, m, mark)
}

// understands holds the calls against what the model was made to call.
func (a *agent) understands(t *testing.T, upstream string, calls []called) {
	t.Helper()
	if len(calls) != 3 || calls[0].name != "get_weather" || !harness.SameJSON(calls[0].arguments, nastyArguments) {
		t.Fatalf("%s: the agent reads the calls %+v", upstream, calls)
	}
	ids := map[string]bool{}
	for _, c := range calls {
		ids[c.id] = true
	}
	if len(ids) != 3 && a.style != "native" {
		t.Errorf("%s: calls share ids: %+v", upstream, calls)
	}
	if a.style != "responses" || upstream == "responses" {
		return
	}
	if search := calls[1]; search.group != "docs" || search.name != "search" {
		t.Errorf("%s: the tool in a namespace is %+v", upstream, search)
	}
	if patch := calls[2]; upstream != "chat" && (patch.kind != "custom_tool_call" || patch.arguments != "*** a") {
		t.Errorf("%s: the tool that takes free text is %+v", upstream, patch)
	}
}
