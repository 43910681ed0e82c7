// Prints the models that the official JavaScript clients of the messages and the native style list, page by page. Arguments: an
// origin, a key and a model.
const [origin, key, model] = process.argv.slice(2);
const { default: Anthropic } = await import("@anthropic-ai/sdk");
const { GoogleGenAI } = await import("@google/genai");

const messages = new Anthropic({ baseURL: origin, apiKey: key, maxRetries: 0 });
const native = new GoogleGenAI({ apiKey: key, httpOptions: { baseUrl: origin } });
const found = { Messages: [], Native: [] };
for await (const m of messages.models.list({ limit: 3 })) found.Messages.push(m.id);
for await (const m of await native.models.list({ config: { pageSize: 3 } })) found.Native.push(m.name);
found.MessagesOne = (await messages.models.retrieve(model)).display_name;
found.NativeOne = await native.models.get({ model });
console.log(JSON.stringify(found));
