// What is the same in all panes: a setting that is written in one is copied to the others, unless a pane has settings of its own.
import { changed, modelName, page, panes, part } from "./playdom.js";
import { say } from "./toasts.js";

const fixed = ["system", "tools", "tool_choice", "format", "schema_name", "schema"];
const isShared = (name) => fixed.includes(name) || name.startsWith("param.");
const several = () => panes().length > 1;

// isOwn reports whether a pane has settings of its own.
export const isOwn = (form) => several() && Boolean(part(form, "own-settings")?.checked);

const controls = (form) => [...form.elements].filter((control) => control.name && isShared(control.name));

const options = (control) => [...control.options];

// put gives a control the value of its twin in another pane. An option is found whatever its case, since API styles differ in it.
const put = (twin, control) => {
  if (twin.type === "radio") {
    twin.checked = twin.value === control.value;
  } else if (twin.options) {
    const found = options(twin).find((option) => option.value.toLowerCase() === control.value.toLowerCase());
    twin.value = found ? found.value : twin.value;
  } else {
    twin.value = control.value;
  }
};

const copy = (control, other) => {
  if (control.type === "radio" && !control.checked) {
    return;
  }
  for (const twin of other.querySelectorAll(`[name="${CSS.escape(control.name)}"]`)) {
    put(twin, control);
  }
};

// copySettings gives a pane the settings of another one.
export const copySettings = (from, to) => controls(from).forEach((control) => copy(control, to));

// sharing returns a pane other than this one that has the shared settings.
const sharing = (form) => panes().find((one) => one !== form && !isOwn(one));

const spread = (control) => {
  const form = control.closest?.("[data-pane]");
  if (!form || !control.name || !isShared(control.name) || !several() || isOwn(form)) {
    return;
  }
  for (const other of panes().filter((one) => one !== form && !isOwn(one))) {
    copy(control, other);
  }
};

const valueOf = (form, name) => {
  const found = form.elements[name];
  return found instanceof RadioNodeList || !found ? (found?.value ?? "") : found.value;
};

const label = (name) => {
  if (name.startsWith("param.")) {
    const control = page().querySelector(`[name="${CSS.escape(name)}"]`);
    return control?.closest("[data-param]")?.dataset.param.split(".").at(-1) ?? name.slice(6);
  }
  return { system: "system prompt", tool_choice: "tool choice", format: "answer format", schema_name: "schema name" }[name] ?? name;
};

// differences names the settings of a pane that differ from the shared ones. A setting that only one of the models has is none.
const differences = (form, other) => {
  const names = new Set(controls(form).map((control) => control.name));
  return [...names].filter((name) => other.elements[name] && valueOf(form, name).toLowerCase() !== valueOf(other, name).toLowerCase()).map(label);
};

const namesShown = 3;
const listed = (names) => {
  const rest = names.length - namesShown;
  return rest > 0 ? `${names.slice(0, namesShown).join(", ")} and ${rest} more` : names.join(", ");
};

// mark says in the head of each pane whether its settings are its own, and in what they differ.
const mark = () => {
  for (const form of panes()) {
    const badge = part(form, "own-badge");
    badge.hidden = !isOwn(form);
    if (badge.hidden) {
      continue;
    }
    const other = sharing(form);
    const names = other ? differences(form, other) : [];
    part(badge, "use-shared").hidden = !other;
    part(badge, "own-words").textContent = names.length > 0 ? `Different: ${listed(names)}` : "No difference yet";
  }
};

// share ends the own settings of a pane.
const share = (form) => {
  part(form, "own-settings").checked = false;
  const other = sharing(form);
  if (other) {
    copySettings(other, form);
  }
  say(`${modelName(form)} uses the shared settings`);
  changed();
};

document.addEventListener("input", (event) => {
  if (event.target.name && page()) {
    spread(event.target);
    mark();
  }
});

document.addEventListener("change", (event) => {
  const form = event.target.closest?.("[data-pane]");
  if (!form) {
    return;
  }
  spread(event.target);
  if (event.target.matches("[data-own-settings]")) {
    if (event.target.checked) {
      say(`${modelName(form)} has its own settings`);
      changed();
    } else {
      share(form);
    }
  }
  mark();
});

document.addEventListener("click", (event) => {
  const button = event.target.closest?.("[data-use-shared]");
  if (button) {
    const form = button.closest("[data-pane]");
    share(form);
    form.querySelector(".model-button").focus();
  }
});

if (page()) {
  page().addEventListener("play:changed", mark);
}
