// What every official client must get from a running gateway, whatever style it speaks and whatever style the upstream of
// a model speaks: the same cases as those of the Go clients. A script per client supplies the calls. It knows a base URL,
// a key and models.
import { deflateSync, crc32 } from "node:zlib";
import assert from "node:assert/strict";
import { errorCases } from "./errors.mjs";

const caseTimeMax = 20_000;

// It has what breaks on a careless way: quotes, backslashes, markup, and characters of two, three and four bytes.
const spoken = 'Grüße, "quoted" \\back\\slash <b>&amp;</b> 漢字 🌍👩‍🚀 end';

const city = { type: "string", description: "Name of the city" };

// The functions of the cases with tools.
export const tools = [
  {
    name: "get_weather",
    description: "The weather of a city",
    schema: {
      type: "object",
      properties: { city, unit: { type: "string", enum: ["celsius", "fahrenheit"] } },
      required: ["city"],
      additionalProperties: false,
    },
    run: ({ city }) => `18 degrees in ${city}`,
  },
  {
    name: "local_time",
    description: "The time in a city",
    schema: { type: "object", properties: { city }, required: ["city"], additionalProperties: false },
    run: ({ city }) => `10:42 in ${city}`,
  },
];

/**
 * Runs all cases of a client and prints a line for each; exits with status 1 when one failed.
 *
 * A kind has: style; make(options) → client. A client has: ask(question) → answer; stream(question, {seen, signal, raw})
 * → answer, where raw asks for the bare iterator instead of the client's helper; explain(error) → failure; and, where the
 * library has it, count(question) and run(question), which lets the library itself run the tools.
 *
 * An answer has: text, thoughts, model, finish (natural, length, calls or filter), calls [{id, name, arguments}], pieces, input,
 * output, total (where the style has it), memory (the conversation in the library's own form). A failure has: raised,
 * status, type, code, param, message. An error of a stream carries the answer so far as error.answer.
 */
export async function main(kind, config) {
  const state = { config, kind, client: kind.make({ origin: config.origin, key: config.key }), failed: 0 };
  state.check = (name, run) => check(state, name, run);
  await answerCases(state);
  await errorCases(state);
  process.exitCode = state.failed > 0 ? 1 : 0;
}

async function check(state, name, run) {
  const line = { case: name };
  const started = Date.now();
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not done after ${caseTimeMax} ms`)), caseTimeMax);
  });
  try {
    await Promise.race([run(), late]);
  } catch (error) {
    state.failed++;
    line.error = error instanceof assert.AssertionError ? error.message : `${error.message} ${JSON.stringify(state.client.explain(error))}`;
  } finally {
    clearTimeout(timer);
  }
  line.ms = Date.now() - started;
  console.log(JSON.stringify(line));
}

async function answerCases({ config, client, check, kind }) {
  const ways = { json: (q) => client.ask(q), stream: (q) => client.stream(q, {}) };
  for (const [upstream, model] of Object.entries(config.models)) {
    for (const [way, ask] of Object.entries(ways)) {
      const name = `${upstream}/${way}/`;
      await check(`${name}text`, () => text(ask, model));
      await check(`${name}length`, () => length(ask, model));
      await check(`${name}filter`, () => filter(ask, model));
      await check(`${name}image`, () => image(ask, model));
      await check(`${name}tool loop`, () => toolLoop(ask, model));
      await check(`${name}parallel tool loop`, () => parallelToolLoop(ask, model));
      await check(`${name}thoughtful tool loop`, () => thoughtfulToolLoop(ask, model));
    }
    await check(`${upstream}/stream/pieces`, () => pieces(client, model));
    if (client.run) await check(`${upstream}/tools run by the client`, () => toolsRun(client, model));
    if (client.count) await check(`${upstream}/count`, () => count(client, model));
  }
}

async function text(ask, model) {
  const a = await ask({ model, prompt: `echo: ${spoken}` });
  sane(a, model, "natural");
  assert.equal(a.text, spoken);
}

async function pieces(client, model) {
  const last = 40;
  const a = await client.stream({ model, prompt: `count to ${last}` }, { raw: true });
  sane(a, model, "natural");
  assert.equal(a.text, Array.from({ length: last }, (_, i) => i + 1).join(" "));
  assert.equal(a.output, last, "output tokens");
  assert.ok(a.pieces >= last / 2, `${last} numbers came in ${a.pieces} pieces`);
}

async function length(ask, model) {
  const limit = 20; // no style of upstream refuses it as too small
  const a = await ask({ model, prompt: "count to 100", maxOutput: limit });
  sane(a, model, "length");
  assert.ok(a.text.startsWith("1 2 3 ") && a.output <= limit, `${a.output} tokens of ${a.text}`);
}

async function filter(ask, model) {
  const a = await ask({ model, prompt: "refuse: this" });
  sane(a, model, "filter");
  assert.equal(a.text, "I cannot help with that.");
}

async function image(ask, model) {
  const png = portrait();
  const a = await ask({ model, prompt: "Describe the picture.", png });
  sane(a, model, "natural");
  assert.ok(a.text.startsWith(`I see 1 image (image/png, ${png.length} bytes).`), a.text);
}

// Call, run, send the result back, final answer.
async function toolLoop(ask, model) {
  const q = { model, prompt: "Please call get_weather for city=Reykjavík today.", tools };
  const a = await ask(q);
  sane(a, model, "calls");
  called(a, [["get_weather", "Reykjavík"]]);
  const final = await ask({ ...q, after: a, results: ["18 degrees and rain"] });
  sane(final, model, "natural");
  assert.equal(final.text, "According to the tool: 18 degrees and rain.");
}

// A text before two calls in one turn, and both results go back together.
async function parallelToolLoop(ask, model) {
  const q = { model, prompt: "narrate and use both tools in parallel, for Oslo and Madrid", tools };
  const a = await ask(q);
  sane(a, model, "calls");
  assert.equal(a.text, "Let me look that up.");
  called(a, [["get_weather", "Oslo"], ["local_time", "Madrid"]]);
  const final = await ask({ ...q, after: a, results: ["sunny", "10:42"] });
  sane(final, model, "natural");
  assert.equal(final.text, "According to the tool: sunny; 10:42.");
}

// Thoughts before the call go back with the result: upstreams take only proofs of thoughts that they have made themselves.
async function thoughtfulToolLoop(ask, model) {
  const q = { model, prompt: "Please call local_time for city=Lima now.", tools, think: true };
  const a = await ask(q);
  sane(a, model, "calls");
  called(a, [["local_time", "Lima"]]);
  const final = await ask({ ...q, after: a, results: ["10:42"] });
  sane(final, model, "natural");
  assert.equal(final.text, "According to the tool: 10:42.");
  assert.match(a.thoughts ?? "", /^The user wants an answer/);
}

async function toolsRun(client, model) {
  const ran = [];
  const watched = tools.map((t) => ({ ...t, run: (input) => (ran.push(t.name), t.run(input)) }));
  const said = await client.run({ model, prompt: "use both tools in parallel, for Oslo and Madrid", tools: watched });
  assert.deepEqual(ran, ["get_weather", "local_time"]);
  assert.equal(said, "According to the tool: 18 degrees in Oslo; 10:42 in Madrid.");
}

async function count(client, model) {
  const short = await client.count({ model, prompt: "one" });
  const long = await client.count({ model, prompt: "one" + " more".repeat(100), tools });
  assert.ok(short > 0 && long >= short + 50, `${short} tokens for one word, ${long} for a hundred and tools`);
}

// What holds for every answer.
function sane(a, model, finish) {
  assert.equal(a.model, model, "the model");
  assert.equal(a.finish, finish, "the finish reason");
  const usage = `${a.input} in, ${a.output} out, ${a.total} in total`;
  assert.ok(a.input > 0 && a.output > 0 && (a.total === undefined || a.total === a.input + a.output), usage);
}

function called(a, wanted) {
  const got = a.calls.map((c) => [c.name, JSON.parse(c.arguments).city]);
  assert.deepEqual(got, wanted);
  const ids = new Set(a.calls.map((c) => c.id));
  assert.ok(ids.size === a.calls.length && !ids.has("") && !ids.has(undefined), `ids ${[...ids]}`);
}

// A small picture, as PNG.
function portrait() {
  const side = 16;
  const rows = Buffer.alloc(side * (1 + side * 3));
  for (let i = 0; i < rows.length; i++) rows[i] = i % (1 + side * 3) === 0 ? 0 : (i * 7) % 256;
  const head = Buffer.alloc(13);
  head.writeUInt32BE(side, 0);
  head.writeUInt32BE(side, 4);
  head.set([8, 2, 0, 0, 0], 8);
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  return Buffer.concat([signature, chunk("IHDR", head), chunk("IDAT", deflateSync(rows)), chunk("IEND", Buffer.alloc(0))]);
}

function chunk(kind, data) {
  const body = Buffer.concat([Buffer.from(kind), data]);
  const framed = Buffer.alloc(body.length + 8);
  framed.writeUInt32BE(data.length, 0);
  body.copy(framed, 4);
  framed.writeUInt32BE(crc32(body), body.length + 4);
  return framed;
}
