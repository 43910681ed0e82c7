package home

import (
	"umg/views/codesample"
	"umg/views/ui"
)

const noteAISDK = "npm install ai @ai-sdk/openai-compatible"

var chatRecipes = []Recipe{
	{
		ID: "open-webui", Name: "Open WebUI", Kind: kindChat,
		Text: "A chat for a whole team.", Style: "chat", Base: baseV1,
		Steps: []RecipeStep{
			{Text: "Start it with these variables, or add a connection under Admin Settings → Connections → OpenAI API.",
				Samples: lines("Shell", `docker run -d -p 3000:8080 \
  -e OPENAI_API_BASE_URL="{base}" \
  -e OPENAI_API_KEY="{key}" \
  -v open-webui:/app/backend/data --name open-webui ghcr.io/open-webui/open-webui:main`)},
			{Text: "Open it in the browser, choose a model above the chat, and ask something."},
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
			{Text: "Add an endpoint to librechat.yaml.", Samples: lines("librechat.yaml", `version: 1.2.1
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
			{Text: "Add the key to .env, and restart.", Samples: lines(".env", `UMG_API_KEY={key}`)},
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
			{Text: "Add a credential of the kind “OpenAI”, and fill in:", Samples: lines("Credential", `API Key    {key}
Base URL   {base}`)},
			{Text: "Add an “OpenAI Chat Model” node, choose the model “By ID”, and write:", Samples: lines("Model", `{model}`)},
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
		Steps: []RecipeStep{{Text: "Install the package that is named below the code, and run it.", Samples: []ui.Sample{
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
		Steps: []RecipeStep{{Text: "Install the packages that are named below the code, and run it.", Samples: []ui.Sample{
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
		Steps: []RecipeStep{{Text: "Install the package that is named below the code, and run it.", Samples: openAISamples}},
		Trips: []string{
			"The variables OPENAI_BASE_URL and OPENAI_API_KEY do the same without a change of the code.",
			"The SDKs try again by themselves after 429 and 5xx, which a key in documented mode hides.",
		},
	},
	{
		ID: "anthropic-sdk", Name: "Anthropic SDK", Kind: kindOfficial,
		Text: "Python and JavaScript.", Style: "messages", Base: baseBare,
		Steps: []RecipeStep{{Text: "Install the package that is named below the code, and run it.", Samples: anthropicSamples}},
		Trips: []string{"The base URL has no /v1 here: the SDK adds it. With it every call is a 404."},
	},
	{
		ID: "genai-sdk", Name: "Google Gen AI SDK", Kind: kindOfficial,
		Text: "Python and JavaScript.", Style: "native", Base: baseBare,
		Steps: []RecipeStep{{Text: "Install the package that is named below the code, and run it.", Samples: genAISamples}},
		Trips: []string{"The base URL has no /v1 here: the SDK adds the version itself."},
	},
}

// openAISamples are the programs of the first steps without cURL.
var openAISamples = []ui.Sample{
	{Name: "python", Label: "Python", Note: codesample.NoteOpenAIPython, Source: `from openai import OpenAI

client = OpenAI(base_url="{base}", api_key="{key}")
answer = client.chat.completions.create(
    model="{model}",
    messages=[{"role": "user", "content": "Say hello in one short sentence."}],
)
print(answer.choices[0].message.content)`},
	{Name: "javascript", Label: "JavaScript", Note: codesample.NoteOpenAIScript, Source: `import OpenAI from "openai";

const client = new OpenAI({ baseURL: "{base}", apiKey: "{key}" });
const answer = await client.chat.completions.create({
  model: "{model}",
  messages: [{ role: "user", content: "Say hello in one short sentence." }],
});
console.log(answer.choices[0].message.content);`},
	{Name: "go", Label: "Go", Note: codesample.NoteOpenAIGo, Source: `package main

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
	{Name: "python", Label: "Python", Note: codesample.NoteAnthropicPython, Source: `from anthropic import Anthropic

client = Anthropic(base_url="{origin}", auth_token="{key}")
answer = client.messages.create(
    model="{model}",
    max_tokens=1024,
    messages=[{"role": "user", "content": "Say hello in one short sentence."}],
)
print(answer.content[0].text)`},
	{Name: "javascript", Label: "JavaScript", Note: codesample.NoteAnthropicScript, Source: `import Anthropic from "@anthropic-ai/sdk";

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
