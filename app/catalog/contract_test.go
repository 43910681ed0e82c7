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
func everything(t testing.TB) terms {
	t.Helper()
	f, err := loadFragments()
	if err != nil {
		t.Fatal(err)
	}
	return terms{model: "acme/all", maxOutputTokens: 4096, inputs: []string{"text", "image", "audio", "file"}, parameters: f.parameters()}
}

func contractFor(t testing.TB, style llm.Style, of terms) *Contract {
	t.Helper()
	b, err := newContractBuilder()
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
func plain() terms {
	return terms{model: "acme/plain", maxOutputTokens: 1000, inputs: []string{"text"}}
}

func TestContractAcceptsWhatTheWireAllows(t *testing.T) {
	t.Parallel()
	c := contractFor(t, llm.Chat, everything(t))
	for name, body := range acceptedBodies() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := c.Check([]byte(body)); err != nil {
				t.Errorf("refused: %v\n%s", err, body)
			}
		})
	}
}

func TestContractNamesTheFieldAtFault(t *testing.T) {
	t.Parallel()
	c := contractFor(t, llm.Chat, everything(t))
	for _, k := range refusedBodies() {
		t.Run(k.name, func(t *testing.T) {
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
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := app.AsError(c.Check([]byte(k.body)))
			if e == nil || e.Kind != app.Invalid || e.Code != codeInvalidJSON || !strings.Contains(e.Message, k.says) {
				t.Errorf("got %v, want %s with %q", e, codeInvalidJSON, k.says)
			}
		})
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
	for name, r := range map[string]Range{
		"temperature": {Max: "2.5"}, "n": {Min: "0"}, "verbosity": {Values: []string{"shy"}}, "top_p": {Min: "1", Max: "0.5"},
	} {
		of.ranges = map[string]Range{name: r}
		b, err := newContractBuilder()
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := b.build(llm.Chat, of); err == nil {
			t.Errorf("range %+v of %s widens the style and is accepted", r, name)
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
	if bytes.Contains(a.Schema(), []byte("image_url")) || bytes.Contains(a.Schema(), []byte(wordElse)) {
		t.Error("the contract of a plain model still has parts that are not for it")
	}
}

func TestChecksRunSideBySide(t *testing.T) {
	t.Parallel()
	c := contractFor(t, llm.Chat, everything(t))
	good, bad := chatBody(2000), []byte(user(`,"temperature":3`))
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
	c := contractFor(b, llm.Chat, everything(b))
	for _, size := range []int{1, 10, 100} {
		body := chatBody(size * 1024)
		b.Run(fmt.Sprintf("%dKB", size), func(b *testing.B) {
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

// chatTurn is a question, a tool call and its result.
const chatTurn = `,{"role":"user","content":"Question %d: what is the weather in \"Z\u00fcrich\"?\n%s"}` +
	`,{"content":null,"tool_calls":[{"id":"call_%d","type":"function","function":` +
	`{"name":"get_weather","arguments":"{\"city\":\"Z\"}"}}],"role":"assistant"}` +
	`,{"role":"tool","tool_call_id":"call_%d","content":[{"type":"text","text":"12 degrees, %s"}]}`

// chatBody is a conversation of about the given size: texts with escapes, tool calls and their results, tools.
func chatBody(size int) []byte {
	var b bytes.Buffer
	b.WriteString(`{"model":"acme/all","temperature":0.7,"max_tokens":256,"stream":true,"stream_options":{"include_usage":true},"tools":[`)
	b.WriteString(`{"type":"function","function":{"name":"get_weather","description":"Current weather","parameters":` +
		`{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer","minimum":1}},"required":["city"]}}}`)
	b.WriteString(`],"messages":[{"role":"system","content":"You are a helpful assistant."}`)
	for i := 0; b.Len() < size-64; i++ {
		fmt.Fprintf(&b, chatTurn, i, strings.Repeat("Please be brief. ", 12), i, i, strings.Repeat("cloudy ", 20))
	}
	b.WriteString(`,{"role":"user","content":"And now?"}]}`)
	return b.Bytes()
}
