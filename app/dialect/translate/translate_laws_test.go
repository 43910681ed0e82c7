package translate

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"umg/app"
	"umg/app/dialect"
	"umg/app/llm"
)

// drawn is a conversation as clients really send it: with ids that repeat, results in any order and place, messages of
// nothing but blanks, instructions in the middle, tools in namespaces and tools of free text.
type drawn struct {
	t       *rapid.T
	r       *llm.Request
	calls   int
	missing bool // Missing means that a call has no result.
}

var drawnTools = []llm.Tool{
	{Name: "plain", Parameters: []byte(`{"type":"object"}`)}, {Name: "dotted.name:1"}, {Name: "list", Group: "files"}, {Name: "list", Group: "mail__"},
	{Name: "files__list"}, {Name: "patch", Custom: true, Parameters: []byte(`{"type":"grammar","syntax":"lark","definition":"start: A"}`)},
	{Name: strings.Repeat("long_", 20)},
}

func drawRequest(t *rapid.T, client llm.Style) *drawn {
	d := &drawn{t: t, r: &llm.Request{Model: "m", Tools: drawnTools}}
	if client != llm.Responses {
		d.r.Tools = []llm.Tool{drawnTools[0], drawnTools[4], drawnTools[6]}
	}
	if client == llm.Native {
		d.r.Tools = append(d.r.Tools, drawnTools[1])
	}
	for range rapid.IntRange(0, 2).Draw(t, "systems") {
		d.says(llm.System)
	}
	d.says(llm.User)
	for range rapid.IntRange(0, 4).Draw(t, "rounds") {
		d.round()
		if rapid.Bool().Draw(t, "late system") {
			d.says(llm.System)
		}
		d.says(llm.User)
	}
	return d
}

// says adds a turn of texts, the first of which is never blank.
func (d *drawn) says(role llm.Role) {
	turn := llm.Turn{Role: role}
	for i := range rapid.IntRange(1, 3).Draw(d.t, "texts") {
		s := rapid.SampledFrom([]string{"Hello.", "a\nb\"c", "日本 🙂", " \n", ""}).Draw(d.t, "text")
		if i == 0 {
			s = "said " + strconv.Itoa(rapid.IntRange(0, 99).Draw(d.t, "word")) + s
		}
		turn.Parts = append(turn.Parts, words(s))
	}
	d.r.Turns = append(d.r.Turns, turn)
}

// round is an answer with calls, and their results.
func (d *drawn) round() {
	answer := llm.Turn{Role: llm.Assistant}
	if rapid.Bool().Draw(d.t, "thought") {
		maker := rapid.SampledFrom([]string{"maker~c", "maker~m", "maker~r", "maker~n", "maker~b", "another~m", "another~n"}).Draw(d.t, "maker")
		answer.Parts = append(answer.Parts, llm.Part{Kind: llm.Reasoning, Text: "Hm.", Signature: "gw1." + maker + ".by-" + maker})
	}
	if rapid.Bool().Draw(d.t, "words") {
		answer.Parts = append(answer.Parts, words(rapid.SampledFrom([]string{"So", "\n\n"}).Draw(d.t, "word")))
	}
	var results []llm.Part
	for range rapid.IntRange(1, 3).Draw(d.t, "calls") {
		tool := rapid.SampledFrom(d.r.Tools).Draw(d.t, "tool")
		d.calls++
		id := rapid.SampledFrom([]string{"c" + strconv.Itoa(d.calls), "call_0", "functions.f:" + strconv.Itoa(d.calls)}).Draw(d.t, "id")
		call := llm.ToolCall{ID: id, Name: tool.Name, Group: tool.Group, Custom: tool.Custom, Arguments: fmt.Sprintf(`{"n":%d.10,"s":"é"}`, d.calls)}
		answer.Parts = append(answer.Parts, llm.Part{Kind: llm.Call, Call: call})
		if rapid.IntRange(0, 30).Draw(d.t, "lost") == 30 {
			d.missing = true
			continue
		}
		result := llm.ToolResult{CallID: id, Name: tool.Name, Custom: tool.Custom, Parts: []llm.Part{words("of " + strconv.Itoa(d.calls))}}
		results = append(results, llm.Part{Kind: llm.Result, Result: result})
	}
	d.r.Turns = append(d.r.Turns, answer)
	// Results of one id come in the order of the calls; others in any.
	if len(results) > 1 && results[0].Result.CallID != results[1].Result.CallID && rapid.Bool().Draw(d.t, "swapped") {
		results[0], results[1] = results[1], results[0]
	}
	for len(results) > 0 {
		n := rapid.IntRange(1, len(results)).Draw(d.t, "together")
		d.r.Turns = append(d.r.Turns, llm.Turn{Parts: results[:n:n]})
		if results = results[n:]; len(results) > 0 && rapid.Bool().Draw(d.t, "interrupted") {
			d.says(rapid.SampledFrom([]llm.Role{llm.User, llm.System}).Draw(d.t, "by"))
		}
	}
}

// gist is what a conversation says, whatever the style it is said in.
type gist struct {
	system, user, assistant string
	calls                   []string // Each call has its result.
}

func gistOf(r *llm.Request, restore func(llm.ToolCall) llm.ToolCall) gist {
	var g gist
	at := map[string]int{}
	squeeze := func(s string) string { return strings.Join(strings.Fields(s), "") }
	for i := range r.Turns {
		for j := range r.Turns[i].Parts {
			switch p := &r.Turns[i].Parts[j]; {
			case p.Kind == llm.Call:
				c := restore(p.Call)
				at[p.Call.ID] = len(g.calls)
				g.calls = append(g.calls, fmt.Sprintf("%s/%s %v %s", c.Group, c.Name, c.Custom, c.Arguments))
			case p.Kind == llm.Result:
				if n, ok := at[p.Result.CallID]; ok {
					for _, part := range p.Result.Parts {
						g.calls[n] += " = " + part.Text
					}
				}
			case p.Kind != llm.Text:
			case r.Turns[i].Role == llm.System:
				g.system += squeeze(p.Text)
			case r.Turns[i].Role == llm.User:
				g.user += squeeze(p.Text)
			default:
				g.assistant += squeeze(p.Text)
			}
		}
	}
	return g
}

// disorder says what providers of a style would refuse in the order of a conversation.
func disorder(turns []llm.Turn, style llm.Style) string {
	open := map[string]bool{}
	seen := map[string]bool{}
	first := true
	for i := range turns {
		if turns[i].Role == llm.System {
			if len(open) > 0 && style == llm.Chat {
				return "instructions between calls and results"
			}
			continue
		}
		if first && turns[i].Role == llm.Assistant && style != llm.Chat && style != llm.Responses {
			return "the model begins"
		}
		first = false
		results := 0
		for j := range turns[i].Parts {
			switch p := &turns[i].Parts[j]; p.Kind {
			case llm.Call:
				if seen[p.Call.ID] {
					return "two calls " + p.Call.ID
				}
				open[p.Call.ID], seen[p.Call.ID] = true, true
			case llm.Result:
				if !open[p.Result.CallID] {
					return "a result of nothing: " + p.Result.CallID
				}
				if style != llm.Responses && results != j {
					return "a result behind something else"
				}
				results++
				delete(open, p.Result.CallID)
			}
		}
		if turns[i].Role == llm.User && len(open) > 0 && style != llm.Responses {
			return "a call without its result"
		}
	}
	return ""
}

// TestATranslationSaysTheSame takes drawn conversations from every style of clients to every other style: what arrives says the same, in
// an order that the provider takes, and the client's own request has not changed.
func TestATranslationSaysTheSame(t *testing.T) {
	t.Parallel()
	for from, client := range allDialects() {
		for to, upstream := range allUpstreams() {
			if from == to {
				continue
			}
			t.Run(string(from)+" to "+string(to), func(t *testing.T) {
				t.Parallel()
				rapid.Check(t, func(t *rapid.T) { saysTheSame(t, client, upstream) })
			})
		}
	}
}

func saysTheSame(t *rapid.T, client, upstream *dialect.Dialect) {
	d := drawRequest(t, client.Style)
	before := *d.r
	before.Turns = copyTurns(d.r.Turns)
	way, err := New(client, upstream, d.r, "maker", 4096)
	if err == nil {
		err = way.Prepare()
	}
	if !reflect.DeepEqual(&before, d.r) {
		t.Fatalf("the client's request changed to %+v", d.r)
	}
	if err != nil {
		e, ok := errors.AsType[*app.Error](err)
		if !ok || e.Kind != app.Invalid || !strings.HasPrefix(e.Param, client.Codec.Traits().Conversation) || !d.missing {
			t.Fatalf("%v\n%s", err, sketch(d.r.Turns))
		}
		return
	}
	got, err := upstream.Read(way.body)
	if err != nil {
		t.Fatalf("%v\n%s", err, way.body)
	}
	makeIDsUnique(before.Turns)
	want := gistOf(&before, func(c llm.ToolCall) llm.ToolCall { return c })
	has := gistOf(got, func(c llm.ToolCall) llm.ToolCall {
		if way.t.freeText[c.Name] {
			c.Arguments, c.Custom = unwrapFreeText(c.Arguments), true
		}
		way.t.names.restore(&c)
		return c
	})
	if !reflect.DeepEqual(want, has) {
		t.Fatalf("want %+v\ngot  %+v\nof %s\nas %s", want, has, sketch(d.r.Turns), way.body)
	}
	if fault := disorder(got.Turns, upstream.Style); fault != "" && !d.missing {
		t.Fatalf("%s: %s\nof %s", fault, way.body, sketch(d.r.Turns))
	}
	for i, tool := range got.Tools {
		back := llm.ToolCall{Name: tool.Name}
		way.t.names.restore(&back)
		if len(got.Tools) != len(d.r.Tools) || back.Name != d.r.Tools[i].Name || back.Group != d.r.Tools[i].Group {
			t.Fatalf("tool %d: %+v came back as %+v", i, d.r.Tools[i], back)
		}
	}
	for _, turn := range got.Turns {
		for _, p := range turn.Parts {
			if p.Kind == llm.Reasoning && p.Signature != "by-maker~"+styleLetters[upstream.Style] && p.Signature != "" {
				t.Fatalf("a foreign signature: %s", way.body)
			}
		}
	}
}
