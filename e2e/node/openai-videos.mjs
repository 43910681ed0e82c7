// The video routes with a major version of the official JavaScript client: the same cases as those of the Go client.
// Arguments: the package and the configuration.
import assert from "node:assert/strict";
import { createReadStream, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { check } from "./cases.mjs";

const [name, text] = process.argv.slice(2);
const config = JSON.parse(text);
const { default: OpenAI, toFile } = await import(name);

const lookEvery = 100;
const pollAfter = "5000";
const listedMore = 26; // with what the other cases make, more than one page of any usual size
const members = [
  "completed_at", "created_at", "error", "expires_at", "id", "model", "object", "progress", "prompt", "remixed_from_video_id",
  "seconds", "size", "status",
];

const dial = (apiKey) => new OpenAI({ baseURL: `${config.origin}/v1`, apiKey, maxRetries: 0 });
const api = dial(config.key);
const model = config.models.videos;
const made = []; // ids, in the order in which they were made, without the deleted

async function create(params, options) {
  const v = await api.videos.create({ model, ...params }, options);
  made.push(v.id);
  return v;
}

// The client has no helper that waits, so this looks as a program would: the hint is there until the job has ended.
async function ended(id) {
  for (;;) {
    const { data: v, response } = await api.videos.retrieve(id).withResponse();
    const hint = response.headers.get("openai-poll-after-ms");
    if (v.status === "completed" || v.status === "failed") {
      assert.equal(hint, null, "the hint of an ended job");
      return v;
    }
    assert.ok(v.status === "queued" || v.status === "in_progress", v.status);
    assert.equal(hint, pollAfter, "the hint of a running job");
    await pause(lookEvery);
  }
}

function completed(v) {
  for (const member of members) assert.ok(member in v, `${member} of ${JSON.stringify(v)}`);
  const said = JSON.stringify(v);
  assert.ok(v.object === "video" && v.status === "completed" && v.progress === 100 && v.error === null, said);
  assert.ok(v.completed_at >= v.created_at && v.expires_at > v.completed_at, said);
  return v;
}

const film = async (params) => completed(await ended((await create(params)).id));

const kinds = {
  video: { ending: ".mp4", type: "video/mp4" },
  thumbnail: { ending: ".jpg", type: "image/jpeg" }, // the upstream's own are others
  spritesheet: { ending: ".jpg", type: "image/jpeg" },
};

// Downloads one variant under a name that says what the file must be.
async function keep(v, what, variant = "video") {
  const response = await api.videos.downloadContent(v.id, variant === "video" ? undefined : { variant });
  const data = Buffer.from(await response.arrayBuffer());
  const upstreams = variant === "thumbnail" && v.model === model;
  const { ending, type } = upstreams ? { ending: ".webp", type: "image/webp" } : kinds[variant];
  assert.equal(response.headers.get("content-type"), type);
  assert.equal(response.headers.get("content-length"), String(data.length));
  assert.equal(response.headers.get("accept-ranges"), "bytes");
  assert.match(response.headers.get("content-disposition"), /^attachment; filename=/);
  writeFileSync(join(config.folder, `${what}-${variant}_${v.size}_${v.seconds}${ending}`), data);
}

// Insists on the client's error class, with all that it says.
async function refused(promise, kind, status, code, param = null) {
  await assert.rejects(promise, (error) => {
    const said = `${error?.constructor?.name} ${error.status} ${error.code} ${error.param} ${error.type}: ${error.message}`;
    assert.ok(error instanceof kind, said);
    assert.deepEqual([error.status, error.code, error.param ?? null], [status, code, param], said);
    assert.ok(error.type && error.error.message && error.message.includes(error.error.message), said);
    return true;
  });
}

for (const [style, seconds, size] of [["videos", "4", "720x1280"], ["operations", "4", "720x1280"], ["tasks", "5", "1280x720"]]) {
  await check(`life/${style}`, async () => {
    const prompt = `A boat, "quoted" \\ <b>漢字</b> 🌍 ${style}`;
    const v = await create({ model: config.models[style], prompt });
    const said = JSON.stringify(v);
    assert.ok(v.id.startsWith("video_") && ["queued", "in_progress"].includes(v.status) && v.progress >= 0 && v.progress < 100, said);
    assert.ok(Math.abs(Date.now() / 1000 - v.created_at) < 60, said);
    assert.deepEqual([v.completed_at, v.expires_at, v.error, v.remixed_from_video_id], [null, null, null, null]);
    const done = completed(await ended(v.id));
    assert.deepEqual([done.id, done.model, done.prompt, done.size, done.seconds], [v.id, config.models[style], prompt, size, seconds]);
    assert.deepEqual(await api.videos.retrieve(v.id), done);
    for (const variant of Object.keys(kinds)) await keep(done, `life-${style}`, variant);
  });
}

await check("size and seconds", async () => {
  const v = await film({ prompt: "A wide boat", size: "1280x720", seconds: "8" });
  assert.deepEqual([v.size, v.seconds], ["1280x720", "8"]);
  await keep(v, "wide");
});

const frame = readFileSync(config.frame);
for (const [what, reference] of [
  ["file", () => toFile(frame, "frame.png", { type: "image/png" })],
  ["reader", () => createReadStream(config.frame)],
  ["object", () => ({ image_url: `data:image/png;base64,${frame.toString("base64")}` })],
]) {
  await check(`input_reference/${what}`, async () => {
    await keep(await film({ prompt: "A framed boat", input_reference: await reference() }), `framed-${what}`);
  });
}

await check("remix", async () => {
  const source = await film({ prompt: "A framed boat" });
  const v = await api.videos.remix(source.id, { prompt: "The same at night" });
  made.push(v.id);
  const done = completed(await ended(v.id));
  assert.deepEqual([done.remixed_from_video_id, done.prompt], [source.id, "The same at night"]);
  assert.deepEqual([done.model, done.size, done.seconds], [source.model, source.size, source.seconds]);
  await keep(source, "unframed");
  await keep(done, "remix");
});

// A job that is taken and then fails: the client raises nothing, the job says why.
await check("failure", async () => {
  const v = await ended((await create({ prompt: "guardrail-late: copyright" })).id);
  assert.deepEqual([v.status, v.error?.code, typeof v.error?.message], ["failed", "moderation_blocked", "string"]);
  await refused(api.videos.downloadContent(v.id), OpenAI.BadRequestError, 400, "video_not_ready", "video_id");
});

await check("idempotency", async () => {
  const options = { headers: { "Idempotency-Key": `${name}-${Date.now()}` } };
  const params = { model, prompt: "simulate: fail=broken\nonce" };
  const one = await create(params, options);
  const { data: two, response } = await api.videos.create(params, options).withResponse();
  assert.equal(two.id, one.id);
  assert.equal(response.headers.get("idempotency-replayed"), "true");
  await refused(api.videos.create({ model, prompt: "more" }, options), OpenAI.UnprocessableEntityError, 422, "idempotency_error", "Idempotency-Key");
});

await check("list", async () => {
  for (let i = 0; i < listedMore; i++) await create({ prompt: `simulate: fail=broken\nlisted ${i}` });
  for (const [query, want] of [
    [{}, made.toReversed()],
    [{ order: "desc", limit: 7 }, made.toReversed()],
    [{ order: "asc", limit: 10 }, made],
    [{ order: "asc", after: made[3] }, made.slice(4)],
  ]) {
    const got = [];
    for await (const v of api.videos.list(query)) got.push(v.id);
    assert.deepEqual(got, want, JSON.stringify(query));
  }
});

await check("delete", async () => {
  const id = made[0];
  assert.deepEqual(await api.videos.delete(id), { id, object: "video.deleted", deleted: true });
  await refused(api.videos.retrieve(id), OpenAI.NotFoundError, 404, "video_not_found", "video_id");
  await refused(api.videos.downloadContent(id), OpenAI.NotFoundError, 404, "video_not_found", "video_id");
  await refused(api.videos.remix(id, { prompt: "again" }), OpenAI.NotFoundError, 404, "video_not_found", "video_id");
  const page = await api.videos.list({ order: "asc", limit: 1 });
  assert.deepEqual(page.data.map((v) => v.id), [made[1]]);
});

const good = { model, prompt: "A boat" };
const bad = OpenAI.BadRequestError;
for (const [what, kind, status, code, param, params, key] of [
  ["400 size", bad, 400, "invalid_value", "size", { size: "640x480" }],
  ["400 seconds", bad, 400, "invalid_value", "seconds", { seconds: "7" }],
  ["400 guardrail", bad, 400, "content_policy_violation", "prompt", { prompt: "guardrail: minors" }],
  ["400 picture", bad, 400, "invalid_value", "input_reference",
    { input_reference: await toFile(Buffer.from("no picture"), "frame.png", { type: "image/png" }) }],
  ["400 file_id", bad, 400, "invalid_value", "input_reference.file_id", { input_reference: { file_id: "file-1" } }],
  ["401", OpenAI.AuthenticationError, 401, "invalid_api_key", null, {}, "umg_unknown"],
  ["402", OpenAI.APIError, 402, "insufficient_quota", null, { model: config.pro, size: "1920x1080", seconds: "20" }, config.busy],
  ["404 model", OpenAI.NotFoundError, 404, "model_not_found", "model", { model: "no/such" }],
]) {
  await check(`error/${what}`, () => refused(dial(key ?? config.key).videos.create({ ...good, ...params }), kind, status, code, param));
}

await check("error/429", async () => {
  const busy = dial(config.busy);
  const params = { model: config.pro, prompt: "simulate: render=hold\nlong" };
  const running = [await busy.videos.create(params), await busy.videos.create(params)];
  try {
    await refused(busy.videos.create(params), OpenAI.RateLimitError, 429, "rate_limit_exceeded");
  } finally {
    for (const { id } of running) await busy.videos.delete(id);
  }
});

await check("error/404 unknown and unfinished", async () => {
  await refused(api.videos.retrieve("video_01ARZ3NDEKTSV4RRFFQ69G5FAV"), OpenAI.NotFoundError, 404, "video_not_found", "video_id");
  const v = await api.videos.create({ model, prompt: "simulate: render=hold\nlong" });
  try {
    await refused(api.videos.downloadContent(v.id), bad, 400, "video_not_ready", "video_id");
    await refused(api.videos.remix(v.id, { prompt: "again" }), bad, 400, "video_not_ready", "video_id");
  } finally {
    await api.videos.delete(v.id);
  }
});

await check("error/404 what is not served", async () => {
  const video = await toFile(Buffer.from("film"), "film.mp4", { type: "video/mp4" });
  const unserved = [OpenAI.NotFoundError, 404, "unsupported_endpoint"];
  await refused(api.videos.edit({ prompt: "edit", video }), ...unserved);
  await refused(api.videos.extend({ prompt: "extend", seconds: "4", video }), ...unserved);
  await refused(api.videos.createCharacter({ name: "one", video }), ...unserved);
});
