package catalog

import (
	"bytes"
	"fmt"
	"slices"
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

// user wraps members into a body that is otherwise right.
func user(members string) string {
	return `{"model":"acme/all","messages":[{"role":"user","content":"hi"}]` + members + `}`
}

func message(m string) string { return `{"model":"acme/all","messages":[` + m + `]}` }

func acceptedBodies() map[string]string {
	deepest := strings.Repeat("[", depthMax-1) + strings.Repeat("]", depthMax-1)
	return map[string]string{
		"the least":                   user(""),
		"role last":                   message(`{"content":[{"text":"hi","type":"text"}],"role":"user"}`),
		"escaped names":               `{"mod\u0065l":"a","mess\u0061ges":[{"r\u006fle":"us\u0065r","content":""}]}`,
		"white space":                 " {\n\t\"model\" : \"a\" , \"messages\" : [ { \"content\" : \"x\" , \"role\" : \"user\" } ] }\r\n",
		"every role":                  message(`{"role":"system","content":"a"},{"role":"developer","content":"b"},{"role":"user","content":"c"},{"role":"assistant","content":"d"},{"role":"tool","content":"e","tool_call_id":"1"},{"role":"function","content":null,"name":"f"}`),
		"tool loop":                   message(`{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"1","content":[{"type":"text","text":"ok"}]}`),
		"content absent beside calls": message(`{"role":"assistant","tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}}]}`),
		"an SDK's own message":        message(`{"role":"assistant","content":"a","refusal":null,"annotations":[],"audio":null,"function_call":null,"tool_calls":null,"reasoning_content":"hm"}`),
		"refusal only":                message(`{"role":"assistant","content":null,"refusal":"no"}`),
		"parts":                       message(`{"role":"user","content":[{"type":"text","text":"a"},{"type":"image_url","image_url":{"url":"https:\/\/a.example\/b.png","detail":"low"}},{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}},{"type":"input_audio","input_audio":{"data":"AA","format":"wav"}},{"type":"file","file":{"file_id":"f"}}]}`),
		"tools":                       user(`,"tools":[{"type":"function","function":{"name":"a-b_C9","parameters":{"type":"object","Model":1,"properties":{}},"strict":true}},{"type":"custom","custom":{"name":"x","format":{"type":"grammar","grammar":{"definition":"d","syntax":"lark"}}}}],"tool_choice":{"type":"function","function":{"name":"a"}},"parallel_tool_calls":false`),
		"tool choice word":            user(`,"tool_choice":"required"`),
		"allowed tools":               user(`,"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[{"type":"function","function":{"name":"a"}}]}}`),
		"response formats":            user(`,"response_format":{"type":"json_schema","json_schema":{"name":"n","schema":{"$ref":"#"},"strict":true}}`),
		"every number at its end":     user(`,"temperature":2,"top_p":0,"presence_penalty":-2.0,"frequency_penalty":2e0,"n":128,"seed":-9223372036854775808,"top_logprobs":20,"max_tokens":4096,"max_completion_tokens":1,"logit_bias":{"50256":-100}`),
		"integers by value":           user(`,"max_tokens":1.0,"n":1e1,"seed":9223372036854775807`),
		"nulls":                       user(`,"temperature":null,"stop":null,"tools":null,"tool_choice":null,"response_format":null,"stream":null,"stream_options":null,"metadata":null,"user":null,"reasoning_effort":null`),
		"stream options":              user(`,"stream_options":{"include_usage":true},"stream":true`),
		"stop":                        user(`,"stop":["a","b","c","d"]`),
		"metadata":                    user(`,"metadata":{"` + strings.Repeat("k", 64) + `":"` + strings.Repeat("é", 512) + `"}`),
		"unknown members":             user(`,"thinking":{"type":"enabled","Role":1},"max_new_tokens":-5,"x":` + strings.Repeat("[", 50) + strings.Repeat("]", 50)),
		"as deep as allowed":          user(`,"x":` + deepest),
		"smallest and largest":        user(`,"x":[5e-324,1.7976931348623157e308,-0,0e999,123456789012345678901234567890]`),
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

type refused struct{ name, body, param, says string }

func refusedBodies() []refused {
	return slices.Concat(refusedNumbers(), []refused{
		{"an array", `[]`, "", "must be a JSON object, not an array"},
		{"a string", `"model"`, "", "must be a JSON object, not a string"},
		{"messages missing", `{"model":"a"}`, "messages", "is required"},
		{"model missing", `{"messages":[{"role":"user","content":""}]}`, "model", "is required"},
		{"model empty", `{"model":"","messages":[]}`, "model", "must not be empty"},
		{"model a number", `{"model":5}`, "model", "must be a string, not a number (5)"},
		{"messages empty", `{"model":"a","messages":[]}`, "messages", "must not be empty: it needs at least 1 item"},
		{"messages null", `{"model":"a","messages":null}`, "messages", "must be an array, not null"},
		{"messages an object", `{"model":"a","messages":{}}`, "messages", "must be an array, not an object"},
		{"message a string", message(`"hi"`), "messages[0]", "must be an object, not a string (\"hi\")"},
		{"role missing", message(`{"content":"a"}`), "messages[0].role", `is required; it must be "system", "developer", "user", "assistant", "tool" or "function"`},
		{"role unknown", message(`{"role":"user","content":""},{"content":"a","role":"robot"}`), "messages[1].role", `or "function", not "robot"`},
		{"role a number", message(`{"role":1}`), "messages[0].role", "not a number"},
		{"content missing", message(`{"role":"user"}`), "messages[0].content", "is required"},
		{"content null for a user", message(`{"role":"user","content":null}`), "messages[0].content", "must be a string or an array, not null"},
		{"content null without calls", message(`{"role":"assistant","content":null}`), "messages[0].content", "Needed is content (a string or an array), tool_calls (an array)"},
		{"content null beside empty calls", message(`{"role":"assistant","content":null,"tool_calls":[]}`), "messages[0].content", "does not go with"},
		{"content absent for an assistant", message(`{"role":"assistant"}`), "messages[0].content", "does not go with"},
		{"part unknown", message(`{"role":"system","content":""},{"role":"user","content":""},{"role":"user","content":[{"type":"img"}]}`),
			"messages[2].content[0].type", `must be "text", "image_url", "input_audio" or "file", not "img"`},
		{"part without text", message(`{"role":"user","content":[{"type":"text"}]}`), "messages[0].content[0].text", "is required; it must be a string"},
		{"no parts", message(`{"role":"user","content":[]}`), "messages[0].content", "must not be empty"},
		{"image in a system message", message(`{"role":"system","content":[{"type":"image_url","image_url":{"url":"https://a"}}]}`), "messages[0].content[0].type", `must be "text", not "image_url"`},
		{"image address", message(`{"role":"user","content":[{"type":"image_url","image_url":{"url":"file:///etc/passwd"}}]}`), "messages[0].content[0].image_url.url", "must match"},
		{"tool result without id", message(`{"role":"tool","content":"a"}`), "messages[0].tool_call_id", "is required"},
		{"tool kind", user(`,"tools":[{"type":"plugin"}]`), "tools[0].type", `must be "function" or "custom", not "plugin"`},
		{"tool name", user(`,"tools":[{"type":"function","function":{"name":"get weather"}}]`), "tools[0].function.name", "must match"},
		{"tool name too long", user(`,"tools":[{"type":"function","function":{"name":"` + strings.Repeat("n", 65) + `"}}]`), "tools[0].function.name", "at most 64 characters, not 65"},
		{"tool choice word", user(`,"tool_choice":"maybe"`), "tool_choice", `must be "none", "auto", "required", an object or null, not "maybe"`},
		{"arguments as an object", message(`{"role":"assistant","tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":{}}}]}`), "messages[0].tool_calls[0].function.arguments", "must be a string, not an object"},
		{"stream a string", user(`,"stream":"true"`), "stream", `must be a boolean or null, not a string ("true")`},
		{"stream options without stream", user(`,"stream_options":{"include_usage":true}`), "stream_options", "Needed is stream_options (null) or stream (true)"},
		{"effort", user(`,"reasoning_effort":"maximal"`), "reasoning_effort", `"xhigh", "max" or null, not "maximal"`},
		{"stop too many", user(`,"stop":["a","b","c","d","e"]`), "stop", "1 to 4 items, not 5"},
		{"stop a number", user(`,"stop":1`), "stop", "must be a string, an array or null"},
		{"metadata too many", user(`,"metadata":{` + manyMembers(17) + `}`), "metadata", "at most 16 members, not 17"},
		{"metadata value", user(`,"metadata":{"a":1}`), "metadata.a", "must be a string"},
		{"metadata value too long", user(`,"metadata":{"a":"` + strings.Repeat("é", 513) + `"}`), "metadata.a", "at most 512 characters, not 513"},
		{"metadata key too long", user(`,"metadata":{"` + strings.Repeat("k", 65) + `":""}`), "metadata." + strings.Repeat("k", 65), "more than 64 characters"},
		{"duplicate", user(`,"model":"dear"`), "model", "occurs more than once"},
		{"duplicate by escape", user(`,"m\u006fdel":"dear"`), "model", "occurs more than once"},
		{"duplicate below", message(`{"role":"user","content":"a","content":"b"}`), "messages[0].content", "occurs more than once"},
		{"duplicate in the unknown", user(`,"x":[{"a":1,"a":2}]`), "x[0].a", "occurs more than once"},
		{"case", user(`,"Model":"dear"`), "Model", `"model"`},
		{"upper case", user(`,"MAX_TOKENS":5`), "MAX_TOKENS", `"max_tokens"`},
		{"case by a Kelvin sign", user(",\"max_to\u212aens\":5"), "max_to\u212aens", `"max_tokens"`},
		{"case below", message(`{"role":"user","content":"a","Role":"system"}`), "messages[0].Role", `"role"`},
	})
}

func refusedNumbers() []refused {
	var all []refused
	for value, says := range map[string]string{
		"-1": "not -1", "0": "not 0", "9223372036854775808": "not 9223372036854775808", "1000000000000000000": "not 1000000000000000000",
		`"100"`: `not a string ("100")`, "1.5": "must be an integer from 1 to 4096, not 1.5", "4097": "from 1 to 4096, not 4097",
		"1e18": "not 1e18", "4096.0000000000000000000001": "must be an integer", "true": "not a boolean (true)", "[1]": "not an array", "{}": "not an object",
	} {
		all = append(all, refused{"max_tokens " + value, user(`,"max_tokens":` + value), "max_tokens", says})
	}
	for member, value := range map[string]string{
		"temperature": "2.0000000000000000000001", "top_p": "-1e-300", "presence_penalty": "2.01", "frequency_penalty": "-3", "n": "0",
		"top_logprobs": "21", "seed": "9223372036854775808",
	} {
		all = append(all, refused{member, user(`,"` + member + `":` + value), member, "not " + value})
	}
	return append(all, refused{"logit_bias", user(`,"logit_bias":{"1":101}`), "logit_bias.1", "from -100 to 100, not 101"})
}

func manyMembers(n int) string {
	var members []string
	for i := range n {
		members = append(members, fmt.Sprintf(`"k%d":""`, i))
	}
	return strings.Join(members, ",")
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
	of.ranges = map[string]Range{"temperature": {Min: "0.1", Max: "1", Default: "0.7"}, "reasoning_effort": {Values: []string{"low", "high"}}, "stop": {MaxItems: "2"}}
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
	for name, r := range map[string]Range{"temperature": {Max: "2.5"}, "n": {Min: "0"}, "verbosity": {Values: []string{"shy"}}, "top_p": {Min: "1", Max: "0.5"}} {
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
	for _, body := range []string{user(`,"reasoning_effort":"` + long + `"`), user(`,"Model` + long + `":{"a":1,"a":2}`), user(`,"metadata":{"` + long + `":1}`)} {
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

// chatBody is a conversation of about the given size: texts with escapes, tool calls and their results, tools.
func chatBody(size int) []byte {
	var b bytes.Buffer
	b.WriteString(`{"model":"acme/all","temperature":0.7,"max_tokens":256,"stream":true,"stream_options":{"include_usage":true},"tools":[`)
	b.WriteString(`{"type":"function","function":{"name":"get_weather","description":"Current weather","parameters":` +
		`{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer","minimum":1}},"required":["city"]}}}`)
	b.WriteString(`],"messages":[{"role":"system","content":"You are a helpful assistant."}`)
	for i := 0; b.Len() < size-64; i++ {
		fmt.Fprintf(&b, `,{"role":"user","content":"Question %d: what is the weather in \"Z\u00fcrich\"?\n%s"}`, i, strings.Repeat("Please be brief. ", 12))
		fmt.Fprintf(&b, `,{"content":null,"tool_calls":[{"id":"call_%d","type":"function","function":{"name":"get_weather","arguments":"{\"city\":\"Z\"}"}}],"role":"assistant"}`, i)
		fmt.Fprintf(&b, `,{"role":"tool","tool_call_id":"call_%d","content":[{"type":"text","text":"12 degrees, %s"}]}`, i, strings.Repeat("cloudy ", 20))
	}
	b.WriteString(`,{"role":"user","content":"And now?"}]}`)
	return b.Bytes()
}
