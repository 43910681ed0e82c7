package dialect_test

import (
	"strings"
	"testing"

	"umg/app/llm"
)

// TestOnlyTextIsEstimated weighs requests whose words are known, in every style.
func TestOnlyTextIsEstimated(t *testing.T) {
	t.Parallel()
	hundred := strings.Repeat("word ", 20)
	for name, c := range map[string]struct {
		style llm.Style
		body  string
		want  int64
	}{
		"chat":                 {llm.Chat, `{"model":"m","messages":[{"role":"user","content":"Hello!"}],"stream":true,"metadata":{"a":"` + hundred + `"}}`, 1},
		"chat parts":           {llm.Chat, `{"model":"m","messages":[{"role":"system","content":"` + hundred + `"},{"role":"user","content":[{"type":"text","text":"` + hundred + `"}]}]}`, 40},
		"chat results":         {llm.Chat, `{"model":"m","messages":[{"role":"tool","tool_call_id":"` + hundred + `","content":"` + hundred + `"}]}`, 20},
		"chat arguments":       {llm.Chat, `{"model":"m","messages":[{"role":"assistant","tool_calls":[{"id":"` + hundred + `","type":"function","function":{"name":"f","arguments":"` + hundred + `"}}]}]}`, 20},
		"chat escapes":         {llm.Chat, `{"model":"m","messages":[{"role":"user","content":"` + strings.Repeat(`\n\"\\\u0061\/`, 20) + `"}]}`, 20},
		"chat Chinese":         {llm.Chat, `{"model":"m","messages":[{"role":"user","content":"` + strings.Repeat("漢", 40) + strings.Repeat(`\u6f22`, 40) + `"}]}`, 40},
		"chat Russian":         {llm.Chat, `{"model":"m","messages":[{"role":"user","content":"` + strings.Repeat("мир и ", 20) + `"}]}`, 24},
		"chat emoji":           {llm.Chat, `{"model":"m","messages":[{"role":"user","content":"` + strings.Repeat("😀", 20) + strings.Repeat(`\ud83d\ude00`, 20) + `"}]}`, 20},
		"chat schema":          {llm.Chat, `{"model":"m","messages":[],"response_format":{"type":"json_schema","json_schema":{"name":"f","schema":{"description":"` + hundred + `"}}}}`, 20},
		"messages":             {llm.Messages, `{"model":"m","system":"` + hundred + `","messages":[{"role":"user","content":"` + hundred + `"}]}`, 40},
		"messages system":      {llm.Messages, `{"model":"m","system":[{"type":"text","text":"` + hundred + `","cache_control":{"type":"ephemeral","ttl":"5m"}}],"messages":[]}`, 20},
		"messages results":     {llm.Messages, `{"model":"m","messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"` + hundred + `"}]}]}]}`, 20},
		"messages thoughts":    {llm.Messages, `{"model":"m","messages":[{"role":"assistant","content":[{"type":"thinking","thinking":"` + hundred + `","signature":"` + hundred + `"}]}]}`, 0},
		"responses":            {llm.Responses, `{"model":"m","instructions":"` + hundred + `","input":"` + hundred + `"}`, 40},
		"responses items":      {llm.Responses, `{"model":"m","input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"` + hundred + `"}]},{"type":"function_call_output","call_id":"c","output":"` + hundred + `"},{"type":"reasoning","encrypted_content":"` + hundred + `"}]}`, 40},
		"native":               {llm.Native, `{"model":"m","systemInstruction":{"parts":[{"text":"` + hundred + `"}]},"contents":[{"role":"user","parts":[{"text":"` + hundred + `"}]}],"generationConfig":{"responseMimeType":"` + hundred + `"}}`, 40},
		"nothing of a picture": {llm.Chat, `{"model":"m","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,` + strings.Repeat("QUJD", 1000) + `"}},{"type":"text","text":"` + hundred + `"}]}]}`, 20},
	} {
		h, err := dialectOf(t, c.style).Peek([]byte(c.body))
		if err != nil || h.TextTokens != c.want || h.BodyBytes != int64(len(c.body)) {
			t.Errorf("%s: %v, %d tokens of %d bytes, want %d", name, err, h.TextTokens, h.BodyBytes, c.want)
		}
	}
}

// TestTextCannotBeHiddenFromTheEstimate puts what a model reads where it is no plain text: the names and numbers of a schema, the
// arguments of a call. It must count, if not as much.
func TestTextCannotBeHiddenFromTheEstimate(t *testing.T) {
	t.Parallel()
	const size = 40_000
	key := `{"` + strings.Repeat("k", size) + `":1}`
	numbers := `[` + strings.Repeat("123456789,", size/10) + `0]`
	nested := strings.Repeat(`[[],[],[]],`, size/11)
	for _, hidden := range []string{key, numbers, `[` + nested + `0]`} {
		for name, c := range map[string]struct {
			style llm.Style
			body  string
		}{
			"chat tool":        {llm.Chat, `{"model":"m","messages":[],"tools":[{"type":"function","function":{"name":"f","parameters":HIDDEN}}]}`},
			"chat schema":      {llm.Chat, `{"model":"m","messages":[],"response_format":{"type":"json_schema","json_schema":{"schema":HIDDEN}}}`},
			"messages tool":    {llm.Messages, `{"model":"m","messages":[],"tools":[{"name":"f","input_schema":HIDDEN}]}`},
			"messages input":   {llm.Messages, `{"model":"m","messages":[{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":HIDDEN}]}]}`},
			"responses tool":   {llm.Responses, `{"model":"m","input":"","tools":[{"type":"function","name":"f","parameters":HIDDEN}]}`},
			"responses schema": {llm.Responses, `{"model":"m","input":"","text":{"format":{"type":"json_schema","schema":HIDDEN}}}`},
			"native tool":      {llm.Native, `{"model":"m","contents":[],"tools":[{"functionDeclarations":[{"name":"f","parametersJsonSchema":HIDDEN}]}]}`},
			"native schema":    {llm.Native, `{"model":"m","contents":[],"generationConfig":{"responseSchema":HIDDEN}}`},
			"native args":      {llm.Native, `{"model":"m","contents":[{"parts":[{"functionCall":{"name":"f","args":HIDDEN}}]}]}`},
			"native result":    {llm.Native, `{"model":"m","contents":[{"parts":[{"functionResponse":{"name":"f","response":HIDDEN}}]}]}`},
		} {
			h, err := dialectOf(t, c.style).Peek([]byte(strings.Replace(c.body, "HIDDEN", hidden, 1)))
			if err != nil || h.TextTokens < size/20 || h.TextTokens > size/4 {
				t.Errorf("%s: %v, %d tokens for %.20s…", name, err, h.TextTokens, hidden)
			}
		}
	}
}

// TestFilesAreEstimatedByTheirSize holds the estimates of what is no text.
func TestFilesAreEstimatedByTheirSize(t *testing.T) {
	t.Parallel()
	data := strings.Repeat("QUJD", 16_384)
	for name, c := range map[string]struct {
		style  llm.Style
		part   string
		tokens int64
	}{
		"chat file":         {llm.Chat, `{"type":"file","file":{"file_data":"data:application/pdf;base64,` + data + `"}}`, 1024},
		"chat text":         {llm.Chat, `{"type":"file","file":{"file_data":"data:text/plain;base64,` + data + `"}}`, 8192},
		"chat kept":         {llm.Chat, `{"type":"file","file":{"file_id":"file-1"}}`, 256},
		"chat sound":        {llm.Chat, `{"type":"input_audio","input_audio":{"format":"wav","data":"` + data + `"}}`, 8},
		"messages document": {llm.Messages, `{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"` + data + `"}}`, 1024},
		"messages link":     {llm.Messages, `{"type":"document","source":{"type":"url","url":"https://example.com/a.pdf"}}`, 256},
		"responses file":    {llm.Responses, `{"type":"input_file","file_data":"data:application/pdf;base64,` + data + `"}`, 1024},
		"responses link":    {llm.Responses, `{"type":"input_file","file_url":"https://example.com/a.pdf"}`, 256},
		"native document":   {llm.Native, `{"inlineData":{"mimeType":"application/pdf","data":"` + data + `"}}`, 1024},
		"native text":       {llm.Native, `{"inlineData":{"mimeType":"text/plain","data":"` + data + `"}}`, 8192},
		"native film":       {llm.Native, `{"inlineData":{"mimeType":"video/mp4","data":"` + data + `"}}`, 8},
		"native link":       {llm.Native, `{"fileData":{"mimeType":"application/pdf","fileUri":"https://example.com/f"}}`, 256},
	} {
		h, err := dialectOf(t, c.style).Peek([]byte(strings.Replace(conversations[c.style], "PART", c.part, 1)))
		if err != nil || h.Opaque != 1 || h.Images != 0 || h.MediaTokens < c.tokens || h.MediaTokens > c.tokens+8 || h.TextTokens > 20 {
			t.Errorf("%s: %v, %d documents of %d tokens, and %d tokens of text", name, err, h.Opaque, h.MediaTokens, h.TextTokens)
		}
	}
}
