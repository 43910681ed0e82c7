// The native style with libraries for agents that build paths of their own. Arguments: the library and the configuration,
// which has: origin, key and models, an upstream style → model.
import assert from "node:assert/strict";
import { z } from "zod";
import { check } from "./cases.mjs";

const [library, text] = process.argv.slice(2);
const { origin, key, models } = JSON.parse(text);

const city = z.object({ city: z.string().describe("Name of the city") });
const weather = { name: "get_weather", description: "The weather of a city", run: ({ city }) => `18 degrees in ${city}` };
const toolPrompt = "Please call get_weather for city=Oslo today.";
const final = "According to the tool: 18 degrees in Oslo.";
const place = z.object({ name: z.string(), residents: z.number().int() });

function counted(usage) {
  assert.ok(usage && usage.input > 0 && usage.output > 0, `usage ${JSON.stringify(usage)}`);
}

async function aiSDK() {
  const { generateText, streamText, generateObject, tool, stepCountIs } = await import("ai");
  const { createGoogleGenerativeAI } = await import("@ai-sdk/google");
  const google = createGoogleGenerativeAI({ apiKey: key, baseURL: `${origin}/v1beta` });
  const tools = { get_weather: tool({ description: weather.description, inputSchema: city, execute: async (input) => weather.run(input) }) };
  const usageOf = (u) => ({ input: u.inputTokens, output: u.outputTokens });
  for (const [upstream, id] of Object.entries(models)) {
    const ask = { model: google(id), maxRetries: 0 };
    await check(`${upstream}/generateText`, async () => {
      const a = await generateText({ ...ask, prompt: "echo: Grüße", temperature: 0.2, maxOutputTokens: 100_000 });
      assert.equal(a.text, "Grüße");
      assert.equal(a.finishReason, "stop");
      counted(usageOf(a.usage));
    });
    await check(`${upstream}/streamText`, async () => {
      const a = streamText({ ...ask, prompt: "count to 20" });
      let pieces = "";
      for await (const piece of a.textStream) pieces += piece;
      assert.equal(pieces, Array.from({ length: 20 }, (_, i) => i + 1).join(" "));
      counted(usageOf(await a.usage));
    });
    await check(`${upstream}/tool call`, async () => {
      const bare = { get_weather: tool({ description: weather.description, inputSchema: city }) };
      const a = await generateText({ ...ask, tools: bare, prompt: toolPrompt });
      assert.deepEqual(a.toolCalls.map((c) => [c.toolName, c.input]), [["get_weather", { city: "Oslo" }]]);
    });
    await check(`${upstream}/loop of tools`, async () => {
      const a = await generateText({ ...ask, tools, prompt: toolPrompt, stopWhen: stepCountIs(4) });
      assert.ok(a.text.includes(weather.run({ city: "Oslo" })), a.text);
      assert.equal(a.steps.length, 2);
    });
    await check(`${upstream}/streamed loop of tools`, async () => {
      const a = streamText({ ...ask, tools, prompt: toolPrompt, stopWhen: stepCountIs(4) });
      assert.ok((await a.text).includes(weather.run({ city: "Oslo" })));
    });
    await check(`${upstream}/generateObject`, async () => {
      const a = await generateObject({ ...ask, schema: place, prompt: "Where is it?" });
      assert.ok(place.safeParse(a.object).success, JSON.stringify(a.object));
    });
  }
}

async function langChain() {
  const { ChatGoogleGenerativeAI } = await import("@langchain/google-genai");
  const { tool } = await import("@langchain/core/tools");
  const { HumanMessage, ToolMessage } = await import("@langchain/core/messages");
  const getWeather = tool(async (input) => weather.run(input), { name: weather.name, description: weather.description, schema: city });
  for (const [upstream, id] of Object.entries(models)) {
    const chat = new ChatGoogleGenerativeAI({ model: id, apiKey: key, baseUrl: origin, maxRetries: 0, temperature: 0.2, topK: 40 });
    await check(`${upstream}/invoke`, async () => {
      const a = await chat.invoke("echo: Grüße");
      assert.equal(a.content, "Grüße");
      counted({ input: a.usage_metadata.input_tokens, output: a.usage_metadata.output_tokens });
    });
    await check(`${upstream}/stream`, async () => {
      let pieces = "";
      for await (const piece of await chat.stream("count to 20")) pieces += piece.content;
      assert.equal(pieces, Array.from({ length: 20 }, (_, i) => i + 1).join(" "));
    });
    await check(`${upstream}/loop of tools`, async () => {
      const armed = chat.bindTools([getWeather]);
      const asked = new HumanMessage(toolPrompt);
      const a = await armed.invoke([asked]);
      assert.deepEqual(a.tool_calls.map((c) => [c.name, c.args]), [["get_weather", { city: "Oslo" }]]);
      const call = a.tool_calls[0];
      const result = new ToolMessage({ content: await getWeather.invoke(call.args), tool_call_id: call.id, name: call.name });
      const last = await armed.invoke([asked, a, result]); // the library wraps the result in an object
      assert.ok(last.content.includes(weather.run({ city: "Oslo" })), last.content);
    });
    await check(`${upstream}/structured output`, async () => {
      const a = await chat.withStructuredOutput(place, { method: "jsonSchema" }).invoke("Where is it?");
      assert.ok(place.safeParse(a).success, JSON.stringify(a));
    });
  }
}

await (library === "ai" ? aiSDK() : langChain());
