// Variables: every {{name}} in the texts gets a field, which the texts are sent filled with.
import { composer, page, panes, part, shape } from "./playdom.js";

const restMilliseconds = 150;
const variables = /\{\{([A-Za-z][A-Za-z0-9_]{0,39})\}\}/g;
let timer = 0;

const texts = () => [
  ...panes().flatMap((form) => [form.elements.system?.value ?? "", ...[...form.querySelectorAll("[data-turn-text]")].map((one) => one.value)]),
  composer().querySelector("[name=prompt]").value,
];

// find draws a field for each name and drops those that no text has any more; values that were written stay for a return.
const written = new Map();
const find = () => {
  const names = new Set(texts().flatMap((text) => [...text.matchAll(variables)].map(([, name]) => name)));
  const place = part(composer(), "vars");
  for (const one of place.querySelectorAll("[data-var]")) {
    written.set(one.dataset.var, one.querySelector("input").value);
    if (!names.delete(one.dataset.var)) {
      one.remove();
    }
  }
  for (const name of names) {
    const line = shape("play-variable");
    line.dataset.var = name;
    line.querySelector("code").textContent = name;
    const input = line.querySelector("input");
    input.name = `var_${name}`;
    input.value = written.get(name) ?? "";
    input.setAttribute("form", panes()[0].id);
    place.append(line);
  }
  place.hidden = !place.firstElementChild;
};

// give puts in values that come from a file.
export const give = (values) => {
  for (const [name, value] of values) {
    written.set(name, value);
    const input = composer().querySelector(`[data-var="${CSS.escape(name)}"] input`);
    if (input) {
      input.value = value;
    }
  }
};

const soon = () => {
  clearTimeout(timer);
  timer = setTimeout(find, restMilliseconds);
};

if (page() && composer()) {
  for (const kind of ["input", "play:changed"]) {
    page().addEventListener(kind, soon);
  }
}
