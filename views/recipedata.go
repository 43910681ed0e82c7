package views

import "umg/views/ui"

const noteAISDK = "npm install ai @ai-sdk/openai-compatible"

var codingRecipes = []Recipe{
	{
		ID: "claude-code", Name: "Claude Code", Kind: kindCoding,
		Text: "Coding in the terminal.", Style: "messages", Base: baseBare,
		Steps: []RecipeStep{
			{"Set these variables in the shell, or under “env” in ~/.claude/settings.json.", lines("Shell", `export ANTHROPIC_BASE_URL="{origin}"
export ANTHROPIC_AUTH_TOKEN="{key}"
export ANTHROPIC_MODEL="{model}"
export ANTHROPIC_DEFAULT_HAIKU_MODEL="{model}"`)},
			{"Ask something in the same shell.", lines("Shell", `claude -p "Say hello in one short sentence."`)},
		},
		Trips: []string{
			"Unset ANTHROPIC_API_KEY: with both set, the other one may be sent.",
			"The list that /model shows has only names that begin with claude or anthropic. Other models are named in ANTHROPIC_MODEL, as above.",
			"It sends long prompts with many tools. Choose a model with a large context that can call tools.",
		},
	},
	{
		ID: "codex", Name: "Codex CLI", Kind: kindCoding,
		Text: "Coding in the terminal.", Style: "responses", Base: baseV1,
		Steps: []RecipeStep{
			{"Write this into ~/.codex/config.toml.", lines("config.toml", `model = "{model}"
model_provider = "umg"

[model_providers.umg]
name = "Unified Model Gateway"
base_url = "{base}"
env_key = "UMG_API_KEY"
wire_api = "responses"`)},
			{"Set the key and ask something.", lines("Shell", `export UMG_API_KEY="{key}"
codex exec "Say hello in one short sentence."`)},
		},
		Trips: []string{
			"wire_api must be responses; Codex no longer speaks chat completions.",
			"A warning about the list of models at the start is harmless: Codex expects a list of its own making.",
		},
	},
	{
		ID: "cline", Name: "Cline", Kind: kindCoding,
		Text: "Coding in VS Code.", Style: "chat", Base: baseV1,
		Steps: []RecipeStep{
			{"Open Cline’s settings, choose “OpenAI Compatible” as the API provider, and fill in:", lines("Settings", `Base URL   {base}
API Key    {key}
Model ID   {model}`)},
			{"Press Done, and ask something in the chat.", nil},
		},
		Trips: []string{
			"Choose “OpenAI Compatible”, not “OpenAI”: only the former asks for a base URL.",
			"Set the context window in “Model Configuration” to the model’s, or Cline cuts conversations off early.",
		},
	},
	{
		ID: "continue", Name: "Continue", Kind: kindCoding,
		Text: "Coding in VS Code and JetBrains.", Style: "chat", Base: baseV1,
		Steps: []RecipeStep{
			{"Write this into ~/.continue/config.yaml.", lines("config.yaml", `name: Unified Model Gateway
version: 1.0.0
schema: v1
models:
  - name: {model}
    provider: openai
    model: {model}
    apiBase: {base}
    apiKey: {key}
    roles: [chat, edit, apply]`)},
			{"Choose the model in the panel, and ask something.", nil},
		},
		Trips: []string{"Leave the role autocomplete out: it uses the old completions endpoint, which answers 404 here."},
	},
	{
		ID: "aider", Name: "aider", Kind: kindCoding,
		Text: "Pair programming in the terminal.", Style: "chat", Base: baseV1,
		Steps: []RecipeStep{
			{"Set these variables in the shell, or in an .env file of the project.", lines("Shell", `export OPENAI_API_BASE="{base}"
export OPENAI_API_KEY="{key}"`)},
			{"Start it with the model’s name after openai/.", lines("Shell",
				`aider --model "openai/{model}" --no-show-model-warnings --message "Say hello in one short sentence."`)},
		},
		Trips: []string{
			"The prefix openai/ tells aider which style to speak. It is taken off before the call, so the vendor’s own prefix stays.",
			"Costs that aider shows are its own guess; the exact ones stand under Requests.",
		},
	},
}

var chatRecipes = []Recipe{
	{
		ID: "open-webui", Name: "Open WebUI", Kind: kindChat,
		Text: "A chat for a whole team.", Style: "chat", Base: baseV1,
		Steps: []RecipeStep{
			{"Start it with these variables, or add a connection under Admin Settings → Connections → OpenAI API.",
				lines("Shell", `docker run -d -p 3000:8080 \
  -e OPENAI_API_BASE_URL="{base}" \
  -e OPENAI_API_KEY="{key}" \
  -v open-webui:/app/backend/data --name open-webui ghcr.io/open-webui/open-webui:main`)},
			{"Open it in the browser, choose a model above the chat, and ask something.", nil},
		},
		Trips: []string{
			"In a container 127.0.0.1 is the container itself: write host.docker.internal instead.",
			"Variables count at the first start only. Later the connection is changed in the settings.",
			"It lists video models as well; only text models can chat.",
		},
	},
	{
		ID: "librechat", Name: "LibreChat", Kind: kindChat,
		Text: "A chat with many providers, for a whole team.", Style: "chat", Base: baseV1,
		Steps: []RecipeStep{
			{"Add an endpoint to librechat.yaml.", lines("librechat.yaml", `version: 1.2.1
endpoints:
  custom:
    - name: "Unified Model Gateway"
      apiKey: "${UMG_API_KEY}"
      baseURL: "{base}"
      models:
        default: ["{model}"]
        fetch: true
      titleConvo: true
      titleModel: "{model}"`)},
			{"Add the key to .env, and restart.", lines(".env", `UMG_API_KEY={key}`)},
		},
		Trips: []string{
			"In a container 127.0.0.1 is the container itself: write host.docker.internal instead.",
			"The list of models is kept for two minutes.",
		},
	},
	{
		ID: "n8n", Name: "n8n", Kind: kindChat,
		Text: "Workflows without code.", Style: "chat", Base: baseV1,
		Steps: []RecipeStep{
			{"Add a credential of the kind “OpenAI”, and fill in:", lines("Credential", `API Key    {key}
Base URL   {base}`)},
			{"Add an “OpenAI Chat Model” node, choose the model “By ID”, and write:", lines("Model", `{model}`)},
		},
		Trips: []string{
			"Saving the credential calls GET /models as a test, which the test below tells of, too.",
			"If the node has a switch “Use Responses API”, both positions work here.",
		},
	},
}

var libraryRecipes = []Recipe{
	{
		ID: "langchain", Name: "LangChain", Kind: kindLibrary,
		Text: "Chains and agents in Python and JavaScript.", Style: "chat", Base: baseV1,
		Steps: []RecipeStep{{"Install the package that is named below the code, and run it.", []ui.Sample{
			{Name: "python", Label: "Python", Note: "pip install langchain-openai", Source: `from langchain_openai import ChatOpenAI

model = ChatOpenAI(
    model="{model}",
    base_url="{base}",
    api_key="{key}",
)
print(model.invoke("Say hello in one short sentence.").content)`},
			{Name: "javascript", Label: "JavaScript", Note: "npm install @langchain/openai", Source: `import { ChatOpenAI } from "@langchain/openai";

const model = new ChatOpenAI({
  model: "{model}",
  apiKey: "{key}",
  configuration: { baseURL: "{base}" },
});
console.log((await model.invoke("Say hello in one short sentence.")).content);`},
		}}},
		Trips: []string{"With a key in documented mode errors come with status 200, and LangChain takes them for empty answers."},
	},
	{
		ID: "ai-sdk", Name: "AI SDK", Kind: kindLibrary,
		Text: "Apps in TypeScript.", Style: "chat", Base: baseV1,
		Steps: []RecipeStep{{"Install the packages that are named below the code, and run it.", []ui.Sample{
			{Name: "javascript", Label: "JavaScript", Note: noteAISDK, Source: `import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText } from "ai";

const gateway = createOpenAICompatible({
  name: "gateway",
  baseURL: "{base}",
  apiKey: "{key}",
  includeUsage: true,
});
const { text } = await generateText({
  model: gateway("{model}"),
  prompt: "Say hello in one short sentence.",
});
console.log(text);`},
		}}},
		Trips: []string{"Use the package openai-compatible. The one called gateway speaks a protocol of its own, to one service only."},
	},
	{
		ID: "openai-sdk", Name: "OpenAI SDK", Kind: kindOfficial,
		Text: "Python, JavaScript and Go; works with responses as well.", Style: "chat", Base: baseV1,
		Steps: []RecipeStep{{"Install the package that is named below the code, and run it.", openAISamples}},
		Trips: []string{
			"The variables OPENAI_BASE_URL and OPENAI_API_KEY do the same without a change of the code.",
			"The SDKs try again by themselves after 429 and 5xx, which a key in documented mode hides.",
		},
	},
	{
		ID: "anthropic-sdk", Name: "Anthropic SDK", Kind: kindOfficial,
		Text: "Python and JavaScript.", Style: "messages", Base: baseBare,
		Steps: []RecipeStep{{"Install the package that is named below the code, and run it.", anthropicSamples}},
		Trips: []string{"The base URL has no /v1 here: the SDK adds it. With it every call is a 404."},
	},
	{
		ID: "genai-sdk", Name: "Google Gen AI SDK", Kind: kindOfficial,
		Text: "Python and JavaScript.", Style: "native", Base: baseBare,
		Steps: []RecipeStep{{"Install the package that is named below the code, and run it.", genAISamples}},
		Trips: []string{"The base URL has no /v1 here: the SDK adds the version itself."},
	},
}

// openAISamples are the programs of the first steps without cURL.
var openAISamples = []ui.Sample{
	{Name: "python", Label: "Python", Note: noteOpenAIPython, Source: `from openai import OpenAI

client = OpenAI(base_url="{base}", api_key="{key}")
answer = client.chat.completions.create(
    model="{model}",
    messages=[{"role": "user", "content": "Say hello in one short sentence."}],
)
print(answer.choices[0].message.content)`},
	{Name: "javascript", Label: "JavaScript", Note: noteOpenAIScript, Source: `import OpenAI from "openai";

const client = new OpenAI({ baseURL: "{base}", apiKey: "{key}" });
const answer = await client.chat.completions.create({
  model: "{model}",
  messages: [{ role: "user", content: "Say hello in one short sentence." }],
});
console.log(answer.choices[0].message.content);`},
	{Name: "go", Label: "Go", Note: noteOpenAIGo, Source: `package main

import (
	"context"
	"fmt"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

func main() {
	client := openai.NewClient(option.WithBaseURL("{base}"), option.WithAPIKey("{key}"))
	answer, err := client.Chat.Completions.New(context.Background(), openai.ChatCompletionNewParams{
		Model:    "{model}",
		Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("Say hello in one short sentence.")},
	})
	if err != nil {
		panic(err)
	}
	fmt.Println(answer.Choices[0].Message.Content)
}`},
}

var anthropicSamples = []ui.Sample{
	{Name: "python", Label: "Python", Note: noteAnthropicPython, Source: `from anthropic import Anthropic

client = Anthropic(base_url="{origin}", auth_token="{key}")
answer = client.messages.create(
    model="{model}",
    max_tokens=1024,
    messages=[{"role": "user", "content": "Say hello in one short sentence."}],
)
print(answer.content[0].text)`},
	{Name: "javascript", Label: "JavaScript", Note: noteAnthropicScript, Source: `import Anthropic from "@anthropic-ai/sdk";

const client = new Anthropic({ baseURL: "{origin}", authToken: "{key}" });
const answer = await client.messages.create({
  model: "{model}",
  max_tokens: 1024,
  messages: [{ role: "user", content: "Say hello in one short sentence." }],
});
console.log(answer.content[0].text);`},
}

var genAISamples = []ui.Sample{
	{Name: "python", Label: "Python", Note: "pip install google-genai", Source: `from google import genai

client = genai.Client(api_key="{key}", http_options={"base_url": "{origin}"})
answer = client.models.generate_content(
    model="{model}",
    contents="Say hello in one short sentence.",
)
print(answer.text)`},
	{Name: "javascript", Label: "JavaScript", Note: "npm install @google/genai", Source: `import { GoogleGenAI } from "@google/genai";

const client = new GoogleGenAI({ apiKey: "{key}", httpOptions: { baseUrl: "{origin}" } });
const answer = await client.models.generateContent({
  model: "{model}",
  contents: "Say hello in one short sentence.",
});
console.log(answer.text);`},
}
