package catalog

import (
	"strings"
	"testing"

	"umg/app"
	"umg/app/dialect"
	"umg/app/jsonschema"
	"umg/app/jsontree"
	"umg/app/llm"
)

// offering are options with the real rules about what styles can say and what is offered.
func offering() Options {
	return Options{Traits: dialect.Traits, Extras: func(style llm.Style) (list []Extra) {
		for _, row := range dialect.Extras(style) {
			list = append(list, Extra{
				What: row.What, At: row.At, Refused: row.Rule == dialect.ExtraRefused, Free: row.Free, Advice: row.Advice(),
				Limited: len(row.Types)+len(row.Except)+len(row.Only)+len(row.Unless) > 0,
			})
		}
		return list
	}}
}

func offeredContract(t *testing.T, style llm.Style, upstream ...llm.Style) *Contract {
	t.Helper()
	b, err := newContractBuilder(offering())
	if err != nil {
		t.Fatal(err)
	}
	of := everything(t)
	of.upstream = upstream
	c, _, err := b.build(style, of)
	if err != nil {
		t.Fatalf("%s by %v: %v", style, upstream, err)
	}
	return c
}

// TestWhatIsRefusedIsNotPromised gives contracts what the tables of refusals have, for models whose providers speak the style
// itself and for those where it is translated.
func TestWhatIsRefusedIsNotPromised(t *testing.T) {
	t.Parallel()
	const limit, carried = "does not offer for any model", "none of its providers can carry it"
	for _, c := range []struct {
		style    llm.Style
		upstream llm.Style
		members  string
		says     string // Says is empty when the body is accepted.
	}{
		{llm.Native, llm.Native, `"generationConfig":{"candidateCount":2}`, ""},
		{llm.Native, llm.Chat, `"generationConfig":{"candidateCount":2}`, carried},
		{llm.Native, llm.Chat, `"generationConfig":{"candidate_count":2}`, carried},
		{llm.Native, llm.Chat, `"generationConfig":{"candidateCount":1}`, ""},
		{llm.Native, llm.Native, `"generationConfig":{"responseLogprobs":true}`, ""},
		{llm.Native, llm.Messages, `"generationConfig":{"responseLogprobs":true}`, carried},
		{llm.Native, llm.Native, `"generationConfig":{"responseMimeType":"text/x.enum"}`, ""},
		{llm.Native, llm.Responses, `"generationConfig":{"responseMimeType":"text/x.enum"}`, `must be "text/plain", "application/json"`},
		{llm.Native, llm.Chat, `"generationConfig":{"thinkingConfig":{"thinkingLevel":"THINKING_LEVEL_UNSPECIFIED"}}`, ""},
		{llm.Native, llm.Native, `"cachedContent":"cachedContents/1"`, limit},
		{llm.Responses, llm.Responses, `"top_logprobs":2`, ""},
		{llm.Responses, llm.Chat, `"top_logprobs":2`, carried},
		{llm.Responses, llm.Chat, `"top_logprobs":0`, ""},
		{llm.Responses, llm.Responses, `"previous_response_id":"resp_1"`, limit + ". Send the whole conversation"},
		{llm.Responses, llm.Responses, `"previous_response_id":""`, ""},
		{llm.Responses, llm.Responses, `"background":true`, limit},
		{llm.Responses, llm.Responses, `"plugins":[{"id":"web"}]`, limit},
		{llm.Chat, llm.Chat, `"n":2`, ""},
		{llm.Chat, llm.Messages, `"n":2`, carried},
		{llm.Chat, llm.Messages, `"logprobs":true`, carried},
		{llm.Chat, llm.Chat, `"cached_content":"c"`, limit},
		{llm.Messages, llm.Messages, `"container":"c_1"`, limit},
		{llm.Messages, llm.Messages, `"container":{}`, ""},
		{llm.Messages, llm.Messages, `"mcp_servers":[{}]`, limit},
		{llm.Messages, llm.Messages, `"mcp_servers":[]`, ""},
	} {
		body := turns[c.style][0] + turns[c.style][2]
		body = strings.Replace(body, `"generationConfig":{"temperature":0.7,"max_output_tokens":256},`, "", 1)
		body = body[:len(body)-1] + "," + c.members + "}"
		e := app.AsError(offeredContract(t, c.style, c.upstream).Check([]byte(body)))
		switch {
		case c.says == "" && e != nil, c.says != "" && (e == nil || !strings.Contains(e.Message, c.says)):
			t.Errorf("%s by %s: %s: %v", c.style, c.upstream, c.members, e)
		}
	}
}

// TestEveryRefusalOfTheTableIsInTheContracts looks for each plain member that the table of refusals has: its contract has it too,
// with nothing but the values that ask for nothing.
func TestEveryRefusalOfTheTableIsInTheContracts(t *testing.T) {
	t.Parallel()
	for _, style := range llm.Styles() {
		doc := jsontree.MustParse(offeredContract(t, style).Schema())
		found := 0
		for _, row := range offering().Extras(style) {
			rest := neutralSchema(row, nil, false)
			steps := strings.Split(strings.ReplaceAll(row.At, "[]", ".[]"), ".")
			if !row.Refused || rest == nil || offerableAt(row.At, offering().Extras(style)) || steps[len(steps)-1] == "[]" {
				continue
			}
			last := len(steps) - 1
			for _, object := range schemasAt(doc, []*jsontree.Value{doc}, steps[:last]) {
				s := object.Get("properties").Get(steps[last])
				if s == nil {
					continue
				}
				if s.GetString(jsonschema.KeywordNotOffered) != row.What {
					t.Errorf("%s: %s is %s", style, row.At, s.AppendTo(nil))
				}
				found++
			}
		}
		if found < 3 {
			t.Errorf("%s: only %d refusals are in the contract", style, found)
		}
	}
}
