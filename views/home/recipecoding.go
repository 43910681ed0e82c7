package home

// What coding tools need: their instructions, functions and files are long, and so are the files that they write.
const (
	codingContext = 128_000 // tokens
	codingOutput  = 32_000  // tokens
)

var codingNeeds = Needs{Tools: true, ContextMin: codingContext, OutputMin: codingOutput}

var codingRecipes = []Recipe{
	{
		ID: "claude-code", Name: "Claude Code", Kind: kindCoding,
		Text: "Coding in the terminal.", Style: "messages", Base: baseBare, Install: "npm install -g @anthropic-ai/claude-code",
		Needs: Needs{Tools: true, Effort: true, ContextMin: codingContext, OutputMin: codingOutput},
		Steps: []RecipeStep{
			{Text: "Set these variables in the shell, or under “env” in ~/.claude/settings.json.",
				Samples: lines("Shell", `export ANTHROPIC_BASE_URL="{origin}"
export ANTHROPIC_AUTH_TOKEN="{key}"
export ANTHROPIC_MODEL="{model}"
export ANTHROPIC_DEFAULT_HAIKU_MODEL="{model}"
export CLAUDE_CODE_MAX_CONTEXT_TOKENS="{context}"
export CLAUDE_CODE_MAX_OUTPUT_TOKENS="{output}"`)},
			{Text: "Ask something in the same shell.",
				Samples: lines("Shell", `claude -p "Say hello in one short sentence."`)},
		},
		Trips: []string{
			"Unset ANTHROPIC_API_KEY: with both set, the other one may be sent.",
			"Claude Code does not know the limits of models that are not Anthropic’s, so the last two variables name them.",
			"The list that /model shows has only names that begin with claude or anthropic. Other models are named in ANTHROPIC_MODEL, as above.",
		},
	},
	{
		ID: "codex", Name: "Codex CLI", Kind: kindCoding,
		Text: "Coding in the terminal.", Style: "responses", Base: baseV1, Install: "npm install -g @openai/codex",
		Needs: Needs{Tools: true, Effort: true, ContextMin: codingContext, OutputMin: codingOutput},
		Steps: []RecipeStep{
			{Text: "Write this into the file.",
				Samples: lines("~/.codex/config.toml", `model = "{model}"
model_provider = "umg"
model_context_window = {context}

[model_providers.umg]
name = "Unified Model Gateway"
base_url = "{base}"
env_key = "UMG_API_KEY"
wire_api = "responses"`)},
			{Text: "In the folder of a project, set the key and ask something.",
				Samples: lines("Shell", `export UMG_API_KEY="{key}"
codex exec "Say hello in one short sentence."`)},
		},
		Trips: []string{
			"wire_api must be responses; Codex no longer speaks chat completions.",
			"A warning that there is no metadata of the model is harmless: model_context_window says what counts.",
			"Outside of a Git repository codex exec needs --skip-git-repo-check.",
		},
	},
	{
		ID: "opencode", Name: "opencode", Kind: kindCoding,
		Text: "Coding in the terminal.", Style: "chat", Base: baseV1, Install: "npm install -g opencode-ai", Needs: codingNeeds,
		Steps: []RecipeStep{
			{Text: "Write this into the file, or into opencode.json in the folder of a project.",
				Samples: lines("~/.config/opencode/opencode.json", `{
  "$schema": "https://opencode.ai/config.json",
  "model": "umg/{model}",
  "small_model": "umg/{model}",
  "provider": {
    "umg": {
      "npm": "@ai-sdk/openai-compatible",
      "name": "Unified Model Gateway",
      "options": { "baseURL": "{base}", "apiKey": "{env:UMG_API_KEY}" },
      "models": {
        "{model}": { "name": "{model}", "limit": { "context": {context}, "output": {output} } }
      }
    }
  }
}`)},
			{Text: "Set the key and ask something.",
				Samples: lines("Shell", `export UMG_API_KEY="{key}"
opencode run "Say hello in one short sentence."`)},
		},
		Trips: []string{
			"The model stands after umg/, the name of the provider in this file.",
			"Without “limit” opencode does not know when a conversation is too long. Without small_model it may ask another service for titles.",
		},
	},
	{
		ID: "gemini-cli", Name: "Gemini CLI", Kind: kindCoding,
		Text: "Coding in the terminal.", Style: "native", Base: baseBare, Install: "npm install -g @google/gemini-cli",
		Needs: Needs{Tools: true, Effort: true, ContextMin: codingContext, OutputMin: codingOutput},
		Steps: []RecipeStep{
			{Text: "Write this into the file.",
				Samples: lines("~/.gemini/settings.json", `{
  "security": { "auth": { "selectedType": "gemini-api-key" } },
  "model": { "name": "{model}" }
}`)},
			{Text: "In the folder of a project, set these variables and ask something.",
				Samples: lines("Shell", `export GOOGLE_GEMINI_BASE_URL="{origin}"
export GEMINI_API_KEY="{key}"
gemini --skip-trust -p "Say hello in one short sentence."`)},
		},
		Trips: []string{
			"Without -p it asks once whether you trust the folder; --skip-trust says so for one run.",
			"The base URL must begin with https://, unless the server is on this machine.",
		},
	},
	{
		ID: "qwen-code", Name: "Qwen Code", Kind: kindCoding,
		Text: "Coding in the terminal.", Style: "chat", Base: baseV1, Install: "npm install -g @qwen-code/qwen-code", Needs: codingNeeds,
		Steps: []RecipeStep{
			{Text: "Set these variables in the shell, or in an .env file of the project.",
				Samples: lines("Shell", `export OPENAI_BASE_URL="{base}"
export OPENAI_API_KEY="{key}"
export OPENAI_MODEL="{model}"`)},
			{Text: "Ask something in the same shell.",
				Samples: lines("Shell", `qwen --auth-type openai -p "Say hello in one short sentence."`)},
		},
		Trips: []string{
			"Without --auth-type openai it asks how to sign in, once; choose the key of an OpenAI-compatible service.",
			"After an answer it may ask the model once or twice more, for what it remembers of the project.",
		},
	},
	{
		ID: "cline", Name: "Cline", Kind: kindCoding,
		Text: "Coding in VS Code and in the terminal.", Style: "chat", Base: baseV1, Install: "npm install -g cline", Needs: codingNeeds,
		Steps: []RecipeStep{
			{Title: "Configure VS Code", Text: "Open Cline’s settings, choose “OpenAI Compatible” as the API provider, fill in, and press Done.",
				Samples: lines("Settings", `Base URL        {base}
API Key         {key}
Model ID        {model}
Context Window  {context}
Max Output      {output}`)},
			{Title: "Or configure the terminal", Text: "Run this once.",
				Samples: lines("Shell", `cline auth -p openai -k "{key}" -b "{base}" -m "{model}"`)},
			{Text: "Ask something in the chat, or in the terminal.",
				Samples: lines("Shell", `cline "Say hello in one short sentence."`)},
		},
		Trips: []string{
			"Choose “OpenAI Compatible”, not “OpenAI”: only the former asks for a base URL.",
			"Set the context window under “Model Configuration”. Without it Cline cuts conversations off early.",
		},
	},
	{
		ID: "continue", Name: "Continue", Kind: kindCoding,
		Text: "Coding in VS Code, JetBrains and the terminal.", Style: "chat", Base: baseV1, Install: "npm install -g @continuedev/cli",
		Needs: codingNeeds,
		Steps: []RecipeStep{
			{Text: "Write this into the file.",
				Samples: lines("~/.continue/config.yaml", `name: Unified Model Gateway
version: 1.0.0
schema: v1
models:
  - name: {model}
    provider: openai
    model: {model}
    apiBase: {base}
    apiKey: {key}
    roles: [chat, edit, apply]
    capabilities: [tool_use]
    defaultCompletionOptions:
      contextLength: {context}
      maxTokens: {output}`)},
			{Text: "Choose the model in the panel and ask something, or ask in the terminal.",
				Samples: lines("Shell", `cn -p "Say hello in one short sentence."`)},
		},
		Trips: []string{
			"Leave the role autocomplete out: it uses the old completions endpoint, which answers 404 here.",
			"Without capabilities Continue does not send tools to a model whose name it does not know.",
		},
	},
	{
		ID: "aider", Name: "aider", Kind: kindCoding,
		Text: "Pair programming in the terminal.", Style: "chat", Base: baseV1,
		Install: "python -m pip install aider-install && aider-install", Needs: Needs{ContextMin: codingContext, OutputMin: codingOutput},
		Steps: []RecipeStep{
			{Text: "Set these variables in the shell, or in an .env file of the project.",
				Samples: lines("Shell", `export OPENAI_API_BASE="{base}"
export OPENAI_API_KEY="{key}"`)},
			{Text: "Start it with the model’s name after openai/.",
				Samples: lines("Shell",
					`aider --model "openai/{model}" --no-show-model-warnings --message "Say hello in one short sentence."`)},
		},
		Trips: []string{
			"The prefix openai/ tells aider which style to speak. It is taken off before the call, so the vendor’s own prefix stays.",
			"Costs that aider shows are its own estimates; Requests has the exact costs.",
		},
	},
}
