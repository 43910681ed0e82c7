// The lists of models: the one of each pane, and the one from which a person chooses the model of a new pane.
import { closest } from "./dom.js";
import { panes, part } from "./playdom.js";
import { addPane } from "./playpanes.js";

const lists = "[data-models], [data-add-models]";
const buttons = (list) => [...list.querySelectorAll(".model-row:not([hidden]) [data-add-model]:enabled")];

document.addEventListener("input", (event) => {
  const filter = closest(event, "[data-model-filter]");
  if (!filter) {
    return;
  }
  const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
  const list = filter.closest(lists);
  let found = 0;
  for (const row of list.querySelectorAll(".model-row")) {
    row.hidden = !words.every((word) => row.dataset.words.includes(word));
    found += row.hidden ? 0 : 1;
  }
  part(list, "model-none").hidden = found > 0;
});

document.addEventListener(
  "toggle",
  (event) => {
    if (event.newState === "open" && event.target instanceof Element && event.target.matches("[data-add-models]")) {
      (part(event.target, "model-filter") ?? buttons(event.target)[0])?.focus();
    }
  },
  true,
);

document.addEventListener("click", (event) => {
  const button = closest(event, "[data-add-model]");
  if (button) {
    button.closest("[popover]").hidePopover();
    addPane(panes().at(-1), { model: button.dataset.addModel });
  }
});

// Up and down walk through the list, and Enter in the filter takes the first model that is left.
document.addEventListener("keydown", (event) => {
  const list = closest(event, "[data-add-models]");
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!list || (!step && !(event.key === "Enter" && event.target.matches("[data-model-filter]")))) {
    return;
  }
  event.preventDefault();
  event.stopPropagation();
  const all = buttons(list);
  if (!step) {
    all[0]?.click();
    return;
  }
  const at = all.indexOf(document.activeElement);
  if (at + step < 0) {
    (part(list, "model-filter") ?? all[0]).focus();
  } else {
    all[Math.min(at + step, all.length - 1)]?.focus();
  }
}, true);
