package codesample

import (
	"encoding/json"
	"strconv"
	"strings"

	"umg/views/ui"
)

// Call is what a sample needs to run without changes.
type Call struct {
	BaseURL string // ends in /v1
	Key     string // the secret, or empty for code that reads KeyVariable
	Model   string
}

// samplePrompt is short, so that trying it costs next to nothing.
const samplePrompt = "Say hello in one short sentence."

// sampleTexts are the programs. They are whole: pasted into a file or a terminal, they run.
var sampleTexts = []ui.Sample{
	{Name: "curl", Label: "cURL", Source: `curl {base}/chat/completions \
  -H "Authorization: Bearer {key}" \
  -H "Content-Type: application/json" \
  -d '{
    "model": {model},
    "messages": [{"role": "user", "content": {prompt}}]
  }'`},
	{Name: "python", Label: "Python", Note: "pip install openai", Source: `from openai import OpenAI

client = OpenAI(
    base_url={base"},
    api_key={key"},
)

answer = client.chat.completions.create(
    model={model},
    messages=[{"role": "user", "content": {prompt}}],
)
print(answer.choices[0].message.content)`},
	{Name: "javascript", Label: "JavaScript", Note: "npm install openai", Source: `import OpenAI from "openai";

const client = new OpenAI({
  baseURL: {base"},
  apiKey: {key"},
});

const answer = await client.chat.completions.create({
  model: {model},
  messages: [{ role: "user", content: {prompt} }],
});
console.log(answer.choices[0].message.content);`},
	{Name: "go", Label: "Go", Note: "go get github.com/openai/openai-go/v3", Source: `package main

import (
	"context"
	"fmt"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

func main() {
	client := openai.NewClient(
		option.WithBaseURL({base"}),
		option.WithAPIKey({key"}),
	)
	answer, err := client.Chat.Completions.New(context.Background(), openai.ChatCompletionNewParams{
		Model:    {model},
		Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage({prompt})},
	})
	if err != nil {
		panic(err)
	}
	fmt.Println(answer.Choices[0].Message.Content)
}`},
}

// OfCall are the programs with the call's values in them.
func OfCall(c Call) []ui.Sample {
	fill := strings.NewReplacer(
		"{base}", c.BaseURL, `{base"}`, Quote(c.BaseURL), "{model}", Quote(c.Model), "{prompt}", Quote(samplePrompt),
	)
	out := make([]ui.Sample, len(sampleTexts))
	for i, s := range sampleTexts {
		s.Source = fill.Replace(WithKey(s.Name, s.Source, c.Key))
		out[i] = s
	}
	return out
}

// Quote is a string literal that JSON, Python, JavaScript and Go read alike.
func Quote(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		return strconv.Quote(s)
	}
	return string(b)
}

// EnvLines are the lines of an .env file, with the variables that all sample code reads.
func EnvLines(secret, baseURL string) string {
	return "UMG_BASE_URL=" + baseURL + "\n" + KeyVariable + "=" + secret
}
