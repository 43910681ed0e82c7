// Keys that work alone: one that leads to a field, which names it in data-shortcut, and those of the whole console. They
// are left alone while the reader types, in dialogs, and where the reader switched them off.
import { changeTheme } from "./theme.js";

const jumpMilliseconds = 1500;
// The time at which g was pressed.
let jumping = 0;

const typing = (event) =>
  event.isComposing || event.target.closest?.("input, textarea, select, [contenteditable], [role=tab]") || document.querySelector("dialog[open]");

const toField = (key) => {
  const field = document.querySelector(`[data-shortcut="${CSS.escape(key)}"]`);
  field?.focus();
  field?.select?.();
  return field;
};

// follow clicks a link of the page, which may open it in the dialog.
const follow = (selector) => {
  const link = document.querySelector(selector);
  link?.click();
  return link;
};

// newKey opens the form here where the page offers it, and goes there for who may make keys.
const newKey = () => {
  const path = "/console/keys/new";
  const may = follow(`#main a[href="${path}"]`) ?? document.querySelector(".sidebar [data-jump=k]");
  if (may && may.getAttribute("href") !== path) {
    location.assign(path);
  }
  return may;
};

const keys = { "?": () => follow("[data-shortcuts]"), t: changeTheme, c: newKey };

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || typing(event) || document.documentElement.hasAttribute("data-keys-off")) {
    return;
  }
  const jump = event.timeStamp - jumping < jumpMilliseconds && jumping > 0;
  jumping = event.key === "g" && !jump ? event.timeStamp : 0;
  const done = jump
    ? follow(`.sidebar [data-jump="${CSS.escape(event.key)}"]`)
    : (toField(event.key) ?? (Object.hasOwn(keys, event.key) && !event.repeat ? keys[event.key]() : null));
  if (done) {
    event.preventDefault();
  }
});
