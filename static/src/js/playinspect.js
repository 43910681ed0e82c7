// The inspector of a pane: what was sent, what came, each piece as it came, and the request as programs. It keeps what it shows
// in memory and draws only while it is open.
import { count, decimal } from "./numbers.js";
import { fetched, part, valuesOf } from "./playdom.js";
import { showJSON } from "./playjson.js";
import { toEnd } from "./playstream.js";

// The inspector keeps the newest events of an answer, up to this number.
const eventsMax = 300;
// The log of each pane, by the pane's form.
const kept = new WeakMap();

const memory = (form) => {
  if (!kept.has(form)) {
    kept.set(form, { request: null, response: "", events: [], dropped: 0, drawn: 0, asked: 0, looks: 0 });
  }
  return kept.get(form);
};

const open = (form) => !part(form, "inspector").hidden;
const box = (form, name) => form.querySelector(`[data-inspected="${name}"]`);

const fill = (element, text) => {
  showJSON(element, text);
  element.toggleAttribute("data-blank", !text);
  if (!text) {
    element.textContent = element.dataset.nothing;
  }
};

const line = ({ at, text }) => {
  const item = document.createElement("li");
  const time = document.createElement("span");
  time.className = "num";
  time.textContent = at < 10_000 ? `${count(Math.round(at))} ms` : `${decimal(at / 1000, 1)} s`;
  const body = document.createElement("pre");
  body.textContent = text;
  item.append(time, body);
  return item;
};

// drawEvents appends what is new, once a frame.
const drawEvents = (form) => {
  const m = memory(form);
  m.asked = 0;
  const list = part(form, "events");
  if (!open(form) || list.closest("[hidden]")) {
    return;
  }
  const total = m.dropped + m.events.length;
  if (total > m.drawn) {
    const follows = list.scrollHeight - list.scrollTop - list.clientHeight < 40;
    list.append(...m.events.slice(-Math.min(total - m.drawn, m.events.length)).map(line));
    while (list.children.length > eventsMax) {
      list.firstElementChild.remove();
    }
    if (follows) {
      list.scrollTop = list.scrollHeight;
    }
  }
  m.drawn = total;
  const note = part(form, "events-note");
  note.hidden = m.dropped === 0 && total > 0;
  note.textContent = total === 0 ? "Each event appears here as it arrives." : `Only the newest ${eventsMax} of ${count(total)} are kept.`;
};

const drawRequest = (form) => {
  const { request } = memory(form);
  const head = form.querySelector("[data-sent-line]");
  head.textContent = request ? [`${request.preview ? "Would send" : "Sent"}: ${request.method} ${request.path}`, ...request.headers].join("\n") : "";
  fill(box(form, "Request"), request?.body ?? "");
};

const draw = (form) => {
  if (!open(form)) {
    return;
  }
  drawRequest(form);
  fill(box(form, "Response"), memory(form).response);
  drawEvents(form);
};

// sent begins a new log with the exact request.
export const sent = ({ form }, event) => {
  const headers = (event.headers ?? []).map(([name, value]) => `${name}: ${value}`);
  Object.assign(memory(form), {
    request: { method: event.method, path: event.path, headers, body: event.body }, response: "", events: [], dropped: 0, drawn: 0,
  });
  part(form, "events").replaceChildren();
  draw(form);
};

const add = (m, at, text) => {
  m.events.push({ at, text });
  if (m.events.length > eventsMax) {
    m.events.shift();
    m.dropped += 1;
  }
};

// response is the whole answer: the body itself where it came in one piece, else what its events said.
const response = (run, event, m) => {
  const only = m.events.length === 1 ? m.events[0].text.trim() : "";
  if (only.startsWith("{") && only.endsWith("}")) {
    return only;
  }
  return JSON.stringify({
    id: event.request || run.request, model: run.model, style: run.style, ...(run.thinking && { thinking: run.thinking }), text: run.text,
    ...(run.calls.length > 0 && { tool_calls: run.calls }), ...(event.kind === "done" ? {} : { error: event.text }),
    facts: Object.fromEntries(event.facts ?? []),
  });
};

// heard stores a raw piece, or at the end the answer in one piece.
export const heard = (run, event) => {
  const { form } = run;
  const m = memory(form);
  if (event.kind === "raw") {
    const at = performance.now() - run.began;
    for (const frame of event.raw.split(/\n\n(?=.)/)) {
      add(m, at, frame.trimEnd());
    }
    m.asked ||= requestAnimationFrame(() => drawEvents(form));
    return;
  }
  m.response = response(run, event, m);
  draw(form);
};

// look fetches the request as it would be sent now, in every style, and shows it as programs.
export const look = async (form) => {
  if (!open(form)) {
    return;
  }
  const m = memory(form);
  const mine = ++m.looks;
  const slot = form.querySelector("[data-code-slot]");
  try {
    const shown = (await fetched(`${form.action}/code`, valuesOf(form))).querySelector("[data-part=code]");
    if (mine !== m.looks || !shown) {
      return;
    }
    slot.replaceChildren(shown);
    const style = form.querySelector("[name=style]:checked")?.value;
    const body = shown.querySelector(`[data-body="${CSS.escape(style)}"]`);
    if (body && (!m.request || m.request.preview || m.request.path !== body.dataset.path)) {
      m.request = { preview: true, method: "POST", path: body.dataset.path, headers: [], body: body.textContent };
      drawRequest(form);
    }
  } catch {
    if (mine !== m.looks) {
      return;
    }
    slot.textContent = "The code could not be loaded. Open this again in a moment.";
  }
};

// inspect opens or closes the inspector, at one of its tabs if that is named.
export const inspect = (form, want = !open(form), tab = "") => {
  const button = form.querySelector("[data-inspect]");
  part(form, "inspector").hidden = !want;
  button.setAttribute("aria-expanded", String(want));
  if (tab) {
    form.querySelector(`[data-inspector] [data-tab="${tab}"]`).click();
  }
  draw(form);
  look(form);
  toEnd(part(form, "talk"));
};

// A tab that was hidden is drawn when it is chosen.
document.addEventListener("click", (event) => {
  const tab = event.target.closest?.("[data-inspector] > .tabs > .tabs-bar > [role=tab]");
  if (tab) {
    const form = tab.closest("[data-pane]");
    drawEvents(form);
    if (tab.dataset.tab === "code") {
      look(form);
    }
  }
});
