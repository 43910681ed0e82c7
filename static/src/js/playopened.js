// The saved prompt that a pane was opened with: whether what the pane says is still what that version says.
import { page, panes, part, valuesOf } from "./playdom.js";

const restMilliseconds = 250;
// These fields are not part of a prompt.
const passing = ["pane", "turn_note", "stream"];
// The values of each pane when it was drawn.
const began = new WeakMap();

const words = (form) => JSON.stringify([...valuesOf(form)].filter(([name]) => !passing.includes(name)));

const look = () => {
  for (const form of panes()) {
    const note = part(form, "opened-changed");
    if (note && began.has(form)) {
      note.hidden = words(form) === began.get(form);
    }
  }
};

let rest = 0;
const lookSoon = () => {
  clearTimeout(rest);
  rest = setTimeout(look, restMilliseconds);
};

if (page()) {
  for (const form of panes()) {
    if (part(form, "opened-changed")?.hidden) {
      began.set(form, words(form));
    }
  }
  for (const kind of ["input", "change", "play:changed"]) {
    page().addEventListener(kind, lookSoon);
  }
}
