// The messages style with a version of the official JavaScript client. Arguments: the package and the configuration.
import { main } from "./check.mjs";

const [name, config] = process.argv.slice(2);
const { default: Anthropic } = await import(name);
const { betaTool } = await import(`${name}/helpers/beta/json-schema`);

const finishes = { end_turn: "natural", max_tokens: "length", tool_use: "calls", refusal: "filter" };
const outputMax = 4000; // the style demands a limit of every request

// Before version 1 an API key went out in a header of its own, and only an auth token as a bearer.
function make({ origin, key, headers, leaveOut }) {
  const credential = name === "anthropic-before" ? { authToken: key, apiKey: null } : { apiKey: key };
  const api = new Anthropic({ baseURL: origin, ...credential, maxRetries: 0, defaultHeaders: headers });
  const body = (q) => {
    const p = params(q);
    if (leaveOut) delete p.messages;
    return p;
  };
  return {
    ask: async (q) => {
      const p = body(q);
      return answer(p, await api.messages.create(p));
    },
    stream: (q, how) => (how.raw ? iterate(api, body(q), how) : help(api, body(q))),
    count: async (q) => {
      const { model, messages, tools } = params(q);
      return (await api.messages.countTokens({ model, messages, tools })).input_tokens;
    },
    run: (q) => run(api, params(q), q.tools),
    explain,
  };
}

function params({ model, prompt, png, tools, think, maxOutput, after, results }) {
  const p = { model, max_tokens: maxOutput ?? outputMax, system: "Be brief.", messages: after ? [...after.memory] : [] };
  if (tools) p.tools = tools.map((t) => ({ name: t.name, description: t.description, input_schema: t.schema }));
  if (think) p.thinking = { type: "enabled", budget_tokens: 1024 };
  const content = [];
  if (after) {
    results.forEach((result, i) => content.push({ type: "tool_result", tool_use_id: after.calls[i].id, content: result }));
  } else {
    content.push({ type: "text", text: prompt });
  }
  if (png) content.push({ type: "image", source: { type: "base64", media_type: "image/png", data: png.toString("base64") } });
  p.messages.push({ role: "user", content });
  return p;
}

function answer(p, done) {
  const calls = done.content.filter((block) => block.type === "tool_use");
  const texts = done.content.filter((block) => block.type === "text");
  const thoughts = done.content.filter((block) => block.type === "thinking");
  const u = done.usage;
  return {
    text: texts.map((block) => block.text).join(""),
    thoughts: thoughts.map((block) => block.thinking).join(""),
    model: done.model,
    finish: finishes[done.stop_reason] ?? done.stop_reason,
    calls: calls.map((c) => ({ id: c.id, name: c.name, arguments: JSON.stringify(c.input) })),
    input: u.input_tokens + u.cache_read_input_tokens + u.cache_creation_input_tokens,
    output: u.output_tokens,
    memory: [...p.messages, { role: "assistant", content: done.content }],
  };
}

// The bare iterator, put together by hand as programs do.
async function iterate(api, p, { seen, signal }) {
  let done;
  let pieces = 0;
  let last;
  try {
    for await (const event of await api.messages.create({ ...p, stream: true }, { signal })) {
      last = event.type;
      if (event.type === "message_start") done = event.message;
      if (event.type === "content_block_start") done.content[event.index] = event.content_block;
      if (event.type === "message_delta") {
        done.stop_reason = event.delta.stop_reason;
        done.usage = { ...done.usage, ...event.usage };
      }
      if (event.type === "content_block_delta" && event.delta.type === "text_delta") {
        done.content[event.index].text += event.delta.text;
        pieces++;
        seen?.();
      }
    }
  } catch (error) {
    throw Object.assign(error, { answer: done && answer(p, done) });
  }
  if (signal?.aborted) return answer(p, done);
  if (last !== "message_stop") throw new Error(`the last event is ${last}`);
  return { ...answer(p, done), pieces };
}

// The client's own helper, which checks the order of the events.
async function help(api, p) {
  return answer(p, await api.messages.stream(p).finalMessage());
}

// The client's own loop of calls and results.
async function run(api, p, tools) {
  const runnable = tools.map((t) => betaTool({ name: t.name, description: t.description, inputSchema: t.schema, run: t.run }));
  const last = await api.beta.messages.toolRunner({ ...p, tools: runnable });
  return last.content.map((block) => block.text).join("");
}

function explain(error) {
  if (!(error instanceof Anthropic.APIError)) return { raised: true, message: error.message };
  const said = error.error?.error;
  return { raised: true, status: error.status, type: error.type ?? said?.type, message: said?.message ?? error.message };
}

await main({ style: "messages", make }, JSON.parse(config));
