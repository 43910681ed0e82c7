package apidocs

import (
	"regexp"
	"strings"
	"testing"

	"umg/app/llm"
)

// contractWords are what a guide says of a member that the model does not support, with a value that asks for something.
var contractWords = map[llm.Style]map[string]string{
	llm.Chat: {
		"temperature": `0.5`, "top_p": `0.5`, "seed": `7`, "presence_penalty": `1`, "reasoning_effort": `"high"`, "verbosity": `"low"`,
		"stop": `["a"]`, "n": `2`, "logprobs": `true`, "tools": `[{"type":"function","function":{"name":"f"}}]`,
	},
	llm.Messages:  {"temperature": `0.5`, "top_k": `5`, "thinking": `{"type":"enabled","budget_tokens":1024}`, "stop_sequences": `["a"]`},
	llm.Responses: {"temperature": `0.5`, "reasoning": `{"effort":"high"}`, "tools": `[{"type":"function","name":"f"}]`},
}

var (
	hintSentence    = regexp.MustCompile(`Hints that this model does not take: (.*?)\. They are left out`)
	refusedSentence = regexp.MustCompile(`Not supported by this model, and refused unless null or a value that changes nothing: (.*?)\.\n`)
)

// namedIn are the fields that the sentences of a guide name.
func namedIn(guide string, sentence *regexp.Regexp) string {
	var all strings.Builder
	for _, found := range sentence.FindAllStringSubmatch(guide, -1) {
		all.WriteString(found[1] + ", ")
	}
	return all.String()
}

// TestTheGuideSaysWhatIsLeftOutAndWhatIsRefused sends each member that a model does not support, and reads what the guide says of it.
func TestTheGuideSaysWhatIsLeftOutAndWhatIsRefused(t *testing.T) {
	t.Parallel()
	hinted, forbidden := 0, 0
	for _, m := range fullSnapshot(t).Models() {
		_, guide, _ := strings.Cut(string(m.Markdown()), "## Every call")
		for style, members := range contractWords {
			_, own, _ := strings.Cut(guide, "### Fields of a request: "+string(style)+"\n")
			own, _, _ = strings.Cut(own, "### Examples: ")
			contract, known := m.Contract(style)
			if !known || !m.Serves(style) {
				continue
			}
			hints, refused := namedIn(own, hintSentence), namedIn(own, refusedSentence)
			for name, value := range members {
				body := []byte(strings.Replace(contractBody(style, m.ID), `"model"`, `"`+name+`":`+value+`,"model"`, 1))
				left, err := contract.Admit(body)
				strict := contract.Check(body)
				isHint, isRefused := strings.Contains(hints, "`"+name+"`"), strings.Contains(refused, "`"+name+"`")
				leftOut := err == nil && len(left) > 0 && left[0].Instead == "" && strict != nil
				if name == "thinking" && !m.Thinking.NoAdaptive {
					leftOut = false // A budget becomes adaptive thinking.
				}
				if isHint != leftOut || isRefused != (err != nil) {
					t.Errorf("%s, %s, %s: named as a hint %t, as refused %t; admitted with %+v, %v, strict %v", m.ID, style, name,
						isHint, isRefused, left, err, strict)
				}
				if isHint {
					hinted++
				}
				if isRefused {
					forbidden++
				}
			}
		}
	}
	if hinted < 20 || forbidden < 10 {
		t.Errorf("%d hints and %d refusals were looked at", hinted, forbidden)
	}
}

func contractBody(style llm.Style, model string) string {
	if style == llm.Responses {
		return `{"model":"` + model + `","input":"hi"}`
	}
	return `{"model":"` + model + `","messages":[{"role":"user","content":"hi"}]}`
}
