// The running answers, at most one in each pane. A failure of one does not affect the others.
import { changed, composer, factList, factValue, field, modelName, page, panes, part, shape, valuesOf, wait } from "./playdom.js";
import { heard, sent } from "./playinspect.js";
import { addTurn, asJSON, bare, finish, requestLine, setCalls, waits } from "./playturns.js";
import { listen, toEnd, writer } from "./playstream.js";
import { say, toast } from "./toasts.js";

const askAgainMilliseconds = [150, 350, 700, 1500];
// The running answers, by the form of their pane.
export const runs = new Map();

const sole = () => panes().length === 1;

// show tells the page whether answers are on their way.
const show = (form) => {
  form.dataset.state = runs.has(form) ? "busy" : "idle";
  part(form, "talk").setAttribute("aria-busy", String(runs.has(form)));
  const busy = runs.size > 0;
  page().dataset.state = busy ? "busy" : "idle";
  const [send, stop] = [part(composer(), "send"), part(composer(), "stop")];
  const held = document.activeElement === send || document.activeElement === stop;
  send.hidden = busy;
  stop.hidden = !busy;
  part(stop, "stop-word").textContent = sole() ? "Stop" : "Stop all";
  if (held) {
    (busy ? stop : send).focus();
  }
};

const balance = (funds) => {
  const chip = document.getElementById("balance");
  const shown = chip?.querySelector(".num");
  if (!funds || !shown) {
    return;
  }
  shown.textContent = funds.rounded;
  shown.title = funds.exact;
  chip.querySelector("[data-balance-state]").textContent = funds.state;
  chip.toggleAttribute("data-tone", funds.tone !== "");
  if (funds.tone) {
    chip.dataset.tone = funds.tone;
  }
};

export const clearTrouble = (form) => {
  part(form, "trouble").replaceChildren();
  for (const wrong of form.querySelectorAll(".param[data-invalid]")) {
    wrong.removeAttribute("data-invalid");
    wrong.querySelector("input, select, textarea").removeAttribute("aria-invalid");
    part(wrong, "param-error").hidden = true;
  }
};

// blame shows a validation error beside its field.
export const blame = (wrong, text) => {
  const control = wrong.querySelector("input, select, textarea");
  const note = part(wrong, "param-error");
  wrong.toggleAttribute("data-invalid", Boolean(text));
  control.toggleAttribute("aria-invalid", false);
  if (text) {
    control.setAttribute("aria-invalid", "true");
    wrong.closest("details")?.setAttribute("open", "");
  }
  note.textContent = text;
  note.hidden = !text;
  return control;
};

// trouble says why there is no answer, and beside which field the mistake is.
export const trouble = (form, { text, facts = [], field: name = "", credit = false, doc = "", request = "" }) => {
  const box = shape("play-error");
  box.querySelector("strong").textContent = text;
  box.querySelector("dl").replaceWith(factList(facts), ...(request ? [requestLine(request)] : []));
  const link = box.querySelector("a");
  link.hidden = !credit && !doc;
  if (doc && !credit) {
    link.href = doc;
    link.textContent = "What this means";
  }
  part(box, "retry").hidden = credit || !waits(form);
  part(form, "trouble").replaceChildren(box);
  const wrong = name && form.querySelector(`.param[data-param="${CSS.escape(name)}"]`);
  if (wrong) {
    blame(wrong, text);
    form.dataset.side = "open";
    if (sole()) {
      wrong.querySelector("input, select, textarea").focus();
    }
  }
};

export const giveImage = (image) => composer().dispatchEvent(new CustomEvent("play:image", { bubbles: true, detail: image }));

// giveUp takes back an answer that did not come. The only pane gives the message back, too; one of several keeps it.
const giveUp = (run) => {
  run.answer.remove();
  if (run.user && sole()) {
    run.user.remove();
    if (!field("prompt").value) {
      field("prompt").value = run.prompt;
      giveImage(run.image);
    }
  }
  bare(run.form);
};

const seal = (run, whole = "") => {
  run.writer.close(whole);
  run.thought.close();
  part(run.answer, "turn-text").value = run.text;
  setCalls(run.answer, run.calls);
  delete run.answer.dataset.state;
  return run.text !== "" || run.calls.length > 0;
};

// A thought can be watched while it is all there is; then the answer takes its place.
const think = (run, text) => {
  const box = part(run.answer, "thought");
  delete run.answer.dataset.state;
  if (box.hidden) {
    box.hidden = false;
    box.open = true;
    run.unfolded = true;
  }
  run.thinking += text;
  run.thought.add(text);
};

const fold = (run) => {
  delete run.answer.dataset.state;
  if (run.unfolded) {
    run.unfolded = false;
    part(run.answer, "thought").open = false;
  }
};

const complete = (run, event) => {
  run.ended = true;
  seal(run, event.html);
  finish(run.answer, event);
  if (run.format !== "text") {
    asJSON(run.answer);
  }
  for (const call of run.calls) {
    addTurn(run.form, "tool", { call: call.id });
  }
  balance(event.balance);
  toEnd(part(run.form, "talk"));
  heard(run, event);
  if (event.unkept) {
    toast("danger", "This run could not be kept. Its content may be too large.");
  }
  const cost = factValue(event.facts, "Cost");
  say(`${sole() ? "" : `${modelName(run.form)}: `}Answer complete, cost ${cost}`);
};

const fail = (run, event) => {
  run.ended = true;
  if (seal(run, event.html)) {
    part(run.answer, "facts").textContent = `Cut off. ${event.note ?? ""}`;
    part(run.answer, "turn-note").value = `Cut off. ${event.note ?? ""}`;
  } else {
    giveUp(run);
  }
  balance(event.balance);
  heard(run, event);
  trouble(run.form, event);
};

const does = {
  wait: () => {},
  request: (run, event) => sent(run, event),
  raw: (run, event) => heard(run, event),
  thought: (run, event) => think(run, event.text),
  done: complete,
  text(run, event) {
    fold(run);
    run.text += event.text;
    run.writer.add(event.text);
  },
  block: (run, event) => run.writer.block(event.html ?? "", event.text ?? ""),
  call(run, event) {
    fold(run);
    const { id, name, arguments: given } = event.call;
    run.calls.push({ id, name, arguments: given });
    setCalls(run.answer, run.calls);
    toEnd(part(run.form, "talk"));
  },
};

// stopped keeps what came and asks what it cost, as soon as that is written down.
const stopped = async (run) => {
  run.ended = true;
  if (!seal(run)) {
    giveUp(run);
    return;
  }
  part(run.answer, "facts").textContent = "Stopped.";
  part(run.answer, "turn-note").value = "Stopped.";
  for (const pause of askAgainMilliseconds) {
    await wait(pause);
    const answer = await fetch(`${run.form.action}/calls/${encodeURIComponent(run.request)}`).catch(() => null);
    if (answer?.status === 200) {
      const event = await answer.json();
      finish(run.answer, event);
      balance(event.balance);
      return;
    }
  }
};

const letters = "0123456789abcdefghijklmnopqrstuv";

// newRun is the id of a run: of one message that is sent to one or more models.
export const newRun = () => `run_${[...crypto.getRandomValues(new Uint8Array(26))].map((byte) => letters[byte % 32]).join("")}`;

// start asks one pane's model. With a message it is added to the conversation; without, its end is answered.
export const start = async (form, message, runID = newRun()) => {
  const data = valuesOf(form);
  data.set("run", runID);
  clearTrouble(form);
  const log = part(form, "talk");
  const user = message ? addTurn(form, "user", { text: message.prompt, image: message.image }) : null;
  const answer = addTurn(form, "assistant");
  answer.dataset.state = "waiting";
  toEnd(log, true);
  const run = {
    form, user, answer, ...message, controller: new AbortController(), request: "", began: performance.now(), format: data.get("format") ?? "text",
    text: "", thinking: "", calls: [], model: data.get("model"), style: data.get("style"),
    writer: writer(part(answer, "text"), log), thought: writer(part(answer, "thought-text"), log),
  };
  runs.set(form, run);
  show(form);
  const begin = (id) => {
    run.request = id;
  };
  const take = (event) => (does[event.kind] ?? fail)(run, event);
  const ill = await listen(form.action, data, run.controller.signal, { begin, take });
  runs.delete(form);
  if (!form.isConnected) {
    return;
  }
  if (ill?.stopped && !run.ended) {
    show(form);
    await stopped(run);
  } else if (ill && !run.ended) {
    fail(run, { ...ill, request: ill.made ? run.request : "", facts: run.request && !ill.made ? [["Request", run.request]] : [] });
  }
  show(form);
  changed();
  page().dispatchEvent(new CustomEvent("play:ended", { detail: { form, run: runID } }));
};

export const stop = (form) => runs.get(form)?.controller.abort();
