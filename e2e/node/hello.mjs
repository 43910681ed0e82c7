// Says hello to a model with every official JavaScript client, as its documentation shows it, whole and as a stream, and prints the
// answers and their usage as JSON. Arguments: the origin of the gateway, a key and a model.
import OpenAI from "openai";
import Anthropic from "@anthropic-ai/sdk";
import { GoogleGenAI } from "@google/genai";

const [origin, key, model] = process.argv.slice(2);
const prompt = "Say hello.";
const outputMax = 64;

const openai = new OpenAI({ baseURL: `${origin}/v1`, apiKey: key });
const anthropic = new Anthropic({ baseURL: origin, apiKey: key });
const google = new GoogleGenAI({ apiKey: key, httpOptions: { baseUrl: origin } });

const messages = [{ role: "user", content: prompt }];
const native = { model, contents: prompt, config: { maxOutputTokens: outputMax } };

const clients = {
  "openai chat": async () => {
    const whole = await openai.chat.completions.create({ model, messages, max_completion_tokens: outputMax });
    let streamed = "";
    for await (const chunk of await openai.chat.completions.create({ model, messages, max_completion_tokens: outputMax, stream: true })) {
      streamed += chunk.choices[0]?.delta?.content ?? "";
    }
    return { text: whole.choices[0].message.content, streamed, input: whole.usage.prompt_tokens, output: whole.usage.completion_tokens };
  },
  "openai responses": async () => {
    const whole = await openai.responses.create({ model, input: prompt, max_output_tokens: outputMax });
    let streamed = "";
    for await (const event of await openai.responses.create({ model, input: prompt, max_output_tokens: outputMax, stream: true })) {
      if (event.type === "response.output_text.delta") streamed += event.delta;
    }
    return { text: whole.output_text, streamed, input: whole.usage.input_tokens, output: whole.usage.output_tokens };
  },
  anthropic: async () => {
    const whole = await anthropic.messages.create({ model, messages, max_tokens: outputMax });
    const streamed = await anthropic.messages.stream({ model, messages, max_tokens: outputMax }).finalText();
    return { text: whole.content.find((part) => part.type === "text").text, streamed, input: whole.usage.input_tokens, output: whole.usage.output_tokens };
  },
  genai: async () => {
    const whole = await google.models.generateContent(native);
    let streamed = "";
    for await (const chunk of await google.models.generateContentStream(native)) streamed += chunk.text ?? "";
    return { text: whole.text, streamed, input: whole.usageMetadata.promptTokenCount, output: whole.usageMetadata.candidatesTokenCount };
  },
};

const answers = {};
for (const [name, ask] of Object.entries(clients)) answers[name] = await ask();
console.log(JSON.stringify(answers));
