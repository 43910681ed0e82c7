// The native style with a major version of the official JavaScript client. Arguments: the package and the configuration.
import { main } from "./check.mjs";

const [name, config] = process.argv.slice(2);
const { GoogleGenAI, ApiError } = await import(name);

const finishes = { STOP: "natural", MAX_TOKENS: "length", SAFETY: "filter" };

function make({ origin, key, headers, leaveOut }) {
  const api = new GoogleGenAI({ apiKey: key, httpOptions: { baseUrl: origin, headers } });
  // The client demands contents, so an empty list takes their place behind its back.
  const without = leaveOut ? { httpOptions: { extraBody: { contents: [] } } } : {};
  const body = (q) => {
    const p = params(q);
    return { ...p, config: { ...p.config, ...without } };
  };
  return {
    ask: async (q) => {
      const p = body(q);
      return collect(p, [await api.models.generateContent(p)]);
    },
    stream: (q, how) => iterate(api, body(q), how),
    count: async (q) => {
      const { model, contents } = params(q); // this style counts contents alone
      return (await api.models.countTokens({ model, contents })).totalTokens;
    },
    run: (q) => run(api, params(q), q.tools),
    explain,
  };
}

function params({ model, prompt, png, tools, think, maxOutput, after, results }) {
  const p = { model, contents: after ? [...after.memory] : [], config: { systemInstruction: "Be brief." } };
  if (maxOutput) p.config.maxOutputTokens = maxOutput;
  if (think) p.config.thinkingConfig = { includeThoughts: true, thinkingBudget: 1024 };
  if (tools) p.config.tools = [{ functionDeclarations: tools.map(declaration) }];
  const parts = after
    ? results.map((output, i) => ({ functionResponse: { id: after.calls[i].id, name: after.calls[i].name, response: { output } } }))
    : [{ text: prompt }];
  if (png) parts.push({ inlineData: { mimeType: "image/png", data: png.toString("base64") } });
  p.contents.push({ role: "user", parts });
  return p;
}

function declaration(t) {
  return { name: t.name, description: t.description, parametersJsonSchema: t.schema };
}

// Puts the chunks of an answer together; a whole answer is one chunk.
function collect(p, chunks) {
  const parts = chunks.flatMap((c) => c.candidates?.[0]?.content?.parts ?? []);
  const calls = parts.filter((part) => part.functionCall).map((part) => part.functionCall);
  const texts = parts.filter((part) => part.text && !part.thought);
  const reasons = chunks.map((c) => c.candidates?.[0]?.finishReason).filter(Boolean);
  const [reason] = reasons;
  const u = chunks.findLast((c) => c.usageMetadata)?.usageMetadata ?? {};
  return {
    text: texts.map((part) => part.text).join(""),
    thoughts: parts.filter((part) => part.thought).map((part) => part.text).join(""),
    model: chunks.at(-1)?.modelVersion,
    finish: reasons.length > 1 ? reasons.join() : reason === "STOP" && calls.length > 0 ? "calls" : (finishes[reason] ?? reason),
    calls: calls.map((c) => ({ id: c.id, name: c.name, arguments: JSON.stringify(c.args) })),
    pieces: texts.length,
    input: u.promptTokenCount + (u.toolUsePromptTokenCount ?? 0),
    output: u.candidatesTokenCount + (u.thoughtsTokenCount ?? 0),
    total: u.totalTokenCount,
    memory: [...p.contents, { role: "model", parts: parts.filter((part) => part.text || part.functionCall) }],
  };
}

async function iterate(api, p, { seen, signal }) {
  const chunks = [];
  try {
    for await (const chunk of await api.models.generateContentStream({ ...p, config: { ...p.config, abortSignal: signal } })) {
      chunks.push(chunk);
      if (chunk.candidates?.[0]?.content?.parts?.some((part) => part.text)) seen?.();
    }
  } catch (error) {
    throw Object.assign(error, { answer: collect(p, chunks) });
  }
  return collect(p, chunks);
}

// The client's own loop of calls and results.
async function run(api, p, tools) {
  const callable = {
    tool: async () => ({ functionDeclarations: tools.map(declaration) }),
    callTool: async (calls) =>
      calls.map((c) => {
        const output = tools.find((t) => t.name === c.name).run(c.args);
        return { functionResponse: { id: c.id, name: c.name, response: { output } } };
      }),
  };
  const done = await api.models.generateContent({ ...p, config: { ...p.config, tools: [callable] } });
  return done.text;
}

// The message of this client's errors is the body as JSON.
function explain(error) {
  if (!(error instanceof ApiError)) return { raised: true, message: error.message };
  try {
    const said = JSON.parse(error.message.slice(error.message.indexOf("{"))).error;
    return { raised: true, status: error.status, type: said.status, message: said.message };
  } catch {
    return { raised: true, status: error.status, message: error.message };
  }
}

await main({ style: "native", make }, JSON.parse(config));
