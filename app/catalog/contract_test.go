package catalog

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"

	"umg/app"
	"umg/app/llm"
)

// everything is a model that supports every parameter and reads every modality.
func everything(t testing.TB) contractParams {
	t.Helper()
	f, err := loadFragments()
	if err != nil {
		t.Fatal(err)
	}
	return contractParams{
		model: "acme/all", maxOutputTokens: 4096, inputs: []string{"text", "image", "audio", "video", "file"}, parameters: f.parameters(contractStyles()),
		sizes: []string{"720x1280", "1280x720"}, seconds: []int64{4, 8, 12}, assets: 2,
	}
}

func contractFor(t testing.TB, style llm.Style, of contractParams) *Contract {
	t.Helper()
	b, err := newContractBuilder(Options{})
	if err != nil {
		t.Fatal(err)
	}
	c, ok, err := b.build(style, of)
	if err != nil || !ok {
		t.Fatalf("no contract in style %s: %v", style, err)
	}
	return c
}

// plain is a model that reads text and supports no parameter at all.
func plain() contractParams {
	return contractParams{model: "acme/plain", maxOutputTokens: 1000, inputs: []string{"text"}}
}

func TestContractAcceptsWhatTheWireAllows(t *testing.T) {
	t.Parallel()
	for _, style := range contractStyles() {
		c := contractFor(t, style, everything(t))
		for name, body := range acceptedBodies(t, style) {
			t.Run(string(style)+" "+name, func(t *testing.T) {
				t.Parallel()
				if err := c.Check([]byte(body)); err != nil {
					t.Errorf("refused: %v\n%s", err, body)
				}
			})
		}
	}
}

func TestContractNamesTheFieldAtFault(t *testing.T) {
	t.Parallel()
	for _, style := range contractStyles() {
		c := contractFor(t, style, everything(t))
		for _, k := range refusedBodies(t, style) {
			t.Run(string(style)+" "+k.name, func(t *testing.T) {
				t.Parallel()
				e := app.AsError(c.Check([]byte(k.body)))
				if e == nil {
					t.Fatalf("accepted: %s", k.body)
				}
				if e.Kind != app.Invalid || e.Code != codeInvalid || e.Param != k.param || !strings.Contains(e.Message, k.says) {
					t.Errorf("got kind %d code %s param %q\n%s\nwant param %q and a message with %q", e.Kind, e.Code, e.Param, e.Message, k.param, k.says)
				}
				if e.Doc != "/v1/model/api.md?model=acme/all" {
					t.Errorf("the error points to %q", e.Doc)
				}
			})
		}
	}
}

func TestInvalidJSONIsNamedWithItsPlace(t *testing.T) {
	t.Parallel()
	c := contractFor(t, llm.Chat, everything(t))
	for name, k := range map[string]struct{ body, says string }{
		"empty":                {"", "it is empty at byte 0 (line 1, column 1)"},
		"white space":          {" \n ", "it is empty at byte 3 (line 2, column 2)"},
		"not JSON":             {"model=a", "byte 0 (line 1, column 1)"},
		"byte order mark":      {"\ufeff{}", "byte 0"},
		"cut":                  {`{"model":"a","messages":[`, "at byte 25"},
		"a comma too many":     {"{\"model\":\"a\",\n\"user\":\"b\",}", "(line 2, column"},
		"trailing garbage":     {user("") + " x", "byte"},
		"two documents":        {user("") + user(""), "byte"},
		"a comment":            {user(",/* */\"x\":1"), "byte"},
		"single quotes":        {`{'model':'a'}`, "byte 1 (line 1, column 2)"},
		"NaN":                  {user(`,"temperature":NaN`), "byte"},
		"leading zero":         {user(`,"temperature":01`), "byte"},
		"plus sign":            {user(`,"temperature":+1`), "byte"},
		"beyond float64":       {user(`,"temperature":1e999`), "number 1e999 is outside the range"},
		"beyond it, unknown":   {user(`,"x":{"y":[-1e309]}`), "number -1e309 is outside the range"},
		"below it":             {user(`,"x":1e-400`), "outside the range"},
		"endless":              {user(`,"x":` + strings.Repeat("1", 10_000)), "outside the range"},
		"invalid UTF-8":        {user(",\"user\":\"\xff\""), "invalid UTF-8"},
		"lone high surrogate":  {user(`,"user":"\ud800"`), "byte"},
		"lone low surrogate":   {user(`,"user":"\udc00 "`), "byte"},
		"control character":    {user(",\"user\":\"a\x01\""), "byte"},
		"NUL outside a string": {user(",\x00"), "byte"},
		"bad escape":           {user(`,"user":"\x"`), "byte"},
		"too deep":             {user(`,"x":` + strings.Repeat("[", depthMax) + strings.Repeat("]", depthMax)), "deeper than 128 levels"},
		"far too deep":         {user(`,"x":` + strings.Repeat(`{"a":`, 100_000)), "deeper than 128 levels"},
		"number as a name":     {`{1:2}`, "byte"},
		"too many names":       {user(`,"x":` + names(namesMax+namesStep) + `}`), "more than 200000 members"},
		"too many at the top":  {user(`,` + names(namesMax + namesStep)[1:]), "more than 200000 members"},
		"too many, nested":     {user(`,"x":` + strings.Repeat(names(namesMax/8)+`,"z":`, 9) + "1"), "more than 200000 members"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := app.AsError(c.Check([]byte(k.body)))
			if e == nil || e.Kind != app.Invalid || e.Code != "invalid_json" || !strings.Contains(e.Message, k.says) {
				t.Errorf("got %v, want %s with %q", e, "invalid_json", k.says)
			}
		})
	}
}

// names is the beginning of an object with so many members.
func names(n int) string {
	var b strings.Builder
	b.WriteByte('{')
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `"n%d":0`, i)
	}
	return b.String()
}

// TestManySmallObjectsAreNoCrowd has as many names as a large object may not have, in objects that follow each other.
func TestManySmallObjectsAreNoCrowd(t *testing.T) {
	t.Parallel()
	c := contractFor(t, llm.Chat, everything(t))
	if err := c.Check([]byte(user(`,"x":[` + strings.Repeat(`{"a":1,"b":2},`, namesMax) + names(namesMax/2) + `}]`))); err != nil {
		t.Error(err)
	}
}

func TestInvalidJSONCountsLinesAndColumns(t *testing.T) {
	t.Parallel()
	e := app.AsError(contractFor(t, llm.Chat, plain()).Check([]byte("{\n \"é\": x}")))
	if e == nil || !strings.Contains(e.Message, "at byte 9 (line 2, column 7)") {
		t.Errorf("got %v", e)
	}
}

func TestUnsupportedParametersAreRefusedByName(t *testing.T) {
	t.Parallel()
	c := contractFor(t, llm.Chat, plain())
	for param, k := range map[string]struct{ value, says string }{
		"tools":            {`[{"type":"function","function":{"name":"f"}}]`, "is not supported by the model acme/plain. Leave it out."},
		"temperature":      {"0.5", "is not supported by the model acme/plain. Leave it out, or send 1 or null."},
		"n":                {"2", "send 1 or null"},
		"logprobs":         {"true", "send false or null"},
		"reasoning_effort": {`"low"`, `send "none" or null`},
		"stop":             {`["a"]`, "Leave it out."},
		"logit_bias":       {`{"1":1}`, "Leave it out."},
		"service_tier":     {`"priority"`, `"auto", "default" or null`},
		"tool_choice":      {`"required"`, `"auto", "none" or null`},
	} {
		e := app.AsError(c.Check([]byte(user(`,"` + param + `":` + k.value))))
		if e == nil || e.Param != param || !strings.Contains(e.Message, k.says) {
			t.Errorf("%s: got %v, want a message with %q", param, e, k.says)
		}
	}
	neutral := user(`,"temperature":1,"top_p":1.0,"n":1,"logprobs":false,"presence_penalty":0,"tools":null,"tool_choice":"auto",` +
		`"response_format":{"type":"text"},"modalities":["text"],"service_tier":"auto","stop":null`)
	if err := c.Check([]byte(neutral)); err != nil {
		t.Errorf("values that change nothing are refused: %v", err)
	}
	image := message(`{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://a"}}]}`)
	e := app.AsError(c.Check([]byte(image)))
	if e == nil || e.Param != "messages[0].content[0].type" || !strings.Contains(e.Message, `must be "text", not "image_url"`) {
		t.Errorf("an image for a model that reads text: %v", e)
	}
}

func TestRangesNarrowTheContract(t *testing.T) {
	t.Parallel()
	of := everything(t)
	of.ranges = map[string]Range{
		"temperature": {Min: "0.1", Max: "1", Default: "0.7"}, "stop": {MaxItems: "2"},
		"reasoning_effort": {Values: []string{"low", "high"}},
	}
	c := contractFor(t, llm.Chat, of)
	for body, param := range map[string]string{
		user(`,"temperature":1.1`): "temperature", user(`,"temperature":0`): "temperature", user(`,"temperature":0.1`): "",
		user(`,"reasoning_effort":"medium"`): "reasoning_effort", user(`,"reasoning_effort":"high"`): "", user(`,"reasoning_effort":null`): "",
		user(`,"stop":["a","b","c"]`): "stop", user(`,"stop":["a","b"]`): "",
	} {
		e := app.AsError(c.Check([]byte(body)))
		if (e == nil) != (param == "") || (e != nil && e.Param != param) {
			t.Errorf("%s: got %v", body, e)
		}
	}
	of.ranges = map[string]Range{"top_p": {Min: "1", Max: "0.5"}}
	b, err := newContractBuilder(Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := b.build(llm.Chat, of); err == nil {
		t.Error("a range without anything in it is accepted")
	}
}

func TestARangeNarrowsEachStyleAsFarAsItIsWider(t *testing.T) {
	t.Parallel()
	of := everything(t)
	of.ranges = map[string]Range{
		"temperature": {Max: "1.2", Default: "1.1"}, "stop": {MaxItems: "4"}, "reasoning_effort": {Values: []string{"none", "low", "high"}},
	}
	for style, bodies := range map[llm.Style]map[string]string{
		llm.Chat: {user(`,"temperature":1.2`): "", user(`,"temperature":1.3`): "temperature", user(`,"reasoning_effort":"none"`): ""},
		llm.Messages: {
			user(`,"temperature":1`): "", user(`,"temperature":1.1`): "temperature", user(`,"output_config":{"effort":"high"}`): "",
			user(`,"output_config":{"effort":"medium"}`): "output_config.effort", user(`,"stop_sequences":["a","b","c","d","e"]`): "stop_sequences",
		},
		llm.Native: {
			nativeUser(`,"generationConfig":{"temperature":1.3}`):                            "generationConfig.temperature",
			nativeUser(`,"generation_config":{"temperature":1.3}`):                           "generation_config.temperature",
			nativeUser(`,"generationConfig":{"thinkingConfig":{"thinkingLevel":"LOW"}}`):     "",
			nativeUser(`,"generationConfig":{"thinkingConfig":{"thinking_level":"MEDIUM"}}`): "generationConfig.thinkingConfig.thinking_level",
			nativeUser(`,"generationConfig":{"stop_sequences":["a","b","c","d","e"]}`):       "generationConfig.stop_sequences",
		},
	} {
		c := contractFor(t, style, of)
		for body, param := range bodies {
			e := app.AsError(c.Check([]byte(body)))
			if (e == nil) != (param == "") || (e != nil && e.Param != param) {
				t.Errorf("%s: %s: got %v", style, body, e)
			}
		}
		newOracle(t, c)
		if style == llm.Messages && strings.Contains(string(c.Schema()), "1.1") {
			t.Error("a default beyond the maximum is published")
		}
	}
	of.ranges = map[string]Range{"reasoning_effort": {Values: []string{"minimal"}}}
	e := app.AsError(contractFor(t, llm.Messages, of).Check([]byte(user(`,"output_config":{"effort":"low"}`))))
	if e == nil || !strings.Contains(e.Message, "is not supported by the model") {
		t.Errorf("words that a style does not have: %v", e)
	}
}

func nativeUser(members string) string {
	return `{"model":"acme/all","contents":[{"parts":[{"text":"hi"}]}]` + members + `}`
}

func TestUnsupportedParametersAreRefusedInEveryStyle(t *testing.T) {
	t.Parallel()
	config := func(members string) string { return nativeUser(`,"generationConfig":{` + members + `}`) }
	ask := func(members string) string { return `{"model":"acme/plain","input":"hi"` + members + `}` }
	for style, bodies := range map[llm.Style]map[string]string{
		llm.Messages: {
			user(`,"tools":[{"name":"f","input_schema":{}}]`): "tools", user(`,"temperature":0.5`): "temperature", user(`,"stop_sequences":["a"]`): "stop_sequences",
			user(`,"thinking":{"type":"enabled","budget_tokens":2000}`): "thinking.type", user(`,"output_config":{"effort":"low"}`): "output_config.effort",
			user(`,"tool_choice":"any"`): "tool_choice",
			message(`{"role":"user","content":[{"type":"image","source":{"type":"url","url":"https://a"}}]}`): "messages[0].content[0].type",
			user(`,"tools":[],"temperature":1,"top_p":1.0,"stop_sequences":[],"thinking":{"type":"disabled"},"output_config":{},` +
				`"tool_choice":{"type":"auto"}`): "",
			user(`,"top_k":5`): "top_k",
			user(`,"tool_choice":"none","thinking":{"type":"adaptive"}`): "",
		},
		llm.Responses: {
			ask(`,"tools":[{"type":"web_search"}]`): "tools", ask(`,"reasoning":{"effort":"low"}`): "reasoning.effort", ask(`,"text":{"verbosity":"low"}`): "text.verbosity",
			ask(`,"text":{"format":{"type":"json_object"}}`): "text.format.type", ask(`,"top_logprobs":1`): "top_logprobs",
			ask(`,"reasoning":{"summary":"auto"}`): "reasoning.summary",
			ask(`,"tools":[],"parallel_tool_calls":false,"tool_choice":"auto","reasoning":{"effort":null},"text":{"format":{"type":"text"},` +
				`"verbosity":"medium"},"temperature":1,"include":[],"store":true`): "",
		},
		llm.Native: {
			nativeUser(`,"tools":[{"google_search":{}}]`): "tools", config(`"temperature":0`): "generationConfig.temperature", config(`"candidate_count":2`): "generationConfig.candidate_count",
			config(`"thinkingConfig":{"thinkingBudget":5}`): "generationConfig.thinkingConfig.thinkingBudget", config(`"stopSequences":["a"]`): "generationConfig.stopSequences",
			config(`"responseMimeType":"application/json"`): "generationConfig.responseMimeType", config(`"responseModalities":["AUDIO"]`): "generationConfig.responseModalities[0]",
			nativeUser(`,"toolConfig":{"functionCallingConfig":{"mode":"ANY"}}`):                         "toolConfig.functionCallingConfig.mode",
			`{"model":"a","contents":[{"parts":[{"inline_data":{"mime_type":"image/png","data":""}}]}]}`: "contents[0].parts[0].inline_data",
			config(`"topK":40`): "generationConfig.topK",
			config(`"temperature":1,"candidateCount":1,"thinkingConfig":{"includeThoughts":false,"thinking_budget":0},"responseMimeType":"text/plain",` +
				`"stop_sequences":[],"response_modalities":["TEXT"]`): "",
			nativeUser(`,"tools":[],"tool_config":{"function_calling_config":{"mode":"AUTO"}}`): "",
		},
	} {
		c := contractFor(t, style, plain())
		for body, param := range bodies {
			e := app.AsError(c.Check([]byte(body)))
			if (e == nil) != (param == "") || (e != nil && e.Param != param) {
				t.Errorf("%s: %s: got %v", style, body, e)
			}
		}
	}
}

func TestNativeMediaAreThoseTheModelReads(t *testing.T) {
	t.Parallel()
	of := plain()
	of.inputs = []string{"text", "image", "file"}
	c := contractFor(t, llm.Native, of)
	for mime, good := range map[string]bool{"image/png": true, "application/pdf": true, "text/plain": true, "audio/wav": false, "video/mp4": false, "": false} {
		body := `{"model":"a","contents":[{"parts":[{"inlineData":{"mimeType":"` + mime + `","data":""}}]}]}`
		if err := c.Check([]byte(body)); (err == nil) != good {
			t.Errorf("%s: %v", mime, err)
		}
	}
}

func TestErrorsRepeatLittleOfTheBody(t *testing.T) {
	t.Parallel()
	c := contractFor(t, llm.Chat, everything(t))
	long := strings.Repeat("s", 100_000)
	for _, members := range []string{
		`,"reasoning_effort":"` + long + `"`, `,"Model` + long + `":{"a":1,"a":2}`, `,"metadata":{"` + long + `":1}`,
	} {
		body := user(members)
		e := app.AsError(c.Check([]byte(body)))
		if e == nil || len(e.Message) > 1000 || len(e.Param) > 2*paramBytesMax {
			t.Errorf("an error of %d bytes", len(fmt.Sprint(e)))
		}
	}
}

func TestEqualTermsMakeEqualContracts(t *testing.T) {
	t.Parallel()
	a, b, other := contractFor(t, llm.Chat, plain()), contractFor(t, llm.Chat, plain()), contractFor(t, llm.Chat, everything(t))
	if a.Hash() != b.Hash() || !bytes.Equal(a.Schema(), b.Schema()) || len(a.Hash()) != 16 {
		t.Error("the same terms make different contracts")
	}
	if a.Hash() == other.Hash() {
		t.Error("different contracts share a hash")
	}
	if bytes.Contains(a.Schema(), []byte("image_url")) || bytes.Contains(a.Schema(), []byte(keywordElse)) {
		t.Error("the contract of a plain model still has parts that are not for it")
	}
}

func TestChecksRunSideBySide(t *testing.T) {
	t.Parallel()
	c := contractFor(t, llm.Chat, everything(t))
	good, bad := longBody(llm.Chat, 2000), []byte(user(`,"temperature":3`))
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 200 {
				if err := c.Check(good); err != nil {
					t.Error(err)
				}
				if e := app.AsError(c.Check(bad)); e == nil || e.Param != "temperature" {
					t.Error(e)
				}
			}
		})
	}
	group.Wait()
}

func BenchmarkCheck(b *testing.B) {
	for _, style := range llm.Styles() {
		c := contractFor(b, style, everything(b))
		for _, size := range []int{1, 10, 100} {
			body := longBody(style, size*1024)
			b.Run(fmt.Sprintf("%s/%dKB", style, size), func(b *testing.B) {
				b.ReportAllocs()
				b.SetBytes(int64(len(body)))
				for b.Loop() {
					if err := c.Check(body); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
