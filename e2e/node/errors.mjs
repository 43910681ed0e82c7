// The cases in which something goes wrong, and how each style says so.
import assert from "node:assert/strict";

const leaveAfter = 4; // pieces of a stream
const leaveTimeMax = 3_000;

const unknownModel = "unknown/nothing";

// The error table of each style, as its clients read it. What is absent the style, or its client, does not say.
const expected = {
  chat: {
    badModel: { status: 404, type: "invalid_request_error", code: "model_not_found", param: "model", says: unknownModel },
    missing: { status: 400, type: "invalid_request_error", code: "invalid_request_error", param: "messages", says: "messages" },
    wrongKey: { status: 401, type: "authentication_error", code: "invalid_api_key" },
    down: { status: 502, type: "server_error", code: "upstream_error" },
    cut: { type: "server_error", code: "upstream_error" },
  },
  messages: {
    badModel: { status: 404, type: "not_found_error", says: unknownModel },
    missing: { status: 400, type: "invalid_request_error", says: "messages" },
    wrongKey: { status: 401, type: "authentication_error" },
    down: { status: 502, type: "api_error" },
    cut: { type: "api_error" },
  },
  responses: {
    badModel: { status: 404, type: "invalid_request_error", code: "model_not_found", param: "model", says: unknownModel },
    missing: { status: 400, type: "invalid_request_error", code: "missing_required_parameter", param: "input", says: "input" },
    wrongKey: { status: 401, type: "authentication_error", code: "invalid_api_key" },
    down: { status: 502, type: "server_error", code: "upstream_error" },
    cut: { code: "server_error" },
  },
  native: {
    badModel: { status: 404, type: "NOT_FOUND", says: unknownModel },
    missing: { status: 400, type: "INVALID_ARGUMENT", says: "contents" },
    wrongKey: { status: 401, type: "UNAUTHENTICATED" },
    down: { status: 502, type: "INTERNAL" },
    cut: { status: 502, type: "INTERNAL" },
  },
};

export async function errorCases(state) {
  const { config, kind, check } = state;
  const want = expected[kind.style];
  const model = config.models[kind.style];
  const headers = (mode) => ({ "X-Error-Status": mode });
  for (const mode of ["standard", "documented"]) {
    const documented = mode === "documented" && kind.style === "chat"; // the other styles have true statuses in both
    const o = { headers: headers(mode) };
    await failing(state, `${mode}/bad model`, o, { model: unknownModel, prompt: "x" }, documented, want.badModel);
    await failing(state, `${mode}/missing field`, { ...o, leaveOut: true }, { model, prompt: "x" }, documented, want.missing);
    await failing(state, `${mode}/wrong key`, { ...o, key: "sk-umg-wrong" }, { model, prompt: "x" }, false, want.wrongKey);
    for (const [upstream, down] of Object.entries(config.down)) {
      await failing(state, `${mode}/${upstream}/upstream down`, o, { model: down, prompt: "x" }, documented, want.down);
    }
  }
  for (const [upstream, model] of Object.entries(config.cut)) {
    for (const raw of [true, false]) {
      const name = `${upstream}/stream/error in the middle${raw ? "" : " of a helper"}`;
      await check(name, () => cut(state, model, want.cut, raw));
    }
  }
  await check("stream/leave", () => leave(state));
}

// A question that must fail, whole and as a stream. In documented mode a whole answer has status 200, so that the
// client does not raise it.
async function failing({ config, kind, check }, name, options, question, documented, want) {
  const client = kind.make({ origin: config.origin, key: config.key, ...options });
  await check(`${name}/json`, async () => {
    fails(client, await caught(client.ask(question)), want, !documented, documented);
  });
  await check(`${name}/stream`, async () => {
    fails(client, await caught(client.stream(question, { raw: true })), want, true, documented);
  });
}

async function caught(promise) {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  assert.fail("no error was raised");
}

function fails(client, error, want, raised, documented) {
  const f = client.explain(error);
  const { says = "", status, ...words } = want;
  const about = `the client says ${JSON.stringify(f)} (${error.message})`;
  assert.equal(f.raised, raised, `raised: ${about}`);
  if (status && !documented) assert.equal(f.status, status, about);
  for (const [word, value] of Object.entries(words)) assert.equal(f[word], value, `${word}: ${about}`);
  assert.ok(f.message && f.message.includes(says), about);
}

// A stream whose upstream fails after some of it: what came stays, then an error, and no end is invented.
async function cut({ client }, model, want, raw) {
  const error = await caught(client.stream({ model, prompt: "count to 100" }, { raw }));
  fails(client, error, want, true, false);
  if (!raw) return; // the helpers keep what came to themselves
  assert.ok(error.answer?.text.startsWith("1 2"), `before the error came ${error.answer?.text}`);
  assert.ok(!error.answer.finish, `the finish reason is ${error.answer.finish}`);
}

// Abort in the middle of a stream: the client must come back at once. What the gateway charged is in its own
// records.
async function leave({ config, client }) {
  const controller = new AbortController();
  let seen = 0;
  let left = 0;
  const leaving = () => {
    if (++seen !== leaveAfter) return;
    left = Date.now();
    controller.abort();
  };
  let answer;
  try {
    answer = await client.stream({ model: config.slow, prompt: config.leave }, { seen: leaving, signal: controller.signal, raw: true });
  } catch (error) {
    if (left === 0) throw error;
  }
  assert.ok(left > 0, `the stream ended after ${seen} pieces`);
  assert.ok(!answer?.finish, `the stream went on to its end: ${answer?.text}`);
  assert.ok(Date.now() - left < leaveTimeMax, `it took ${Date.now() - left} ms to leave`);
}
