// The panes: added, removed, chosen, branched; their models and styles; and what they share.
import { closest } from "./dom.js";
import { changed, composer, fetched, field, modelName, page, panes, part, settingsOf } from "./playdom.js";
import { look } from "./playinspect.js";
import { runs, stop } from "./playrun.js";
import { copySettings, isOwn } from "./playshare.js";
import { copyTurns } from "./playturns.js";
import { say, toast } from "./toasts.js";

const settingsPath = "/console/playground/settings";
const most = () => Number(page().dataset.most);
const couldNot = () => toast("danger", "The settings could not be loaded. Try again in a moment.");

// nameAll writes which pane each one is: by its model, with a number where several panes ask the same one.
const nameAll = (all) => {
  const shown = all.map((form) => part(form, "name"));
  for (const [i, form] of all.entries()) {
    const alike = shown.filter((one) => one.dataset.name === shown[i].dataset.name);
    shown[i].textContent = alike.length > 1 ? `${shown[i].dataset.name} (${alike.indexOf(shown[i]) + 1})` : shown[i].dataset.name;
    form.setAttribute("aria-label", all.length > 1 ? `Conversation ${i + 1}` : "Conversation");
    part(form, "stop-pane").setAttribute("aria-label", `Stop ${modelName(form)}`);
    form.querySelector(".pane-tools [popovertarget]").setAttribute("aria-label", `More for ${modelName(form)}`);
  }
};

// settle updates everything that depends on the number and the order of the panes.
export const settle = () => {
  const all = panes();
  nameAll(all);
  page().dataset.panes = String(all.length);
  part(page(), "add-pane").disabled = all.length >= most();
  for (const control of composer().querySelectorAll("[form]")) {
    control.setAttribute("form", all[0].id);
  }
  const chosen = all.map((form) => form.querySelector("[name=model]:checked")?.value).filter(Boolean);
  const sees = all.some((form) => form.querySelector("[data-part=model]").dataset.takesImage === "true");
  part(composer(), "image-part").hidden = !sees;
  const address = new URL(location.href);
  for (const name of ["model", "prompt", "version", "style", "run"]) {
    address.searchParams.delete(name);
  }
  chosen.forEach((id) => address.searchParams.append("model", id));
  history.replaceState(history.state, "", address);
  changed();
};

// keepNewer copies what the reader has entered since the request was sent into the settings that replace it.
const keepNewer = (old, next, sent) => {
  for (const control of old.querySelectorAll("[name]")) {
    const named = `[name="${CSS.escape(control.name)}"]`;
    if (control.value === sent.get(control.name)) {
      continue;
    }
    if (control.type === "radio") {
      const twin = control.checked && next.querySelector(`${named}[value="${CSS.escape(control.value)}"]`);
      if (twin) {
        twin.checked = true;
      }
      continue;
    }
    const twin = next.querySelector(named);
    if (twin && (!twin.options || [...twin.options].some((option) => option.value === control.value))) {
      twin.value = control.value;
    }
  }
};

// take puts fresh parts into a pane; what is open stays open, and the focus where it was.
const take = (form, fresh, sent) => {
  const id = form.contains(document.activeElement) ? document.activeElement.id : "";
  for (const name of ["model", "side"]) {
    const [old, next] = [form, fresh].map((one) => one.querySelector(`[data-part=${name}]`));
    const folds = [...old.querySelectorAll("details")].map((one) => one.open);
    const own = part(old, "own-settings")?.checked;
    keepNewer(old, next, sent);
    old.replaceWith(next);
    next.querySelectorAll("details").forEach((one, i) => {
      one.open ||= folds[i] ?? false;
    });
    if (own !== undefined) {
      part(next, "own-settings").checked = own;
    }
  }
  if (id) {
    document.getElementById(id)?.focus();
  }
};

// The newest request for the settings of each pane, by the pane's form.
const refreshing = new WeakMap();

// refresh draws a pane's settings again, for another model or style. A newer choice cancels the request of an older one, whose answer
// could arrive later.
export const refresh = async (form, data = settingsOf(form)) => {
  refreshing.get(form)?.abort();
  const newest = new AbortController();
  refreshing.set(form, newest);
  const sent = settingsOf(form);
  try {
    const fresh = (await fetched(settingsPath, data, newest.signal)).querySelector("[data-pane]");
    take(form, fresh, sent);
    settle();
    look(form);
    return fresh;
  } catch {
    if (!newest.signal.aborted) {
      couldNot();
    }
    return null;
  }
};

const free = () => {
  const numbers = panes().map((form) => form.dataset.number);
  return ["0", "1", "2", "3"].find((n) => !numbers.includes(n));
};

// True while the settings of a new pane are requested: a second pane at the same time would get the same number.
let adding = false;

// addPane opens a pane beside another, with its conversation and the shared settings. A branch keeps the settings of its origin.
export const addPane = async (from, { model, last = null }) => {
  const number = free();
  if (adding || number === undefined || panes().length >= most()) {
    return null;
  }
  adding = true;
  const data = settingsOf(from);
  data.set("pane", number);
  data.set("model", model);
  const keepsOwn = last !== null && isOwn(from);
  if (!keepsOwn) {
    data.delete("own_settings");
  }
  try {
    const form = (await fetched(settingsPath, data)).querySelector("[data-pane]");
    // A pane that was put away may have the same number.
    forget();
    from.after(form);
    for (const one of [from, form]) {
      // Panes beside each other have little room.
      part(one, "system").open = false;
    }
    copyTurns(from, form, last);
    const sharing = panes().find((one) => one !== form && !isOwn(one));
    if (!keepsOwn && sharing) {
      copySettings(sharing, form);
    }
    form.dispatchEvent(new CustomEvent("page:content", { bubbles: true }));
    settle();
    form.scrollIntoView({ block: "nearest", inline: "nearest" });
    form.querySelector(".model-button").focus();
    say(`Added ${modelName(form)}`);
    return form;
  } catch {
    couldNot();
    return null;
  } finally {
    adding = false;
  }
};

export const removePane = (form) => {
  if (panes().length < 2) {
    return;
  }
  runs.get(form)?.controller.abort();
  runs.delete(form);
  const next = form.nextElementSibling ?? form.previousElementSibling;
  form.remove();
  settle();
  next.querySelector(".model-button").focus();
  say("Removed");
};

// Panes that were put away are kept, with all they have, until the next message or pane.
const away = { before: [], after: [] };

// forget gives up the panes that are put away.
export const forget = () => {
  part(composer(), "picked").hidden = true;
  part(page(), "put-away").replaceChildren();
  away.before = [];
  away.after = [];
};

const named = new Intl.ListFormat("en", { type: "conjunction" });

// pick continues with one pane. The others are put away, and what they are still being answered is stopped.
export const pick = (form) => {
  const all = panes();
  if (all.length < 2) {
    return;
  }
  forget();
  const at = all.indexOf(form);
  away.before = all.slice(0, at);
  away.after = all.slice(at + 1);
  const others = [...away.before, ...away.after];
  const [kept, closed] = [modelName(form), named.format(others.map(modelName))];
  others.forEach(stop);
  part(page(), "put-away").append(...others);
  settle();
  const words = `Continuing with ${kept}. ${closed} ${others.length > 1 ? "are" : "is"} closed.`;
  part(composer(), "picked-words").textContent = words;
  part(composer(), "picked").hidden = false;
  field("prompt").focus();
  say(`${words} The button before the message reopens ${others.length > 1 ? "them" : "it"}.`);
};

// unpick brings back what pick has put away.
export const unpick = () => {
  const [form] = panes();
  const others = [...away.before, ...away.after];
  form.before(...away.before);
  form.after(...away.after);
  forget();
  for (const other of others) {
    part(other, "talk").scrollTop = part(other, "talk").scrollHeight;
  }
  settle();
  (form.querySelector("[data-winner]") ?? form.querySelector(".model-button")).focus();
  say(`${named.format(others.map(modelName))} ${others.length > 1 ? "are" : "is"} open again`);
};

// branch opens the conversation up to a turn in a pane of its own, or in a new tab when there is no room.
export const branch = async (form, turn) => {
  if (panes().length < most()) {
    await addPane(form, { model: form.querySelector("[name=model]:checked").value, last: turn });
    return;
  }
  const number = [...form.querySelectorAll("[data-turn]")].indexOf(turn);
  const word = Object.assign(document.createElement("input"), { type: "hidden", name: "do", value: `branch-${number}` });
  form.append(word);
  form.target = "_blank";
  form.submit();
  form.removeAttribute("target");
  word.remove();
};

document.addEventListener("change", (event) => {
  const form = closest(event, "[data-pane]");
  if (!form) {
    return;
  }
  if (event.target.name === "style") {
    refresh(form);
  } else if (event.target.name === "model") {
    form.dataset.stale = "true";
    if (!form.querySelector("[data-models]").matches(":popover-open")) {
      refresh(form);
    }
  }
});

// The list of models: the choice holds when the list is closed, so that the arrow keys may walk through it.
document.addEventListener(
  "toggle",
  (event) => {
    const list = event.target;
    if (!(list instanceof Element) || !list.matches("[data-models]")) {
      return;
    }
    const form = list.closest("[data-pane]");
    if (event.newState === "open") {
      (list.querySelector("[data-model-filter]") ?? list.querySelector(":checked"))?.focus();
      list.querySelector(":checked")?.scrollIntoView({ block: "nearest" });
    } else if (form?.dataset.stale) {
      delete form.dataset.stale;
      refresh(form);
    }
  },
  true,
);

document.addEventListener("click", (event) => {
  const row = closest(event, ".model-row > input");
  // Only a click of a pointer has a detail: the arrow keys cause clicks, too.
  if (row && event.detail > 0) {
    row.form.dataset.stale = "true";
    row.closest("[popover]").hidePopover();
  }
});

document.addEventListener("keydown", (event) => {
  const list = closest(event, "[data-models]");
  if (!list) {
    return;
  }
  if (event.key === "Enter") {
    event.preventDefault();
    event.stopPropagation();
    const first = list.querySelector(".model-row:not([hidden]) input");
    if (event.target.matches("[data-model-filter]") && first && event.target.value) {
      first.checked = true;
      list.closest("[data-pane]").dataset.stale = "true";
    }
    list.hidePopover();
  } else if (event.key === "ArrowDown" && event.target.matches("[data-model-filter]")) {
    event.preventDefault();
    event.stopPropagation();
    (list.querySelector(".model-row:not([hidden]) :checked") ?? list.querySelector(".model-row:not([hidden]) input"))?.focus();
  }
}, true);
