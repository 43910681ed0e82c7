package dialect_test

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"umg/app/llm"
)

const (
	// nastyText has what breaks writers of JSON and of event streams.
	nastyText = "Grüße, 世界! 🎈 \"quoted\" \\ <b>&amp;</b> \u2028 tab\tdata: [DONE] end"
	// nastyArguments are what a writer that parses them would change: order, digits, escapes.
	nastyArguments = `{"zeta":12345678901234567890.000100,"city":"Zürich 🎈 <&> \u00e9","alpha":{"b":[1e2,-0.0,null,true],"a":{}},` +
		`"days":9007199254740993}`
	placeSchema = `{"type":"object","properties":{"place":{"type":"string"},"days":{"type":"integer"}},"required":["place","days"],` +
		`"additionalProperties":false}`
	weatherSchema = `{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer"}},"required":["city","days"]}`
	pixel         = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
)

func saidBy(role llm.Role, texts ...string) llm.Turn {
	turn := llm.Turn{Role: role}
	for _, s := range texts {
		turn.Parts = append(turn.Parts, llm.Part{Kind: llm.Text, Text: s})
	}
	return turn
}

func asking(texts ...string) llm.Request {
	return llm.Request{Turns: []llm.Turn{saidBy(llm.User, texts...)}}
}

func calling(id, name, arguments string) llm.Part {
	return llm.Part{Kind: llm.Call, Call: llm.ToolCall{ID: id, Name: name, Arguments: arguments}}
}

func resulting(id, name, text string) llm.Part {
	return llm.Part{Kind: llm.Result, Result: llm.ToolResult{CallID: id, Name: name, Parts: []llm.Part{{Kind: llm.Text, Text: text}}}}
}

// withTools gives a request two tools. The responses style takes them for strict unless told otherwise.
func (p pair) withTools(r llm.Request) llm.Request {
	r.Tools = []llm.Tool{
		{Name: "get_weather", Description: "The weather of a city", Parameters: []byte(weatherSchema)},
		{Name: "get_time", Description: "The time", Parameters: []byte(`{"type":"object","properties":{}}`)},
	}
	for i := range r.Tools {
		if p.client == llm.Responses {
			r.Tools[i].Strict = new(bool)
		}
	}
	return r
}

// withThoughts asks for thoughts in the words of the client's style.
func (p pair) withThoughts(r llm.Request) llm.Request {
	r.MaxOutput = 4000
	r.Reasoning = map[llm.Style]llm.ReasoningOptions{
		llm.Chat: {Effort: "low"}, llm.Messages: {Budget: "1024"}, llm.Responses: {Effort: "low", Show: "auto"}, llm.Native: {Budget: "1024", Show: "auto"},
	}[p.client]
	return r
}

// answerCase is a call and the answer that the client of every style must read, from a provider of every style.
type answerCase struct {
	name          string
	ask           llm.Request
	tools, thinks bool
	text          string
	begins        bool // The text is only the beginning of the answer.
	calls         []llm.ToolCall
	stop          llm.Stop
	other         bool // The provider answers with a stream where JSON was asked for, and with JSON where a stream was.
}

func answerCases() []answerCase {
	system := saidBy(llm.System, "cached: this is the handbook of the company, which is long.")
	both := []llm.ToolCall{{Name: "get_weather", Arguments: nastyArguments}, {Name: "get_time", Arguments: "{}"}}
	const callBoth = "call: get_weather " + nastyArguments + "\ncall: get_time {}"
	strict := true
	place := asking("Choose place=Bergen days=4")
	place.Format = llm.Format{Kind: llm.FormatSchema, Name: "place", Schema: []byte(placeSchema), Strict: &strict}
	count := asking("count to 60")
	count.MaxOutput = 20
	image := asking("What is it?")
	image.Turns[0].Parts = append(image.Turns[0].Parts, llm.Part{Kind: llm.Image, Media: llm.Media{Type: "image/png", Data: pixel}})
	return []answerCase{
		{name: "text in a conversation, input from the cache", text: nastyText, stop: llm.StopEnd, ask: llm.Request{Turns: []llm.Turn{
			system, saidBy(llm.User, "Hello"), saidBy(llm.Assistant, "Hello to you."), saidBy(llm.User, "echo: "+nastyText)}}},
		{name: "thoughts and two calls", ask: asking(callBoth), tools: true, thinks: true, calls: both, stop: llm.StopToolCalls},
		{name: "words before calls", ask: asking("Please narrate both tools for city=Oslo days=3"), tools: true, text: "Let me look that up.", stop: llm.StopToolCalls,
			calls: []llm.ToolCall{{Name: "get_weather", Arguments: `{"city":"Oslo","days":3}`}, {Name: "get_time", Arguments: "{}"}}},
		{name: "results of tools", tools: true, text: "According to the tool: 18 degrees\n\"mild\"; noon 🕛.", stop: llm.StopEnd, ask: llm.Request{Turns: []llm.Turn{
			saidBy(llm.User, "Compare the weather and the time."),
			{Role: llm.Assistant, Parts: []llm.Part{{Kind: llm.Text, Text: "Let me look."}, calling("call_1a", "get_weather", nastyArguments), calling("call_2b", "get_time", "{}")}},
			{Role: llm.User, Parts: []llm.Part{resulting("call_1a", "get_weather", "18 degrees\n\"mild\""), resulting("call_2b", "get_time", "noon 🕛")}}}}},
		{name: "an image", ask: image, text: "I see 1 image (image/png, 70 bytes). ", begins: true, stop: llm.StopEnd},
		{name: "thoughts", ask: asking("echo: thought over"), thinks: true, text: "thought over", stop: llm.StopEnd},
		{name: "a schema", ask: place, text: `{"days":4,"place":"Bergen"}`, stop: llm.StopEnd},
		{name: "a length", ask: count, text: "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20", stop: llm.StopLength},
		{name: "a refusal", ask: asking("refuse: do it"), text: "I cannot help with that.", stop: llm.StopRefusal},
		{name: "a blocked prompt", ask: asking("block: all of it"), stop: llm.StopFilter},
		{name: "text in the other form", other: true, ask: asking("echo: " + nastyText), text: nastyText, stop: llm.StopEnd},
		{name: "calls in the other form", other: true, ask: asking(callBoth), tools: true, thinks: true, calls: both, stop: llm.StopToolCalls},
	}
}

// TestEveryClientReadsTheAnswersOfEveryProvider has every case in every pair of styles, as JSON and as a stream: the same text, calls and
// thoughts, an end of the same meaning and the same usage, in requests and answers that fit the published schemas.
func TestEveryClientReadsTheAnswersOfEveryProvider(t *testing.T) {
	t.Parallel()
	for _, c := range answerCases() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			ask := pair{llm.Chat, llm.Chat}
			want := c.read(t, ask, false).Usage
			if c.other {
				want = c.read(t, ask, true).Usage
			}
			eachPair(t, func(t *testing.T, p pair) {
				for _, stream := range []bool{false, true} {
					uncounted := c.other && !stream && p.upstream == llm.Chat // This provider was not asked for the usage of a stream.
					if got := c.read(t, p, stream).Usage; got != want && !uncounted || uncounted && got != (llm.Usage{}) {
						t.Errorf("stream %t: the usage is %+v, want %+v", stream, got, want)
					}
				}
			})
		})
	}
}

// read makes the call of a case in a pair.
func (c *answerCase) read(t *testing.T, p pair, stream bool) *llm.Response {
	t.Helper()
	ask := c.ask
	ask.Stream = stream
	if c.tools {
		ask = p.withTools(ask)
	}
	if c.thinks {
		ask = p.withThoughts(ask)
	}
	if c.other {
		fault := map[bool]string{false: "stream-instead-of-json", true: "json-instead-of-stream"}[stream]
		ask.Turns = []llm.Turn{saidBy(llm.User, "simulate: "+fault+"\n"+ask.Turns[0].Parts[0].Text)}
	}
	call := p.call(t, ask)
	if lost := call.exchange.Dropped(); lost != "" {
		t.Errorf("dropped: %s", lost)
	}
	d := call.deliver(t, stream)
	if d.err != nil {
		t.Fatalf("%v: %s", d.err, call.answer.Body)
	}
	answer := readDelivered(t, p.client, stream, d.out)
	text := textOf(answer, llm.Text) + textOf(answer, llm.Refusal)
	if c.begins {
		text = text[:min(len(text), len(c.text))]
	}
	if text != c.text {
		t.Errorf("stream %t: the text is %q", stream, text)
	}
	if !sameCalls(answer, c.calls) {
		t.Errorf("stream %t: the calls are %+v", stream, answer.Parts)
	}
	if thought := textOf(answer, llm.Reasoning); strings.HasPrefix(thought, "The user wants an answer to “") != c.thinks || c.thinks && answer.Parts[0].Kind != llm.Reasoning {
		t.Errorf("stream %t: the thoughts are %q", stream, thought)
	}
	if !sameStop(answer.Stop, c.stop) || !sameStop(llm.Stop(d.stats.Finish), c.stop) {
		t.Errorf("stream %t: ends with %s for the client and %s for us, want %s", stream, answer.Stop, d.stats.Finish, c.stop)
	}
	if d.stats.Reported && answer.Usage != d.stats.Usage {
		t.Errorf("stream %t: the client reads the usage %+v of %+v", stream, answer.Usage, d.stats.Usage)
	}
	return &llm.Response{Usage: d.stats.Usage}
}

func textOf(r *llm.Response, kind llm.PartKind) (all string) {
	for _, part := range r.Parts {
		if part.Kind == kind {
			all += part.Text
		}
	}
	return all
}

// sameStop compares ends. Not every style has a word of its own for a refusal.
func sameStop(got, want llm.Stop) bool {
	if got == llm.StopRefusal {
		got = llm.StopFilter
	}
	return got == want || want == llm.StopRefusal && got == llm.StopFilter
}

// sameCalls compares the calls of an answer. Each has an id of its own.
func sameCalls(r *llm.Response, want []llm.ToolCall) bool {
	ids, n := map[string]bool{"": true}, 0
	for _, part := range r.Parts {
		if part.Kind != llm.Call {
			continue
		}
		if c := part.Call; ids[c.ID] || n == len(want) || c.Name != want[n].Name || compactJSON(c.Arguments) != compactJSON(want[n].Arguments) {
			return false
		}
		ids[part.Call.ID] = true
		n++
	}
	return n == len(want)
}

// compactJSON is a JSON value with sorted members and every digit of its numbers.
func compactJSON(text string) string {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return text
	}
	out, _ := json.Marshal(v)
	return string(out)
}

// TestEveryProviderGetsTheBoundAndTheStream checks what a provider is asked for beside the conversation.
func TestEveryProviderGetsTheBoundAndTheStream(t *testing.T) {
	t.Parallel()
	eachPair(t, func(t *testing.T, p pair) {
		for _, limit := range []int64{0, 3, 900} {
			for _, stream := range []bool{false, true} {
				ask := asking("echo: x")
				ask.MaxOutput, ask.Stream = limit, stream
				if p.client == llm.Responses && limit == 3 {
					continue // The style has no such bound.
				}
				want := limit
				switch {
				case limit == 0 && p.upstream == llm.Messages:
					want = pairOutput // Every request of the style has a bound.
				case limit == 3 && p.upstream == llm.Responses:
					want = 16 // The style accepts no smaller one.
				}
				read, err := dialectOf(t, p.upstream).Read(p.call(t, ask).sent)
				if err != nil || read.MaxOutput != want || read.Stream != stream && p.upstream != llm.Native {
					t.Errorf("bound %d, stream %t: the provider gets the bound %d, stream %t, %v", limit, stream, read.MaxOutput, read.Stream, err)
				}
			}
		}
	})
}

// sampled are settings as each style writes them, and the names by which the header lists what a provider's style has no place for.
var sampled = []struct {
	said, lost map[llm.Style]string
}{
	{said: map[llm.Style]string{llm.Chat: `"temperature":0.25`, llm.Messages: `"temperature":0.25`, llm.Responses: `"temperature":0.25`, llm.Native: `"temperature":0.25`}},
	{said: map[llm.Style]string{llm.Chat: `"top_p":0.5`, llm.Messages: `"top_p":0.5`, llm.Responses: `"top_p":0.5`, llm.Native: `"topP":0.5`}},
	{said: map[llm.Style]string{llm.Messages: `"top_k":9`, llm.Native: `"topK":9`}, lost: map[llm.Style]string{llm.Messages: "top_k", llm.Native: "generationConfig.topK"}},
	{said: map[llm.Style]string{llm.Chat: `"seed":7`, llm.Native: `"seed":7`}, lost: map[llm.Style]string{llm.Chat: "seed", llm.Native: "generationConfig.seed"}},
	{said: map[llm.Style]string{llm.Chat: `"presence_penalty":0.125`, llm.Native: `"presencePenalty":0.125`},
		lost: map[llm.Style]string{llm.Chat: "presence_penalty", llm.Native: "generationConfig.presencePenalty"}},
	{said: map[llm.Style]string{llm.Chat: `"user":"customer-42"`, llm.Messages: `"metadata":{"user_id":"customer-42"}`, llm.Responses: `"safety_identifier":"customer-42"`},
		lost: map[llm.Style]string{llm.Chat: "user", llm.Messages: "metadata.user_id", llm.Responses: "safety_identifier"}},
	{said: map[llm.Style]string{llm.Chat: `"metadata":{"trace":"t-1"}`, llm.Responses: `"metadata":{"trace":"t-1"}`, llm.Native: `"labels":{"trace":"t-1"}`},
		lost: map[llm.Style]string{llm.Chat: "metadata", llm.Responses: "metadata", llm.Native: "labels"}},
}

// sampledBody is a request with all settings that the style has, as a client writes it.
var sampledBody = map[llm.Style]string{
	llm.Chat: `{"model":"meridian/atlas","messages":[{"role":"user","content":"echo: x"}],"max_completion_tokens":16,"temperature":0.25,"top_p":0.5,"seed":7,` +
		`"presence_penalty":0.125,"user":"customer-42","metadata":{"trace":"t-1"}}`,
	llm.Messages: `{"model":"meridian/atlas","messages":[{"role":"user","content":"echo: x"}],"max_tokens":16,"temperature":0.25,"top_p":0.5,"top_k":9,` +
		`"metadata":{"user_id":"customer-42"}}`,
	llm.Responses: `{"model":"meridian/atlas","input":"echo: x","max_output_tokens":16,"temperature":0.25,"top_p":0.5,"safety_identifier":"customer-42",` +
		`"metadata":{"trace":"t-1"}}`,
	llm.Native: `{"model":"meridian/atlas","stream":false,"contents":[{"parts":[{"text":"echo: x"}]}],"generationConfig":{"maxOutputTokens":16,"temperature":0.25,` +
		`"topP":0.5,"topK":9,"seed":7,"presencePenalty":0.125},"labels":{"trace":"t-1"}}`,
}

func TestEverySettingArrivesOrIsListed(t *testing.T) {
	t.Parallel()
	eachPair(t, func(t *testing.T, p pair) {
		x := p.exchangeOf(t, []byte(sampledBody[p.client]))
		sent := string(x.Request(nil, p.edit(x)))
		fitsRequest(t, p.upstream, []byte(sent))
		var lost []string
		for _, one := range sampled {
			from, to := one.said[p.client], one.said[p.upstream]
			if from != "" && to == "" {
				lost = append(lost, one.lost[p.client])
			}
			if to != "" && strings.Contains(sent, to) != (from != "") {
				t.Errorf("%s in the request as %s: %s", from, to, sent)
			}
		}
		slices.Sort(lost)
		if got := x.Dropped(); got != strings.Join(lost, ",") {
			t.Errorf("listed are %q, lost are %q", got, lost)
		}
	})
}

// TestEveryStopSequenceEndsTheAnswer has sequences that the provider's style can express and such that the gateway looks for itself.
func TestEveryStopSequenceEndsTheAnswer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ stops, prompt, text, met string }{
		{"ta STO", "echo: alpha beta STOP gamma", "alpha be", "ta STO"},
		{"one!|two!|three!|🎈 u", "echo: Grüße 🎈 und mehr", "Grüße ", "🎈 u"},
		{"1!|2!|3!|4!|ööö", "echo: aöbööc öööd", "aöbööc ", "ööö"},
		{"1!|2!|3!|4!|5!| 30", "count to 5000", "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29", " 30"},
		{"\n\n", "echo: a verse\nand\n\nanother", "a verse\nand", "\n\n"},
		{"never|nowhere", "echo: now and nev", "now and nev", ""},
		{"now", "echo: now and then", "", "now"},
	} {
		stops := strings.Split(c.stops, "|")
		blank := strings.TrimSpace(stops[0]) == ""
		t.Run(c.prompt, func(t *testing.T) {
			t.Parallel()
			eachPair(t, func(t *testing.T, p pair) {
				client, upstream := dialectOf(t, p.client).Codec.Traits(), dialectOf(t, p.upstream).Codec.Traits()
				if len(stops) > client.StopsMax || blank && !client.StopsBlank {
					return // The client's own style has no such sequences.
				}
				watched := len(stops) > upstream.StopsMax || blank && !upstream.StopsBlank
				// Where the gateway looks for sequences it asks for a stream, which a provider may answer with JSON.
				for _, form := range []string{"stream", "", "simulate: json-instead-of-stream\n"} {
					stream := form == "stream"
					ask := asking(strings.TrimPrefix(form, "stream") + c.prompt)
					ask.Stop, ask.Stream = stops, stream
					call := p.call(t, ask)
					read, err := dialectOf(t, p.upstream).Read(call.sent)
					if err != nil || watched != call.exchange.HasStopWatcher() || watched != (len(read.Stop) == 0) || !watched && !slices.Equal(read.Stop, stops) {
						t.Errorf("the provider was told of %q, %v", read.Stop, err)
					}
					d := call.deliver(t, stream)
					if d.err != nil {
						t.Fatal(d.err)
					}
					got := readDelivered(t, p.client, stream, d.out)
					end, stop := llm.StopEnd, ""
					if p.client == llm.Messages && c.met != "" && (watched || p.upstream == llm.Messages) {
						end, stop = llm.StopSequence, c.met // Other styles do not name the sequence.
					}
					if textOf(got, llm.Text) != c.text || got.Stop != end || got.StopText != stop || d.stats.Reported == (watched && c.met != "") {
						t.Errorf("stream %t: %q ends with %s at %q, %+v", stream, textOf(got, llm.Text), got.Stop, got.StopText, d.stats)
					}
				}
			})
		})
	}
}

// TestASignatureGoesBackToItsProviderAlone lets a model think before it calls a tool, and gives its thoughts back with the result of the
// tool: to the same provider, which gets its signature byte for byte, and to each other one, which gets nothing of it. The simulator
// refuses what it has not signed.
func TestASignatureGoesBackToItsProviderAlone(t *testing.T) {
	t.Parallel()
	eachPair(t, func(t *testing.T, p pair) {
		for _, stream := range []bool{false, true} {
			ask := p.withThoughts(p.withTools(asking("call: get_time {}")))
			ask.Stream = stream
			call := p.call(t, ask)
			d := call.deliver(t, stream)
			if d.err != nil {
				t.Fatal(d.err)
			}
			first := readDelivered(t, p.client, stream, d.out)
			proof := p.proof(t, first)
			id := ""
			for i := range first.Parts {
				if id += first.Parts[i].Call.ID; p.client == llm.Chat && first.Parts[i].Kind == llm.Reasoning {
					first.Parts[i].Text = "" // Clients of this style keep the call with its signature, and not the thought.
				}
			}
			ask.Turns = append(slices.Clone(ask.Turns), llm.Turn{Role: llm.Assistant, Parts: first.Parts},
				llm.Turn{Role: llm.User, Parts: []llm.Part{resulting(id, "get_time", "noon")}})
			ask.Stream = false
			for _, upstream := range llm.Styles() {
				next := pair{p.client, upstream}
				call := next.call(t, ask)
				d := call.deliver(t, false)
				if d.err != nil {
					t.Fatal(d.err)
				}
				if got := textOf(readDelivered(t, p.client, false, d.out), llm.Text); got != "According to the tool: noon." {
					t.Errorf("then %s: the text is %q", upstream, got)
				}
				// The messages style takes a signature only with its thought.
				goesBack := upstream == p.upstream && (p.client != llm.Chat || upstream != llm.Messages)
				sent := string(call.sent)
				for _, one := range proof {
					if strings.Contains(sent, one) != goesBack {
						t.Errorf("then %s: %s came along: %t\n%s", upstream, one, !goesBack, sent)
					}
				}
				if strings.Contains(sent, `"gw1.`) || strings.Contains(sent, `"`+base64.StdEncoding.EncodeToString([]byte("gw1."))[:5]) ||
					upstream == llm.Native && !goesBack && !strings.Contains(sent, `"thoughtSignature":"skip_thought_signature_validator"`) {
					t.Errorf("then %s: a marked signature came along, or a call without the dummy: %s", upstream, sent)
				}
			}
		}
	})
}

// proof is what a provider must find of its own signature, in the form of its requests.
func (p pair) proof(t *testing.T, r *llm.Response) []string {
	t.Helper()
	var list []string
	for _, part := range r.Parts {
		if part.Signature != "" {
			list = append(list, part.Signature)
		}
	}
	if len(list) != 1 {
		t.Fatalf("%d signatures in %+v", len(list), r.Parts)
	}
	signature := list[0]
	if p.client == p.upstream {
		if p.upstream != llm.Responses {
			return []string{`"` + signature + `"`}
		}
		signature = "gw1.maker-responses." + signature // The codec puts the item before the proof.
	}
	maker, raw, _ := strings.Cut(strings.TrimPrefix(signature, "gw1."), ".")
	if !strings.HasPrefix(signature, "gw1.") || !strings.HasPrefix(maker, "maker-"+string(p.upstream)) {
		t.Fatalf("the signature %q does not name its maker", signature)
	}
	if p.upstream != llm.Responses {
		return []string{`"` + raw + `"`}
	}
	id, raw, _ := strings.Cut(raw, ".") // The proof of this style holds for one item only.
	return []string{`"id":"` + id + `"`, `"` + raw + `"`}
}
