// The chat style of a major version of the official JavaScript client. Arguments: the package and the configuration.
import { main } from "./check.mjs";
import { explain } from "./openai.mjs";

const [name, config] = process.argv.slice(2);
const { default: OpenAI } = await import(name);

const finishes = { stop: "natural", length: "length", tool_calls: "calls", content_filter: "filter" };

function make({ origin, key, headers, leaveOut }) {
  const api = new OpenAI({ baseURL: `${origin}/v1`, apiKey: key, maxRetries: 0, defaultHeaders: headers });
  const body = (q) => {
    const p = params(q);
    if (leaveOut) delete p.messages;
    return p;
  };
  return {
    ask: async (q) => {
      const p = body(q);
      return answer(p, await api.chat.completions.create(p));
    },
    stream: (q, how) => (how.raw ? iterate(api, body(q), how) : help(api, body(q))),
    run: (q) => run(api, params(q), q.tools),
    explain: (error) => explain(OpenAI, error),
  };
}

function params({ model, prompt, png, tools, think, maxOutput, after, results }) {
  const p = { model, messages: after ? [...after.memory] : [{ role: "system", content: "Be brief." }] };
  if (maxOutput) p.max_completion_tokens = maxOutput;
  if (think) p.reasoning_effort = "low";
  if (tools) {
    p.tools = tools.map((t) => ({
      type: "function",
      function: { name: t.name, description: t.description, parameters: t.schema },
    }));
  }
  if (after) {
    results.forEach((content, i) => p.messages.push({ role: "tool", tool_call_id: after.calls[i].id, content }));
  } else if (png) {
    const url = `data:image/png;base64,${png.toString("base64")}`;
    p.messages.push({ role: "user", content: [{ type: "text", text: prompt }, { type: "image_url", image_url: { url } }] });
  } else {
    p.messages.push({ role: "user", content: prompt });
  }
  return p;
}

function answer(p, done) {
  if (!done.choices?.length) throw Object.assign(new Error("an answer without choices"), { body: done });
  const { message, finish_reason: reason } = done.choices[0];
  return {
    text: message.content ?? "",
    thoughts: message.reasoning_content, // where most vendors show them; the client has no name for it
    model: done.model,
    finish: finishes[reason] ?? reason,
    calls: (message.tool_calls ?? []).map((c) => ({ id: c.id, ...c.function })),
    input: done.usage?.prompt_tokens,
    output: done.usage?.completion_tokens,
    total: done.usage?.total_tokens,
    memory: [...(p.messages ?? []), message],
  };
}

// The bare iterator, put together by hand as programs do.
async function iterate(api, p, { seen, signal }) {
  const message = { role: "", content: "" };
  const a = { choices: [{ message, finish_reason: null }] };
  let pieces = 0;
  try {
    const stream = await api.chat.completions.create({ ...p, stream: true, stream_options: { include_usage: true } }, { signal });
    for await (const chunk of stream) {
      a.model = chunk.model;
      a.usage = chunk.usage ?? a.usage;
      const [choice] = chunk.choices;
      message.role += choice?.delta.role ?? "";
      if (choice?.finish_reason) a.choices[0].finish_reason = choice.finish_reason;
      if (!choice?.delta.content) continue;
      message.content += choice.delta.content;
      pieces++;
      seen?.();
    }
  } catch (error) {
    throw Object.assign(error, { answer: answer(p, a) });
  }
  if (message.role !== "assistant") throw new Error(`the role came as ${message.role}`);
  return { ...answer(p, a), pieces };
}

// The client's own helper, which is stricter than the iterator.
async function help(api, p) {
  let thoughts = "";
  const stream = api.chat.completions.stream({ ...p, stream_options: { include_usage: true } });
  stream.on("chunk", (chunk) => (thoughts += chunk.choices[0]?.delta.reasoning_content ?? ""));
  return { ...answer(p, await stream.finalChatCompletion()), thoughts };
}

async function run(api, p, tools) {
  const runnable = tools.map((t) => ({
    type: "function",
    function: { name: t.name, description: t.description, parameters: t.schema, parse: JSON.parse, function: t.run },
  }));
  return api.chat.completions.runTools({ ...p, tools: runnable, stream: true }).finalContent();
}

await main({ style: "chat", make }, JSON.parse(config));
