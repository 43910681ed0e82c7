package dialect_test

import (
	"strings"
	"testing"

	"umg/app/llm"
)

// conversations are requests with one part where the style has parts.
var conversations = map[llm.Style]string{
	llm.Chat:      `{"model":"m","messages":[{"role":"user","content":[PART]}]}`,
	llm.Messages:  `{"model":"m","messages":[{"role":"user","content":[PART]}]}`,
	llm.Responses: `{"model":"m","input":[{"role":"user","content":[PART]}]}`,
	llm.Native:    `{"model":"m","contents":[{"parts":[PART]}]}`,
}

func TestMediaWeighApartFromTextInEveryStyle(t *testing.T) {
	t.Parallel()
	data := strings.Repeat("A", 100_000)
	for name, c := range map[string]struct {
		style      llm.Style
		part       string
		images     int64
		documents  int64
		least, max int64
	}{
		"chat image":         {llm.Chat, `{"type":"image_url","image_url":{"url":"data:image/png;base64,` + data + `"}}`, 1, 0, 0, 500},
		"chat escaped":       {llm.Chat, `{"type":"image_url","image\u005furl":{"url":"data:image\/png;base64,` + data + `"}}`, 1, 0, 0, 500},
		"chat text as image": {llm.Chat, `{"type":"image_url","image_url":{"url":"data:text/plain;base64,` + data + `"}}`, 1, 0, 100_000, 100_500},
		"chat kept file":     {llm.Chat, `{"type":"file","file":{"file_id":"file-1"}}`, 0, 1, 0, 500},
		"chat file":          {llm.Chat, `{"type":"file","file":{"file_data":"data:application/pdf;base64,` + data + `"}}`, 0, 0, 100_000, 100_500},
		"messages image":     {llm.Messages, `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + data + `"}}`, 1, 0, 0, 500},
		"messages link":      {llm.Messages, `{"type":"image","source":{"type":"url","url":"https://example.com/a.png"}}`, 1, 0, 0, 500},
		"messages document":  {llm.Messages, `{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"` + data + `"}}`, 0, 0, 100_000, 100_500},
		"messages far":       {llm.Messages, `{"type":"document","source":{"type":"url","url":"https://example.com/a.pdf"}}`, 0, 1, 0, 500},
		"messages nested":    {llm.Messages, `{"type":"document","source":{"type":"content","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + data + `"}}]}}`, 1, 0, 0, 500},
		"messages result":    {llm.Messages, `{"type":"tool_result","tool_use_id":"a","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + data + `"}}]}`, 1, 0, 0, 500},
		"messages schema":    {llm.Messages, `{"source":{"type":"string"},"source":"x"}`, 0, 0, 0, 500},
		"responses image":    {llm.Responses, `{"type":"input_image","image_url":"data:image/png;base64,` + data + `"}`, 1, 0, 0, 500},
		"responses link":     {llm.Responses, `{"type":"input_image","image_url":"https://example.com/a.png"}`, 1, 0, 0, 500},
		"responses far":      {llm.Responses, `{"type":"input_file","file_url":"https://example.com/a.pdf"}`, 0, 1, 0, 500},
		"native image":       {llm.Native, `{"inlineData":{"mimeType":"image/png","data":"` + data + `"}}`, 1, 0, 0, 500},
		"native snake":       {llm.Native, `{"inline_data":{"mime_type":"Image/PNG","data":"` + data + `"}}`, 1, 0, 0, 500},
		"native sound":       {llm.Native, `{"inlineData":{"mimeType":"audio/mp3","data":"` + data + `"}}`, 0, 0, 100_000 / 16, 100_000/16 + 500},
		"native document":    {llm.Native, `{"inlineData":{"mimeType":"application/pdf","data":"` + data + `"}}`, 0, 0, 100_000, 100_500},
		"native link":        {llm.Native, `{"fileData":{"fileUri":"https://example.com/f"}}`, 1, 0, 0, 500},
		"native far":         {llm.Native, `{"fileData":{"mimeType":"application/pdf","fileUri":"https://example.com/f"}}`, 0, 1, 0, 500},
		"native word":        {llm.Native, `{"text":"\"inlineData\": in text","inlineData":7}`, 0, 0, 0, 500},
		"native result":      {llm.Native, `{"functionResponse":{"name":"f","response":{},"parts":[{"inlineData":{"mimeType":"image/png","data":"` + data + `"}}]}}`, 1, 0, 0, 500},
	} {
		h, err := dialectOf(t, c.style).Peek([]byte(strings.Replace(conversations[c.style], "PART", c.part, 1)))
		if err != nil || h.Images != c.images || h.Documents != c.documents || h.TextBytes < c.least || h.TextBytes > c.max {
			t.Errorf("%s: %v, %d images, %d documents and %d bytes of text", name, err, h.Images, h.Documents, h.TextBytes)
		}
	}
}

// TestTextThatLooksLikeMediaIsText puts members that elsewhere mean an image where the model reads them as text: the
// credit for them must be reserved.
func TestTextThatLooksLikeMediaIsText(t *testing.T) {
	t.Parallel()
	words := strings.Repeat("many words ", 10_000)
	source := `{"source":{"type":"base64","media_type":"image/png","data":"` + words + `"}}`
	blob := `{"inlineData":{"mimeType":"image/png","data":"` + words + `"}}`
	for name, c := range map[string]struct {
		style llm.Style
		body  string
	}{
		"the schema of a tool": {llm.Chat, `{"model":"m","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://example.com"}}]}],` +
			`"tools":[{"type":"function","function":{"name":"f","parameters":{"properties":{"image_url":{"default":"data:image/png","description":"` + words + `"}}}}}]}`},
		"a part of text":         {llm.Chat, strings.Replace(conversations[llm.Chat], "PART", `{"type":"text","text":"x","image_url":{"url":"data:image/png,`+words+`"}}`, 1)},
		"the arguments of calls": {llm.Messages, strings.Replace(conversations[llm.Messages], "PART", `{"type":"tool_use","id":"a","name":"f","input":`+source+`}`, 1)},
		"a tool of messages":     {llm.Messages, `{"model":"m","messages":[],"tools":[{"name":"f","input_schema":` + source + `}]}`},
		"a tool of responses":    {llm.Responses, `{"model":"m","input":"x","tools":[{"type":"function","name":"f","parameters":{"image_url":"data:image/png,` + words + `"}}]}`},
		"arguments of native":    {llm.Native, strings.Replace(conversations[llm.Native], "PART", `{"functionCall":{"name":"f","args":`+blob+`}}`, 1)},
		"results of native":      {llm.Native, strings.Replace(conversations[llm.Native], "PART", `{"functionResponse":{"name":"f","response":`+blob+`}}`, 1)},
	} {
		h, err := dialectOf(t, c.style).Peek([]byte(c.body))
		if err != nil || h.TextBytes < int64(len(words)) {
			t.Errorf("%s: %v, %d bytes of text are weighed of %d", name, err, h.TextBytes, len(words))
		}
	}
}
