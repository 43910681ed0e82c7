// The responses style of a major version of the official JavaScript client. Arguments: the package and the configuration.
import assert from "node:assert/strict";
import { main } from "./check.mjs";
import { explain } from "./openai.mjs";

const [name, config] = process.argv.slice(2);
const { default: OpenAI } = await import(name);

function make({ origin, key, headers, leaveOut }) {
  const api = new OpenAI({ baseURL: `${origin}/v1`, apiKey: key, maxRetries: 0, defaultHeaders: headers });
  const body = (q) => {
    const p = params(q);
    if (leaveOut) delete p.input;
    return p;
  };
  return {
    ask: async (q) => {
      const p = body(q);
      return answer(p, await api.responses.create(p));
    },
    stream: (q, how) => (how.raw ? iterate(api, body(q), how) : help(api, body(q))),
    count: async (q) => {
      const { model, input, tools } = params(q);
      const said = await api.responses.inputTokens.count({ model, input, tools });
      assert.equal(said.object, "response.input_tokens");
      return said.input_tokens;
    },
    explain: (error) => {
      const said = error.response?.error;
      return said ? { raised: true, code: said.code, message: said.message } : explain(OpenAI, error);
    },
  };
}

function params({ model, prompt, png, tools, think, maxOutput, after, results }) {
  const p = { model, instructions: "Be brief.", input: prompt };
  if (maxOutput) p.max_output_tokens = maxOutput;
  if (think) Object.assign(p, { reasoning: { effort: "low", summary: "auto" }, include: ["reasoning.encrypted_content"], store: false });
  if (tools) {
    p.tools = tools.map((t) => ({ type: "function", name: t.name, description: t.description, parameters: t.schema, strict: false }));
  }
  if (after) {
    const outputs = results.map((output, i) => ({ type: "function_call_output", call_id: after.calls[i].id, output }));
    p.input = [...after.memory, ...outputs];
  } else if (png) {
    const image_url = `data:image/png;base64,${png.toString("base64")}`;
    p.input = [{ role: "user", content: [{ type: "input_text", text: prompt }, { type: "input_image", image_url, detail: "low" }] }];
  }
  return p;
}

function answer(p, done) {
  if (done.status === "failed") throw Object.assign(new Error("the answer failed"), { response: done });
  const calls = done.output.filter((item) => item.type === "function_call");
  const reasoning = done.output.filter((item) => item.type === "reasoning");
  const asked = typeof p.input === "string" ? [{ role: "user", content: p.input }] : p.input;
  return {
    text: done.output_text,
    thoughts: reasoning.flatMap((item) => [...item.summary, ...(item.content ?? [])]).map((part) => part.text).join(""),
    model: done.model,
    finish: finish(done, calls.length > 0),
    calls: calls.map((c) => ({ id: c.call_id, name: c.name, arguments: c.arguments })),
    input: done.usage.input_tokens,
    output: done.usage.output_tokens,
    total: done.usage.total_tokens,
    memory: [...asked, ...done.output],
  };
}

function finish({ status, incomplete_details: incomplete }, called) {
  if (status === "completed") return called ? "calls" : "natural";
  return { max_output_tokens: "length", content_filter: "filter" }[incomplete?.reason] ?? `${status} ${incomplete?.reason}`;
}

// The bare iterator: the last event has the whole answer.
async function iterate(api, p, { seen, signal }) {
  let text = "";
  let pieces = 0;
  let last;
  let number = 0;
  try {
    for await (const event of await api.responses.create({ ...p, stream: true }, { signal })) {
      assert.equal(event.sequence_number, number++, "sequence_number");
      if (event.type === "response.output_text.delta") {
        text += event.delta;
        pieces++;
        seen?.();
      }
      if (["response.completed", "response.incomplete", "response.failed"].includes(event.type)) last = event.response;
    }
    if (!last) return { text, pieces };
    // The iterator does not compute it.
    const parts = last.output.filter((item) => item.type === "message").flatMap((item) => item.content);
    return { ...answer(p, { ...last, output_text: parts.map((part) => part.text).join("") }), pieces };
  } catch (error) {
    throw Object.assign(error, { answer: { text } });
  }
}

// The client's own helper, which puts the answer together from the events and checks their order.
async function help(api, p) {
  let text = "";
  let calls = "";
  const stream = api.responses.stream(p);
  stream.on("response.output_text.delta", (event) => (text += event.delta));
  stream.on("response.function_call_arguments.delta", (event) => (calls += event.delta));
  const a = answer(p, await stream.finalResponse());
  assert.equal(text, a.text, "the deltas of the text");
  assert.equal(calls, a.calls.map((c) => c.arguments).join(""), "the deltas of the arguments");
  return a;
}

await main({ style: "responses", make }, JSON.parse(config));
