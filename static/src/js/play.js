// The playground: one composer, one to four panes. Each module does a part; this one connects them to the page.
import { closest } from "./dom.js";
import "./estimate.js";
import "./playadd.js";
import "./playcompare.js";
import "./playhistory.js";
import { changed, composer, field, page, panes, part, turnsOf } from "./playdom.js";
import { load, save } from "./playfile.js";
import { inspect } from "./playinspect.js";
import { branch, forget, pick, removePane, settle, unpick } from "./playpanes.js";
import { clearTrouble, giveImage, newRun, runs, start, stop } from "./playrun.js";
import { toEnd } from "./playstream.js";
import "./playopened.js";
import "./playshare.js";
import "./playtools.js";
import { act, addTurn, bare, trim, waits } from "./playturns.js";
import "./playvars.js";
import { say } from "./toasts.js";

const message = () => ({
  prompt: field("prompt").value, image: field("image").value || (part(composer(), "image-part").hidden ? "" : field("image_url").value.trim()),
});
const written = ({ prompt, image }) => Boolean(prompt.trim() || image);

const emptyComposer = () => {
  field("prompt").value = "";
  giveImage("");
  changed();
};

// send asks every pane the message; without one it asks those whose conversation waits for an answer.
const send = () => {
  if (runs.size > 0) {
    return;
  }
  const said = message();
  const asked = written(said) ? panes() : panes().filter(waits);
  if (asked.length === 0) {
    field("prompt").focus();
    return;
  }
  forget();
  const run = newRun();
  for (const form of asked) {
    start(form, written(said) ? said : undefined, run);
  }
  emptyComposer();
};

// keep puts the message into the conversations without asking.
const keep = (role) => {
  const said = message();
  if (!written(said)) {
    field("prompt").focus();
    return;
  }
  for (const form of panes()) {
    toEnd(part(addTurn(form, role, { text: said.prompt, image: role === "user" ? said.image : "" }).closest("[data-pane]"), "talk"), true);
  }
  emptyComposer();
  field("prompt").focus();
  say("Added");
};

const clear = (form) => {
  stop(form);
  turnsOf(form).forEach((turn) => turn.remove());
  clearTrouble(form);
  bare(form);
  field("prompt").focus();
};

// own gives the composer to a pane whose form the browser itself is about to send.
const own = (form) => {
  for (const control of composer().querySelectorAll("[form]")) {
    control.setAttribute("form", form.id);
  }
};

document.addEventListener("click", (event) => closest(event, "[data-save]") && own(closest(event, "[data-pane]")), true);

document.addEventListener("submit", (event) => {
  const { target: form, submitter } = event;
  if (!form.matches("[data-pane]") || (submitter?.hasAttribute("formaction") && !submitter.hasAttribute("data-view-code"))) {
    return;
  }
  event.preventDefault();
  const what = submitter?.name === "do" ? submitter.value : "send";
  if (submitter?.hasAttribute("data-view-code")) {
    inspect(form, true, "code");
  } else if (what === "clear") {
    clear(form);
  } else if (what === "add-user" || what === "add-assistant") {
    keep(what.slice(4));
  } else if (submitter?.closest("[data-turn]") && !submitter.closest(".result-send")) {
    act(submitter);
  } else if (submitter?.closest(".result-send")) {
    start(form);
  } else {
    send();
  }
}, true); // This listener runs before the one that marks forms as sent.

// again asks for another answer: from a turn on, or after one.
const again = ({ form, from, after }) => {
  if (runs.has(form)) {
    return;
  }
  trim(form, from ?? after?.nextElementSibling);
  if (waits(form)) {
    start(form);
  }
};

const buttons = {
  "[data-stop]": () => [...runs.keys()].forEach(stop),
  "[data-stop-pane]": (button) => stop(button.closest("[data-pane]")),
  "[data-remove-pane]": (button) => removePane(button.closest("[data-pane]")),
  "[data-pick], [data-winner]": (button) => pick(button.closest("[data-pane]")),
  "[data-unpick]": unpick,
  "[data-inspect]": (button) => inspect(button.closest("[data-pane]")),
  "[data-export]": (button) => save(button.closest("[data-pane]")),
  "[data-import]": (button) => load(button.closest("[data-pane]")),
  "[data-retry]": (button) => start(button.closest("[data-pane]")),
  "[data-latest]": (button) => toEnd(part(button.closest("[data-pane]"), "talk"), true),
  "[data-copy-turn], [data-editor-save], [data-editor-send], [data-editor-cancel]": act,
  "[data-toggle-side]"(button) {
    const form = button.closest("[data-pane]");
    const want = form.dataset.side !== "open";
    form.dataset.side = want ? "open" : "";
    button.setAttribute("aria-expanded", String(want));
    if (want) {
      form.querySelector("[data-part=side] input, [data-part=side] select").focus();
    }
  },
};

document.addEventListener("click", (event) => {
  for (const [selector, run] of Object.entries(buttons)) {
    const button = closest(event, `[data-play] :is(${selector})`);
    if (button) {
      run(button);
      return;
    }
  }
});

document.addEventListener("keydown", (event) => {
  if (!page() || document.querySelector("dialog[open], :popover-open")) {
    return;
  }
  const inEditor = closest(event, "[data-editor]");
  const chord = event.key === "Enter" && (event.ctrlKey || event.metaKey);
  if (inEditor && (event.key === "Escape" || chord)) {
    event.preventDefault();
    part(inEditor, chord ? "editor-save" : "editor-cancel").click();
  } else if (event.key === "Escape" && closest(event, "[data-side=open] .pane-side")) {
    event.preventDefault();
    part(closest(event, "[data-pane]"), "toggle-side").click();
    part(closest(event, "[data-pane]"), "toggle-side").focus();
  } else if (event.key === "Escape" && runs.size > 0) {
    event.preventDefault();
    [...runs.keys()].forEach(stop);
    say("Stopped.");
  } else if (chord && closest(event, "[data-play]")) {
    event.preventDefault();
    send();
  }
});

// A page that is left ends what it had asked for, as the connection goes with it.
addEventListener("pagehide", () => [...runs.keys()].forEach(stop));

const answered = (form) => !runs.has(form) && turnsOf(form).at(-1)?.dataset.turn === "assistant";

// name says on the button what pressing it does now, and lets a winner be named when there are answers to choose from.
const name = () => {
  const all = panes();
  for (const form of all) {
    form.dataset.answered = String(answered(form));
  }
  page().dataset.choice = String(all.filter(answered).length > 1);
  const results = !written(message()) && all.some((form) => turnsOf(form).at(-1)?.dataset.turn === "tool");
  part(composer(), "send-word").textContent = results ? "Send results" : all.length > 1 ? `Send to ${all.length}` : "Send";
};

if (page() && composer()) {
  page().addEventListener("play:again", (event) => again(event.detail));
  page().addEventListener("play:branch", (event) => branch(event.detail.form, event.detail.turn));
  page().addEventListener("play:changed", name);
  page().addEventListener("input", name);
  for (const form of panes()) {
    toEnd(part(form, "talk"), true);
  }
  if (panes().length > 1) {
    settle();
  }
  name();
  changed();
}
