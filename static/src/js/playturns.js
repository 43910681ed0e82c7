// The turns of a conversation: made, edited where they stand, moved, deleted, taken to another pane.
import { changed, factList, page, part, shape, turnsOf } from "./playdom.js";
import { showJSON, tidy } from "./playjson.js";
import { write } from "./copy.js";
import { say } from "./toasts.js";

const textOf = (turn) => part(turn, "turn-text").value;

const picture = (frame, image) => {
  frame.replaceChildren();
  frame.hidden = !image;
  const element = document.createElement(image.startsWith("data:image/") ? "img" : "code");
  if (element instanceof HTMLImageElement) {
    element.src = image;
    element.alt = "Attached image";
  } else {
    element.className = "mono";
    element.textContent = image;
  }
  frame.append(...(image ? [element] : []));
};

// plain shows a text as it is.
export const plain = (turn, text) => {
  const line = document.createElement("div");
  line.className = "turn-text";
  line.textContent = text;
  part(turn, "text").replaceChildren(...(text ? [line] : []));
};

// fill writes a call into its card.
const fill = (card, call) => {
  card.hidden = !call;
  if (call) {
    part(card, "call-name").textContent = call.name;
    part(card, "call-id").textContent = call.id;
    part(card, "call-arguments").setAttribute("aria-label", `Arguments of ${call.name}`);
    showJSON(part(card, "call-arguments"), call.arguments || "{}");
  }
};

const callOf = (form, id) =>
  turnsOf(form).flatMap((turn) => JSON.parse(part(turn, "turn-calls").value || "[]")).find((call) => call.id === id);

// pair leaves a call out of its answer where it stands above its result.
const pair = (form) => {
  const answered = new Set(turnsOf(form).map((turn) => part(turn, "turn-call").value).filter(Boolean));
  for (const card of form.querySelectorAll("[data-calls] [data-call]")) {
    card.hidden = answered.has(part(card, "call-id").textContent);
  }
};

// addTurn puts a turn at the end. Calls are those of an answer, call the id that a result is of.
export const addTurn = (form, role, { text = "", image = "", note = "", calls = [], call = "" } = {}) => {
  const turn = shape(`play-${role}`);
  part(turn, "turn-text").value = text;
  part(turn, "turn-note").value = note;
  if (role === "tool") {
    const made = callOf(form, call);
    part(turn, "turn-call").value = call;
    part(turn, "tool-said").textContent = made?.name ?? "";
    fill(part(turn, "call"), made);
  } else {
    part(turn, "turn-image").value = image;
    picture(part(turn, "turn-picture"), image);
    plain(turn, text);
  }
  if (role === "assistant") {
    setCalls(turn, calls);
    part(turn, "facts").textContent = note;
  }
  part(form, "empty")?.remove();
  part(form, "talk").append(turn);
  pair(form);
  return turn;
};

// setCalls shows the calls of an answer as cards.
export const setCalls = (turn, calls) => {
  part(turn, "turn-calls").value = calls.length > 0 ? JSON.stringify(calls) : "";
  part(turn, "calls").replaceChildren(
    ...calls.map((call) => {
      const card = shape("play-call");
      fill(card, call);
      return card;
    }),
  );
};

// bare shows the empty state again when the last turn has gone.
export const bare = (form) => {
  if (turnsOf(form).length === 0 && !part(form, "empty")) {
    part(form, "talk").append(shape("play-nothing"));
  }
  pair(form);
  changed();
};

// waits says whether a conversation ends with something that can be answered.
export const waits = (form) => ["user", "tool"].includes(turnsOf(form).at(-1)?.dataset.turn);

// copyTurns takes a conversation to another pane, up to a turn where one is named.
export const copyTurns = (from, to, last) => {
  const log = part(to, "talk");
  for (const turn of turnsOf(from)) {
    if (turn.dataset.state) {
      // The last answer is still running.
      break;
    }
    const copy = turn.cloneNode(true);
    part(copy, "turn-text").value = textOf(turn);
    part(copy, "editor")?.remove();
    part(to, "empty")?.remove();
    log.append(copy);
    if (turn === last) {
      break;
    }
  }
  log.scrollTop = log.scrollHeight;
};

// trim drops what follows the last message of the reader, which is then asked again.
export const trim = (form, from) => {
  let all = turnsOf(form);
  if (from) {
    all.slice(all.indexOf(from)).forEach((turn) => turn.remove());
    all = turnsOf(form);
  }
  while (all.length > 0 && all.at(-1).dataset.turn === "assistant") {
    all.pop().remove();
  }
  bare(form);
};

// edit opens a field in the place of a turn's text.
export const edit = (turn) => {
  if (part(turn, "editor")) {
    return;
  }
  const editor = shape("play-edit");
  const area = editor.querySelector("textarea");
  area.value = textOf(turn);
  part(turn, "text").hidden = true;
  part(turn, "text").after(editor);
  area.focus();
  area.setSelectionRange(area.value.length, area.value.length);
};

const closeEditor = (turn) => {
  part(turn, "editor").remove();
  part(turn, "text").hidden = false;
  part(turn, "edit").focus();
};

const save = (turn) => {
  const text = turn.querySelector("[data-editor] textarea").value;
  if (text !== textOf(turn)) {
    part(turn, "turn-text").value = text;
    plain(turn, text);
    if (turn.dataset.turn === "assistant") {
      part(turn, "turn-note").value = "Edited by you";
      part(turn, "facts").textContent = "Edited by you";
      delete turn.dataset.stats;
      delete turn.dataset.done;
    }
  }
  closeEditor(turn);
  changed();
};

const beside = { up: "previousElementSibling", down: "nextElementSibling" };

// move changes the order; the button that was pressed stays under the finger.
const move = (turn, way) => {
  const other = turn[beside[way]];
  if (!other?.matches("[data-turn]")) {
    return;
  }
  other[way === "up" ? "before" : "after"](turn);
  part(turn, way).focus();
  say(way === "up" ? "Moved up" : "Moved down");
  changed();
};

const remove = (turn) => {
  const form = turn.closest("[data-pane]");
  const next = turn.nextElementSibling ?? turn.previousElementSibling;
  turn.remove();
  bare(form);
  (next?.querySelector("[data-delete]") ?? part(form, "talk")).focus();
  say("Deleted");
};

const copy = async (turn, button) => {
  say((await write(textOf(turn), button)) ? "Copied as Markdown" : "Copying was refused by the browser.");
};

// act runs the button of a turn. It sends an event to the page when the action needs a call or another pane.
export const act = (button) => {
  const turn = button.closest("[data-turn]");
  const form = button.closest("[data-pane]");
  const tell = (kind, detail) => page().dispatchEvent(new CustomEvent(`play:${kind}`, { detail: { form, turn, ...detail } }));
  for (const way of ["up", "down"]) {
    if (button.hasAttribute(`data-${way}`)) {
      move(turn, way);
    }
  }
  const does = {
    edit: () => edit(turn), delete: () => remove(turn), "copy-turn": () => copy(turn, button), branch: () => tell("branch"),
    "editor-save": () => save(turn), "editor-cancel": () => closeEditor(turn), regenerate: () => tell("again", { from: turn }),
    "editor-send": () => {
      save(turn);
      tell("again", { after: turn });
    },
  };
  for (const [name, run] of Object.entries(does)) {
    if (button.hasAttribute(`data-${name}`)) {
      run();
    }
  }
};

// requestLine leads to the page of a request.
export const requestLine = (id) => {
  const line = shape("play-request");
  const link = part(line, "request-link");
  link.textContent = id;
  link.href = `/console/requests/${encodeURIComponent(id)}`;
  line.querySelector("[data-copy]").dataset.copy = id;
  return line;
};

// finish writes below an answer what it took.
export const finish = (turn, event) => {
  part(turn, "facts").replaceChildren(factList(event.facts), requestLine(event.request));
  turn.dataset.stats = JSON.stringify(event.stats ?? []);
  const { facts, stats, note, request } = event;
  turn.dataset.done = JSON.stringify({ facts, stats, note, request });
  part(turn, "turn-note").value = event.note;
};

// asJSON draws an answer that is to be JSON, where it is.
export const asJSON = (turn) => {
  const text = textOf(turn);
  if (!tidy(text)) {
    return;
  }
  const box = document.createElement("pre");
  box.className = "code-lines";
  box.tabIndex = 0;
  box.setAttribute("role", "group");
  box.setAttribute("aria-label", "Answer in JSON");
  showJSON(box, text);
  part(turn, "text").replaceChildren(box);
};
