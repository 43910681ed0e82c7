// A pane as a file, and a file as a pane. What a file says is checked before anything in the page changes.
import { field, part, settingsOf, turnsOf } from "./playdom.js";
import { refresh } from "./playpanes.js";
import { addTurn, bare, finish } from "./playturns.js";
import { give } from "./playvars.js";
import { say, toast } from "./toasts.js";

const kind = "umg.playground";
const bytesMax = 4_000_000;
const turnsMax = 500;
const roles = ["user", "assistant", "tool"];

const turnOf = (turn) => {
  const value = (name) => part(turn, name)?.value ?? "";
  const calls = value("turn-calls");
  return {
    role: turn.dataset.turn, text: value("turn-text"), ...(value("turn-image") && { image: value("turn-image") }),
    ...(calls && { calls: JSON.parse(calls) }), ...(value("turn-call") && { call: value("turn-call") }),
    ...(turn.dataset.done && { done: JSON.parse(turn.dataset.done) }),
  };
};

// contentOf is what a file and a run of the history say of a pane.
export const contentOf = (form) => {
  const fields = {};
  for (const [name, value] of settingsOf(form)) {
    if (value && !["pane", "image_url"].includes(name)) {
      fields[name] = value;
    }
  }
  return { kind, version: 1, fields, prompt: field("prompt").value, turns: turnsOf(form).map(turnOf) };
};

// save gives the pane as a file, without the times and the cost of its answers.
export const save = (form) => {
  const content = contentOf(form);
  const { fields } = content;
  content.turns.forEach((turn) => delete turn.done);
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([`${JSON.stringify(content, null, 2)}\n`], { type: "application/json" }));
  link.download = `playground-${(fields.model ?? "model").replace(/[^a-z0-9.-]+/gi, "-")}.json`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  say("Exported");
};

const text = (value) => typeof value === "string";
const called = (call) => text(call?.id) && text(call?.name) && text(call?.arguments);
const checks = [
  [(c) => c?.kind === kind && c.version === 1, "This is not a file of the playground."],
  [(c) => c.fields && Object.values(c.fields).every(text) && text(c.prompt ?? ""), "The settings of this file cannot be read: they must be texts."],
  [(c) => Array.isArray(c.turns) && c.turns.length <= turnsMax, `The file must have a list "turns" of at most ${turnsMax} messages.`],
  [(c) => c.turns.every((t) => roles.includes(t?.role) && text(t.text)), 'Every message needs a "role" (user, assistant or tool) and a "text".'],
  [(c) => c.turns.every((t) => t.role !== "tool" || text(t.call)), 'The result of a tool needs a "call" with the id of its call.'],
  [(c) => c.turns.every((t) => !t.calls || (Array.isArray(t.calls) && t.calls.every(called))), 'A call needs "id", "name" and "arguments" as texts.'],
  [(c) => c.turns.every((t) => !t.image || /^(https:|data:image\/(png|jpeg|webp|gif);base64,)/.test(t.image)), "An image of this file cannot be used."],
];

const parse = (source) => {
  let content = null;
  try {
    content = JSON.parse(source);
  } catch {
    return { error: "This file is not JSON." };
  }
  const failed = checks.find(([holds]) => !holds(content));
  return failed ? { error: failed[1] } : { content };
};

// put replaces what a pane has by a content.
export const put = async (form, { fields, prompt = "", turns }) => {
  const data = new FormData();
  for (const [name, value] of Object.entries(fields)) {
    data.set(name, value);
  }
  data.set("pane", form.dataset.number);
  const fresh = await refresh(form, data);
  if (!fresh) {
    return;
  }
  give(Object.entries(fields).filter(([name]) => name.startsWith("var_")).map(([name, value]) => [name.slice(4), value]));
  form.elements.system.value = fields.system ?? "";
  part(form, "own-settings").checked = fields.own_settings === "true";
  field("prompt").value = prompt;
  turnsOf(form).forEach((turn) => turn.remove());
  for (const turn of turns) {
    const made = addTurn(form, turn.role, turn);
    if (turn.done?.facts && turn.role === "assistant") {
      finish(made, turn.done);
    }
  }
  bare(form);
};

// load asks for a file and puts it into the pane.
export const load = (form) => {
  const input = Object.assign(document.createElement("input"), { type: "file", accept: "application/json,.json" });
  input.addEventListener("change", async () => {
    const [file] = input.files;
    const { content, error } = file.size > bytesMax ? { error: "This file is larger than 4 MB." } : parse(await file.text());
    if (error) {
      toast("danger", error);
    } else {
      content.turns.forEach((turn) => delete turn.done);
      await put(form, content);
      say("Imported");
    }
  });
  input.click();
};
