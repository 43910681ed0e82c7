package native_test

import (
	"errors"
	"strings"
	"testing"

	"umg/app"
	"umg/app/dialect/native"
	"umg/app/llm"
)

func user(parts ...llm.Part) llm.Turn { return llm.Turn{Role: llm.User, Parts: parts} }

func model(parts ...llm.Part) llm.Turn { return llm.Turn{Role: llm.Assistant, Parts: parts} }

func system(s string) llm.Turn { return llm.Turn{Role: llm.System, Parts: []llm.Part{text(s)}} }

// contents is what a conversation becomes, without the members around it.
func contents(t *testing.T, turns ...llm.Turn) string {
	t.Helper()
	body, err := native.Codec{}.EncodeRequest(&llm.Request{Turns: turns})
	if err != nil {
		t.Fatal(err)
	}
	loadSchemas(t).fits(t, "GenerateContentRequest", body)
	return strings.TrimSuffix(strings.TrimPrefix(string(body), `{"model":"",`), "}")
}

func TestTurnsAreMergedAndTheSystemsAreHoisted(t *testing.T) {
	t.Parallel()
	got := contents(t, system("one"), user(text("a")), system("two"), user(text(""), text("b")), model(text("")), user(text("c")), model(text("d")), model(llm.Part{Kind: llm.Refusal, Text: "no"}))
	if want := `"systemInstruction":{"parts":[{"text":"one"},{"text":"two"}]},"contents":[{"role":"user","parts":[{"text":"a"},{"text":"b"},{"text":"c"}]},` +
		`{"role":"model","parts":[{"text":"d"},{"text":"no"}]}]`; got != want {
		t.Errorf("\ngot  %s\nwant %s", got, want)
	}
}

func TestResultsComeFirstAndInTheOrderOfTheirCalls(t *testing.T) {
	t.Parallel()
	got := contents(t, user(text("x")), model(call("1", "f", "{}"), call("2", "g", `{"a": 1}`)),
		user(text("by the way"), result("2", "", false, text("a"), text("b"))),
		user(result("1", "", true, text("bad"), llm.Part{Kind: llm.Image, Media: llm.Media{Type: "image/png", Data: "aGk="}})))
	if want := `{"role":"model","parts":[{"functionCall":{"id":"1","name":"f","args":{}},"thoughtSignature":"skip_thought_signature_validator"},` +
		`{"functionCall":{"id":"2","name":"g","args":{"a":1}}}]},{"role":"user","parts":[` +
		`{"functionResponse":{"id":"1","name":"f","response":{"error":"bad"},"parts":[{"inlineData":{"mimeType":"image/png","data":"aGk="}}]}},` +
		`{"functionResponse":{"id":"2","name":"g","response":{"output":"a\nb"}}},{"text":"by the way"}]}]`; !strings.HasSuffix(got, want) {
		t.Errorf("\ngot  %s\nwant …%s", got, want)
	}
}

func TestTheFirstCallOfATurnIsSigned(t *testing.T) {
	t.Parallel()
	got := contents(t, user(text("x")), model(thought("a", "s1"), call("1", "f", "{}"), thought("", "s2"), call("2", "f", "{}"), call("3", "f", "{}")),
		user(result("1", "f", false), result("2", "f", false), result("3", "f", false)),
		model(thought("b", ""), thought("c", "s3"), text("d"), call("4", "f", "{}"), thought("", "")), user(result("4", "f", false)))
	for _, want := range []string{
		`{"text":"a","thought":true},{"functionCall":{"id":"1","name":"f","args":{}},"thoughtSignature":"s1"},` +
			`{"functionCall":{"id":"2","name":"f","args":{}},"thoughtSignature":"s2"},{"functionCall":{"id":"3","name":"f","args":{}}}]`,
		`{"text":"b","thought":true},{"text":"c","thought":true,"thoughtSignature":"s3"},{"text":"d"},` +
			`{"functionCall":{"id":"4","name":"f","args":{}},"thoughtSignature":"skip_thought_signature_validator"}]`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("\ngot  %s\nwant …%s…", got, want)
		}
	}
}

func TestWhatThisStyleCannotSayIsRefused(t *testing.T) {
	t.Parallel()
	hi := user(text("Hi"))
	for name, r := range map[string]*llm.Request{
		"no turn":               {},
		"only the system":       {Turns: []llm.Turn{system("a")}},
		"the model begins":      {Turns: []llm.Turn{system("a"), user(text("")), model(text("a")), hi}},
		"a call without result": {Turns: []llm.Turn{hi, model(call("1", "f", "{}")), hi}},
		"the last call":         {Turns: []llm.Turn{hi, model(call("1", "f", "{}"))}},
		"one of two calls":      {Turns: []llm.Turn{hi, model(call("1", "f", "{}"), call("2", "f", "{}")), user(result("1", "f", false))}},
		"a result without call": {Turns: []llm.Turn{hi, model(text("a")), user(result("1", "f", false))}},
		"a result at first":     {Turns: []llm.Turn{user(result("1", "f", false))}},
		"two results":           {Turns: []llm.Turn{hi, model(call("1", "f", "{}")), user(result("1", "f", false), result("1", "f", false))}},
		"broken arguments":      {Turns: []llm.Turn{hi, model(call("1", "f", `{"a`)), user(result("1", "f", false))}},
		"arguments in a list":   {Turns: []llm.Turn{hi, model(call("1", "f", `[]`)), user(result("1", "f", false))}},
		"free text":             {Turns: []llm.Turn{hi}, Tools: []llm.Tool{{Name: "f", Custom: true}}},
		"a broken schema":       {Turns: []llm.Turn{hi}, Tools: []llm.Tool{{Name: "f", Parameters: []byte(`{`)}}},
		"a broken format":       {Turns: []llm.Turn{hi}, Format: llm.Format{Kind: llm.FormatSchema, Schema: []byte(`{`)}},
		"an unknown effort":     {Turns: []llm.Turn{hi}, Reasoning: llm.ReasoningOptions{Effort: "heroic"}},
	} {
		body, err := encodeChecked(r)
		if e, ok := errors.AsType[*app.Error](err); !ok || e.Kind != app.Invalid || e.Message == "" {
			t.Errorf("%s: %s, %v", name, body, err)
		}
	}
}

func TestMediaIsWrittenByItsKind(t *testing.T) {
	t.Parallel()
	for want, m := range map[string]llm.Media{
		`{"inlineData":{"mimeType":"application/pdf","data":"aGk="}}`:             {Type: "application/pdf", Data: "aGk=", Name: "a.pdf"},
		`{"inlineData":{"mimeType":"application/octet-stream","data":"aGk="}}`:    {Data: "aGk="},
		`{"inlineData":{"mimeType":"text/plain","data":"aGk="}}`:                  {Text: "hi"},
		`{"inlineData":{"mimeType":"text/markdown","data":"aGk="}}`:               {Type: "text/markdown", Text: "hi"},
		`{"fileData":{"mimeType":"image/png","fileUri":"https://example.com/a"}}`: {Type: "image/png", URL: "https://example.com/a"},
		`{"fileData":{"fileUri":"https://example.com/a"}}`:                        {URL: "https://example.com/a"},
	} {
		if got := contents(t, user(llm.Part{Kind: llm.File, Media: m})); got != `"contents":[{"role":"user","parts":[`+want+`]}]` {
			t.Errorf("%s\n%s", got, want)
		}
	}
}

func TestSamplingStaysWithinTheBoundsOfThisStyle(t *testing.T) {
	t.Parallel()
	body, err := native.Codec{}.EncodeRequest(&llm.Request{Turns: []llm.Turn{user(text("Hi"))}, Sampling: llm.Sampling{
		PresencePenalty: "2", FrequencyPenalty: "2.0", Seed: "9223372036854775807", Temperature: "2",
	}})
	want := `"generationConfig":{"temperature":2,"presencePenalty":1.999,"frequencyPenalty":1.999,"seed":2147483647}}`
	if err != nil || !strings.HasSuffix(string(body), want) {
		t.Errorf("%s, %v", body, err)
	}
	for format, want := range map[llm.FormatKind]string{llm.FormatText: `"text/plain"`, llm.FormatJSON: `"application/json"`, llm.FormatSchema: `"application/json"`} {
		body, err := native.Codec{}.EncodeRequest(&llm.Request{Turns: []llm.Turn{user(text("Hi"))}, Format: llm.Format{Kind: format}})
		if err != nil || !strings.HasSuffix(string(body), `"generationConfig":{"responseMimeType":`+want+`}}`) {
			t.Errorf("%s, %v", body, err)
		}
	}
}

func TestTheTraitsSayWhatThisStyleHas(t *testing.T) {
	t.Parallel()
	traits := native.Codec{}.Traits()
	for _, f := range []llm.Feature{
		llm.FeatureImageURL, llm.FeatureFileURL, llm.FeatureFileID, llm.FeatureEndUser, llm.FeatureVerbosity, llm.FeatureParticipant,
		llm.FeatureParallel, llm.FeatureCustomTool, llm.FeatureChoices, llm.FeatureLogProbs, llm.FeatureDetail,
	} {
		if traits.Fields[f] != "" {
			t.Errorf("feature %d is not carried, but is named %s", f, traits.Fields[f])
		}
	}
	for name, takes := range map[string]bool{"a.b:c-d_1": true, "_a": true, "1a": false, "-a": false, "a b": false, strings.Repeat("a", 128): true, strings.Repeat("a", 129): false} {
		if traits.TakesName(name) != takes {
			t.Errorf("%s: %v", name, !takes)
		}
	}
}
