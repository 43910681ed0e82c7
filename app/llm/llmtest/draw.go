package llmtest

import (
	"strconv"
	"strings"
	"unicode"

	"pgregory.net/rapid"

	"umg/app/llm"
)

var (
	numbers = []llm.Number{"0", "0.5", "1", "0.25"}
	counts  = []llm.Number{"1", "7", "40"}
	seeds   = []llm.Number{"0", "42", "-7", "2147483647"}
	schemas = []string{
		`{"type":"object","properties":{"b":{"type":"string"},"a":{"type":"number"}},"required":["b"]}`, `{"type":"object","properties":{}}`,
	}
	argTexts = []string{`{}`, `{"city":"Rome"}`, `{"z":1.10,"a":[1,2,{"é":"\u0041\n"}],"n":12345678901234567890}`}
)

func maybe(t *rapid.T, label string) bool { return rapid.Bool().Draw(t, label) }

func pick[T any](t *rapid.T, label string, list []T) T { return rapid.SampledFrom(list).Draw(t, label) }

func words(t *rapid.T, label string) string {
	return rapid.OneOf(rapid.StringN(1, 20, -1), rapid.SampledFrom([]string{"Hello", "a\nb\"c", "日本 🙂", "data: [DONE]"})).
		Filter(func(s string) bool {
			return strings.ContainsFunc(s, func(r rune) bool { return r > ' ' && r != 0x7f && !unicode.IsSpace(r) })
		}).Draw(t, label)
}

func drawRequest(t *rapid.T, traits *llm.Traits, o *Options) *llm.Request {
	has := func(f llm.Feature) bool { return traits.Fields[f] != "" && maybe(t, "feature "+strconv.Itoa(int(f))) }
	r := &llm.Request{Model: "upstream-model", Stream: maybe(t, "stream")}
	drawSampling(t, &r.Sampling, has)
	if maybe(t, "max") {
		r.MaxOutput = rapid.Int64Range(100_000, 200_000).Draw(t, "max output")
	}
	if has(llm.FeatureStop) {
		r.Stop = rapid.SliceOfN(rapid.SampledFrom([]string{"END", "\n\n", "日本"}), 1, min(traits.StopsMax, 3)).Draw(t, "stop")
	}
	if has(llm.FeatureEndUser) {
		r.EndUser = "user-1"
	}
	if has(llm.FeatureMetadata) {
		r.Metadata = []llm.Pair{{Key: "team", Value: "blue"}, {Key: "a", Value: "b"}}[:1+rapid.IntRange(0, 1).Draw(t, "pairs")]
	}
	if has(llm.FeatureVerbosity) && len(o.Verbosities) > 0 {
		r.Verbosity = pick(t, "verbosity", o.Verbosities)
	}
	if has(llm.FeatureReasoning) && len(o.Reasonings) > 0 {
		r.Reasoning = pick(t, "reasoning", o.Reasonings)
	}
	switch {
	case has(llm.FeatureSchema):
		r.Format = llm.Format{Kind: llm.FormatSchema, Schema: []byte(pick(t, "schema", schemas))}
		if o.FormatName {
			r.Format.Name, r.Format.Description = "answer", "What to say."
		}
		if o.Strict {
			r.Format.Strict = drawFlag(t, "strict format")
		}
	case has(llm.FeatureJSON):
		r.Format.Kind = llm.FormatJSON
	}
	if maybe(t, "tools") {
		drawTools(t, r, traits, o, has)
	}
	drawTurns(t, r, traits, o)
	return r
}

func drawSampling(t *rapid.T, s *llm.Sampling, has func(llm.Feature) bool) {
	if maybe(t, "temperature") {
		s.Temperature = pick(t, "temperature", numbers)
	}
	if maybe(t, "top_p") {
		s.TopP = pick(t, "top_p", numbers)
	}
	if has(llm.FeatureTopK) {
		s.TopK = pick(t, "top_k", counts)
	}
	if has(llm.FeatureSeed) {
		s.Seed = pick(t, "seed", seeds)
	}
	if has(llm.FeaturePenalties) {
		s.PresencePenalty, s.FrequencyPenalty = pick(t, "presence", numbers), pick(t, "frequency", numbers)
	}
}

func drawFlag(t *rapid.T, label string) *bool {
	if !maybe(t, label+" said") {
		return nil
	}
	b := maybe(t, label)
	return &b
}

func drawTools(t *rapid.T, r *llm.Request, traits *llm.Traits, o *Options, has func(llm.Feature) bool) {
	for i := range rapid.IntRange(1, 3).Draw(t, "tool count") {
		tool := llm.Tool{Name: "tool_" + strconv.Itoa(i), Parameters: []byte(pick(t, "parameters", schemas))}
		if maybe(t, "described") {
			tool.Description = words(t, "description")
		}
		if o.Strict {
			tool.Strict = drawFlag(t, "strict")
		}
		if o.Groups && maybe(t, "grouped") {
			tool.Group = "group"
		}
		r.Tools = append(r.Tools, tool)
	}
	if traits.Fields[llm.FeatureParallel] != "" && has(llm.FeatureParallel) {
		no := false
		r.Parallel = &no
	}
	if r.Reasoning != (llm.ReasoningOptions{}) {
		// Some styles refuse a forced choice together with reasoning.
		return
	}
	r.Choice.Mode = pick(t, "choice", []llm.Choosing{llm.ChooseAuto, llm.ChooseNone, llm.ChooseRequired})
	if r.Parallel != nil && r.Choice.Mode == llm.ChooseNone {
		r.Choice.Mode = llm.ChooseAuto
	}
	if r.Choice.Mode == llm.ChooseRequired && maybe(t, "named") && r.Tools[0].Group == "" {
		r.Choice.Names = []string{r.Tools[0].Name}
	}
}

func drawTurns(t *rapid.T, r *llm.Request, traits *llm.Traits, o *Options) {
	for range rapid.IntRange(0, max(1, o.Systems)).Draw(t, "systems") {
		r.Turns = append(r.Turns, drawSystem(t, o))
	}
	var calls []llm.ToolCall
	rounds := rapid.IntRange(1, 3).Draw(t, "rounds")
	for i := range rounds {
		r.Turns = append(r.Turns, drawUser(t, traits, o, calls))
		if o.LateSystem && maybe(t, "late system") && len(calls) == 0 {
			r.Turns = append(r.Turns, drawSystem(t, o))
		}
		if i == rounds-1 {
			return
		}
		answer := llm.Turn{Role: llm.Assistant, Parts: drawParts(t, o, "call_"+strconv.Itoa(i)+"_", false)}
		r.Turns = append(r.Turns, answer)
		calls = nil
		for _, p := range answer.Parts {
			if p.Kind == llm.Call {
				calls = append(calls, p.Call)
			}
		}
	}
}

func drawSystem(t *rapid.T, o *Options) llm.Turn {
	turn := llm.Turn{Role: llm.System}
	for range rapid.IntRange(1, max(1, o.SystemParts)).Draw(t, "system parts") {
		turn.Parts = append(turn.Parts, llm.Part{Kind: llm.Text, Text: words(t, "system")})
	}
	return turn
}

func drawUser(t *rapid.T, traits *llm.Traits, o *Options, calls []llm.ToolCall) llm.Turn {
	turn := llm.Turn{Role: llm.User}
	for _, c := range calls {
		said := []llm.Part{{Kind: llm.Text, Text: words(t, "result")}}
		p := llm.Part{Kind: llm.Result, Result: llm.ToolResult{CallID: c.ID, Name: c.Name, Parts: said}}
		if o.ResultParts && maybe(t, "two parts") {
			p.Result.Parts = append(p.Result.Parts, llm.Part{Kind: llm.Text, Text: words(t, "result")})
		}
		p.Result.Error = o.ResultError && maybe(t, "result error")
		turn.Parts = append(turn.Parts, p)
	}
	if len(calls) > 0 && maybe(t, "results only") {
		return turn
	}
	turn.Parts = append(turn.Parts, llm.Part{Kind: llm.Text, Text: words(t, "user")})
	if traits.Fields[llm.FeatureImageData] != "" && maybe(t, "image") {
		turn.Parts = append(turn.Parts, llm.Part{Kind: llm.Image, Media: llm.Media{Type: "image/png", Data: "aGVsbG8="}})
	}
	if traits.Fields[llm.FeatureImageURL] != "" && maybe(t, "image by address") {
		turn.Parts = append(turn.Parts, llm.Part{Kind: llm.Image, Media: llm.Media{URL: "https://example.com/a.png"}})
	}
	return turn
}

// drawParts draws the parts of an answer: reasoning, then text, then calls, or in any order if the style keeps it. There are never two
// texts in a row, since styles join them.
func drawParts(t *rapid.T, o *Options, ids string, refusals bool) []llm.Part {
	var parts []llm.Part
	calls := rapid.IntRange(0, 2).Draw(t, "calls")
	rounds := 1
	if o.Interleaved {
		rounds = 1 + calls
	}
	n := 0
	for i := range rounds {
		text := i == 0 && calls == 0 || maybe(t, "text")
		follow := calls
		if o.Interleaved {
			follow = min(1, calls-n)
		}
		if maybe(t, "reasoning") {
			p := llm.Part{Kind: llm.Reasoning, Text: words(t, "reasoning")}
			if callFollows := !text && follow > 0; !o.Unsigned && (o.Signed || callFollows && maybe(t, "signed")) {
				p.Signature = "gw1.quillon.c2lnbmF0dXJl" + strconv.Itoa(rapid.IntRange(0, 9).Draw(t, "signature"))
			}
			parts = append(parts, p)
		}
		if text {
			kind := llm.Text
			if refusals && calls == 0 && maybe(t, "refusal") {
				kind = llm.Refusal
			}
			parts = append(parts, llm.Part{Kind: kind, Text: words(t, "text")})
		}
		for range follow {
			parts = append(parts, llm.Part{Kind: llm.Call, Call: llm.ToolCall{
				ID: ids + strconv.Itoa(n), Name: "tool_0", Arguments: pick(t, "arguments", argTexts),
			}})
			n++
		}
	}
	return parts
}

func drawResponse(t *rapid.T, o *Options) *llm.Response {
	r := &llm.Response{Parts: drawParts(t, o, "call_", o.Refusals), Stop: llm.StopEnd, Reported: true}
	if len(o.Stops) > 0 {
		r.Stop = pick(t, "stop", o.Stops)
	}
	for i := range r.Parts {
		switch r.Parts[i].Kind {
		case llm.Call:
			r.Stop = llm.StopToolCalls
		case llm.Refusal:
			r.Stop = llm.StopRefusal
		}
	}
	if r.Stop == llm.StopSequence {
		r.StopText = "END"
	}
	n := rapid.Int64Range(0, 1000)
	r.Usage = llm.Usage{Input: n.Draw(t, "input")}
	if !o.NoCacheRead {
		r.Usage.CacheRead = n.Draw(t, "cache read")
	}
	if !o.NoThoughts {
		r.Usage.Reasoning = n.Draw(t, "thoughts")
	}
	if !o.NoCacheWrite {
		r.Usage.CacheWrite = n.Draw(t, "cache write")
	}
	r.Usage.Output = r.Usage.Reasoning + n.Draw(t, "output")
	return r
}

// pieces returns the events of an answer, with its texts cut at random characters.
func pieces(t *rapid.T, r *llm.Response) []llm.Event {
	var out []llm.Event
	for _, e := range llm.Unfold(nil, r) {
		if e.Kind != llm.EventDelta {
			out = append(out, e)
			continue
		}
		runes := []rune(e.Delta)
		for len(runes) > 0 {
			n := rapid.IntRange(1, len(runes)).Draw(t, "piece")
			piece := e
			piece.Delta = string(runes[:n])
			out = append(out, piece)
			runes = runes[n:]
		}
	}
	return out
}
