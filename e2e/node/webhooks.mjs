// Webhooks with the JavaScript libraries that receivers use. Arguments: verify and deliveries, which all libraries check;
// or manage and a configuration, for the routes as the newest official client calls them.
import assert from "node:assert/strict";
import OpenAI, { InvalidWebhookSignatureError } from "openai";
import Before, { InvalidWebhookSignatureError as InvalidBefore } from "openai-before";
import { Webhook, WebhookVerificationError } from "standardwebhooks";
import { check } from "./cases.mjs";

const [what, text] = process.argv.slice(2);

const refusals = [InvalidWebhookSignatureError, InvalidBefore, WebhookVerificationError];

// Each verifies a body and returns the event.
const libraries = {
  standardwebhooks: async ({ body, headers, secret }) => new Webhook(secret).verify(body, headers),
  "openai 7": ({ body, headers, secret }) => new OpenAI({ apiKey: "none", webhookSecret: secret }).webhooks.unwrap(body, headers),
  "openai 6": ({ body, headers, secret }) => new Before({ apiKey: "none" }).webhooks.unwrap(body, headers, secret),
};

// A delivery has: name, headers, body, secret, and refused where no library may take it.
async function verify(deliveries) {
  for (const d of deliveries) {
    for (const [library, open] of Object.entries(libraries)) {
      await check(`${library}/${d.name}`, async () => {
        if (d.refused) {
          await assert.rejects(open(d), (error) => refusals.some((kind) => error instanceof kind), `it is taken: ${JSON.stringify(d)}`);
          return;
        }
        const event = await open(d);
        assert.equal(event.object, "event");
        assert.match(event.id, /^evt_/);
        assert.match(event.type, /^video\.(completed|failed)$/);
        assert.match(event.data.id, /^video_/);
        assert.ok(Number.isInteger(event.created_at), String(event.created_at));
      });
    }
  }
}

const members = ["created_at", "event_types", "id", "name", "object", "signing_secret_hint", "updated_at", "url"];

function endpoint(e, wanted, secret = false) {
  for (const member of members) assert.ok(member in e, `${member} of ${JSON.stringify(e)}`);
  assert.equal(e.object, "webhook_endpoint");
  assert.match(e.id, /^whe_/);
  assert.deepEqual([e.name, e.url, e.event_types], [wanted.name, wanted.url, wanted.event_types]);
  assert.equal(secret ? /^whsec_[A-Za-z0-9+/]{32,88}={0,2}$/.test(e.signing_secret) : !("signing_secret" in e), true, "the secret");
  return e;
}

async function manage({ origin, key, url, down }) {
  const api = new OpenAI({ baseURL: `${origin}/v1`, apiKey: key, maxRetries: 0 });
  const wanted = { name: "first", url, event_types: ["video.completed", "video.failed"] };
  let first;
  await check("create", async () => {
    first = endpoint(await api.webhooks.create(wanted), wanted, true);
  });
  await check("retrieve", async () => void endpoint(await api.webhooks.retrieve(first.id), wanted));
  await check("update", async () => {
    Object.assign(wanted, { name: "renamed", event_types: ["video.failed"] });
    endpoint(await api.webhooks.update(first.id, { name: wanted.name, event_types: wanted.event_types }), wanted);
    endpoint(await api.webhooks.retrieve(first.id), wanted);
  });
  await check("list", async () => {
    const ids = [first.id];
    for (let i = 0; i < 4; i++) ids.unshift((await api.webhooks.create({ ...wanted, name: `number ${i}` })).id);
    for (const query of [{}, { limit: 2 }]) {
      const got = [];
      for await (const e of api.webhooks.list(query)) got.push(e.id);
      assert.deepEqual(got, ids, "newest first");
    }
    for (const id of ids.slice(0, -1)) {
      assert.deepEqual(await api.webhooks.delete(id), { id, object: "webhook_endpoint.deleted", deleted: true });
    }
  });
  await check("event types", async () => {
    const types = await api.webhooks.eventTypes.list();
    assert.deepEqual([types.object, [...types.data].sort()], ["list", ["video.completed", "video.failed"]]);
  });
  await check("rotate", async () => {
    const kept = endpoint(await api.webhooks.rotateSecret(first.id, { keep_old_secret_active_for_24_hours: true }), wanted, true);
    const dropped = endpoint(await api.webhooks.rotateSecret(first.id), wanted, true);
    assert.equal(new Set([first.signing_secret, kept.signing_secret, dropped.signing_secret]).size, 3);
  });
  await check("test", async () => {
    const told = await api.webhooks.test(first.id, { event_type: "video.completed" });
    assert.deepEqual([told.object, told.event_type, told.success, told.status_code, told.webhook_endpoint_id],
      ["webhook_endpoint.test", "video.completed", true, 204, first.id]);
  });
  await check("test of a receiver that is broken", async () => {
    const broken = await api.webhooks.create({ ...wanted, url: down });
    const told = await api.webhooks.test(broken.id, { event_type: "video.failed" });
    assert.equal(told.status_code, 500);
    await api.webhooks.delete(broken.id);
  });
  await check("errors", async () => {
    const refused = (promise, kind, status, param) => assert.rejects(promise, (error) => {
      const said = `${error.constructor.name} ${error.status} ${error.code} ${error.param}: ${error.message}`;
      assert.ok(error instanceof kind && error.status === status && (error.param ?? null) === param && error.code && error.error.message, said);
      return true;
    });
    await refused(api.webhooks.create({ ...wanted, event_types: ["batch.completed"] }), OpenAI.BadRequestError, 400, "event_types");
    await refused(api.webhooks.create({ ...wanted, url: "http://127.0.0.1:1/" }), OpenAI.BadRequestError, 400, "url");
    await refused(api.webhooks.test(first.id, { event_type: "batch.completed" }), OpenAI.BadRequestError, 400, "event_type");
    await refused(api.webhooks.retrieve("whe_01ARZ3NDEKTSV4RRFFQ69G5FAV"), OpenAI.NotFoundError, 404, null);
    await refused(new OpenAI({ baseURL: `${origin}/v1`, apiKey: "umg_unknown", maxRetries: 0 }).webhooks.list(), OpenAI.AuthenticationError, 401, null);
  });
  await check("delete", async () => {
    assert.deepEqual(await api.webhooks.delete(first.id), { id: first.id, object: "webhook_endpoint.deleted", deleted: true });
    await assert.rejects(api.webhooks.retrieve(first.id), OpenAI.NotFoundError);
    assert.deepEqual((await api.webhooks.list()).data, []);
  });
}

await { verify, manage }[what](JSON.parse(text));
