package codesample

import "umg/views"

// These commands install what a program needs.
const (
	NoteOpenAIPython    = "pip install openai"
	NoteOpenAIScript    = "npm install openai"
	NoteOpenAIGo        = "go get github.com/openai/openai-go/v3"
	NoteAnthropicPython = "pip install anthropic"
	NoteAnthropicScript = "npm install @anthropic-ai/sdk"
	noteAnthropicGo     = "go get github.com/anthropics/anthropic-sdk-go"
	noteRequests        = "pip install requests"
)

// programs are the texts by style and language. They are whole: pasted into a file or a terminal, they run.
var programs = map[views.Style]map[string]program{
	"chat": {
		"curl": curlProgram,
		"python": {NoteOpenAIPython, openAIPython, `answer = client.chat.completions.create(
{kwargs}
)
print(answer.choices[0].message.content)`, `stream = client.chat.completions.create(
{kwargs}
)
for chunk in stream:
    if chunk.choices:
        print(chunk.choices[0].delta.content or "", end="", flush=True)`},
		"javascript": {NoteOpenAIScript, openAIScript, `const answer = await client.chat.completions.create({object});
console.log(answer.choices[0].message.content);`, `const stream = await client.chat.completions.create({object});
for await (const chunk of stream) {
  process.stdout.write(chunk.choices[0]?.delta?.content ?? "");
}`},
		"go": {NoteOpenAIGo, goHead(openAIGoImports) + openAIGoClient, `	answer, err := client.Chat.Completions.New(context.Background(),
		param.Override[openai.ChatCompletionNewParams](json.RawMessage(request)))
	if err != nil {
		panic(err)
	}
	fmt.Println(answer.Choices[0].Message.Content)
}`, `	stream := client.Chat.Completions.NewStreaming(context.Background(),
		param.Override[openai.ChatCompletionNewParams](json.RawMessage(request)))
	for stream.Next() {
		if chunk := stream.Current(); len(chunk.Choices) > 0 {
			fmt.Print(chunk.Choices[0].Delta.Content)
		}
	}
	if err := stream.Err(); err != nil {
		panic(err)
	}
}`},
	},
	"responses": {
		"curl": curlProgram,
		"python": {NoteOpenAIPython, openAIPython, `answer = client.responses.create(
{kwargs}
)
print(answer.output_text)`, `stream = client.responses.create(
{kwargs}
)
for event in stream:
    if event.type == "response.output_text.delta":
        print(event.delta, end="", flush=True)`},
		"javascript": {NoteOpenAIScript, openAIScript, `const answer = await client.responses.create({object});
console.log(answer.output_text);`, `const stream = await client.responses.create({object});
for await (const event of stream) {
  if (event.type === "response.output_text.delta") {
    process.stdout.write(event.delta);
  }
}`},
		"go": {NoteOpenAIGo, goHead(openAIGoImports+`	"github.com/openai/openai-go/v3/responses"
`) + openAIGoClient, `	answer, err := client.Responses.New(context.Background(),
		param.Override[responses.ResponseNewParams](json.RawMessage(request)))
	if err != nil {
		panic(err)
	}
	fmt.Println(answer.OutputText())
}`, `	stream := client.Responses.NewStreaming(context.Background(),
		param.Override[responses.ResponseNewParams](json.RawMessage(request)))
	for stream.Next() {
		if event := stream.Current(); event.Type == "response.output_text.delta" {
			fmt.Print(event.Delta)
		}
	}
	if err := stream.Err(); err != nil {
		panic(err)
	}
}`},
	},
	"messages": messagesPrograms,
	"native":   nativePrograms,
}

var curlProgram = program{"", `curl {url} \
  -H "Authorization: Bearer {key}" \
  -H "Content-Type: application/json" \
`, `  -d {shell}`, `  --no-buffer \
  -d {shell}`}

const openAIPython = `from openai import OpenAI

client = OpenAI(
    base_url={base"},
    api_key={key"},
)

`

const openAIScript = `import OpenAI from "openai";

const client = new OpenAI({
  baseURL: {base"},
  apiKey: {key"},
});

`

const openAIGoImports = `	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"
`

const openAIGoClient = `const request = {go}

func main() {
	client := openai.NewClient(
		option.WithBaseURL({base"}),
		option.WithAPIKey({key"}),
	)
`

// goHead is the beginning of a Go program with the packages of an SDK.
func goHead(sdk string) string {
	return `package main

import (
	"context"
	"encoding/json"
	"fmt"

` + sdk + `)

`
}

var messagesPrograms = map[string]program{
	"curl": curlProgram,
	"python": {NoteAnthropicPython, `from anthropic import Anthropic

client = Anthropic(
    base_url={origin"},
    auth_token={key"},
)

`, `answer = client.messages.create(
{kwargs}
)
print("".join(block.text for block in answer.content if block.type == "text"))`, `stream = client.messages.create(
{kwargs}
)
for event in stream:
    if event.type == "content_block_delta" and event.delta.type == "text_delta":
        print(event.delta.text, end="", flush=True)`},
	"javascript": {NoteAnthropicScript, `import Anthropic from "@anthropic-ai/sdk";

const client = new Anthropic({
  baseURL: {origin"},
  authToken: {key"},
});

`, `const answer = await client.messages.create({object});
for (const block of answer.content) {
  if (block.type === "text") {
    console.log(block.text);
  }
}`, `const stream = await client.messages.create({object});
for await (const event of stream) {
  if (event.type === "content_block_delta" && event.delta.type === "text_delta") {
    process.stdout.write(event.delta.text);
  }
}`},
	"go": {noteAnthropicGo, goHead(`	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/anthropics/anthropic-sdk-go/packages/param"
`) + `const request = {go}

func main() {
	client := anthropic.NewClient(
		option.WithBaseURL({origin"}),
		option.WithAuthToken({key"}),
	)
`, `	answer, err := client.Messages.New(context.Background(),
		param.Override[anthropic.MessageNewParams](json.RawMessage(request)))
	if err != nil {
		panic(err)
	}
	for _, block := range answer.Content {
		fmt.Print(block.Text)
	}
}`, `	stream := client.Messages.NewStreaming(context.Background(),
		param.Override[anthropic.MessageNewParams](json.RawMessage(request)))
	for stream.Next() {
		fmt.Print(stream.Current().Delta.Text)
	}
	if err := stream.Err(); err != nil {
		panic(err)
	}
}`},
}

var nativePrograms = map[string]program{
	"curl": curlProgram,
	"python": {noteRequests, "", `import requests
` + nativePython + `)
answer.raise_for_status()
for part in answer.json()["candidates"][0]["content"]["parts"]:
    print(part.get("text", ""), end="")`, `import json

import requests
` + nativePython + `    stream=True,
)
answer.raise_for_status()
for line in answer.iter_lines():
    if line.startswith(b"data: "):
        for candidate in json.loads(line[6:]).get("candidates", []):
            for part in candidate.get("content", {}).get("parts", []):
                print(part.get("text", ""), end="", flush=True)`},
	"javascript": {"", `const answer = await fetch({url"}, {
  method: "POST",
  headers: { "Authorization": {bearer"}, "Content-Type": "application/json" },
  body: JSON.stringify({nested}),
});
if (!answer.ok) {
  throw new Error(await answer.text());
}
const textOf = ({ candidates }) => (candidates?.[0]?.content?.parts ?? []).map((part) => part.text ?? "").join("");
`, `console.log(textOf(await answer.json()));`, `let rest = "";
for await (const piece of answer.body.pipeThrough(new TextDecoderStream())) {
  const lines = (rest + piece).split("\n");
  rest = lines.pop();
  for (const line of lines) {
    if (line.startsWith("data: ")) {
      process.stdout.write(textOf(JSON.parse(line.slice(6))));
    }
  }
}`},
	"go": {"", "", nativeGo("", `	"io"
	"net/http"
	"strings"
`) + `	text, err := io.ReadAll(answer.Body)
	if err != nil {
		panic(err)
	}
	show(text)
}`, nativeGo(`	"bufio"
`, `	"net/http"
	"strings"
`) + `	lines := bufio.NewScanner(answer.Body)
	for lines.Scan() {
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			show([]byte(data))
		}
	}
	if err := lines.Err(); err != nil {
		panic(err)
	}
}`},
}

const nativePython = `
answer = requests.post(
    {url"},
    headers={"Authorization": {bearer"}},
    json={dict},
`

// nativeGo is a program without an SDK up to its answer, with the packages it needs in addition to its own.
func nativeGo(before, after string) string {
	return `package main

import (
` + before + `	"encoding/json"
	"fmt"
` + after + `)

const request = {go}

func main() {
	call, err := http.NewRequest("POST", {url"}, strings.NewReader(request))
	if err != nil {
		panic(err)
	}
	call.Header.Set("Authorization", {bearer"})
	call.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(call)
	if err != nil {
		panic(err)
	}
	defer answer.Body.Close()
` + nativeGoShow
}

const nativeGoShow = `	show := func(text []byte) {
		var reply struct {
			Candidates []struct {
				Content struct{ Parts []struct{ Text string } }
			}
		}
		if err := json.Unmarshal(text, &reply); err != nil {
			panic(err)
		}
		for _, candidate := range reply.Candidates {
			for _, part := range candidate.Content.Parts {
				fmt.Print(part.Text)
			}
		}
	}
`
