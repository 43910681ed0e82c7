// The palette: Ctrl+K or its button opens it, the server says what fits, and the arrows choose. It is a combobox whose
// list follows the text; the focus stays in the field.
import { closest, fetchPart } from "./dom.js";
import { changeTheme } from "./theme.js";
import { say } from "./toasts.js";

const restMilliseconds = 120;
const waitMilliseconds = 8000;
const keptMax = 30;

const dialog = document.getElementById("palette");
const field = document.getElementById("palette-q");
const results = dialog?.querySelector(".palette-results");
// Answers by question, for as long as the dialog is open.
const kept = new Map();
let asking = null;
let timer = 0;
// True when Enter was pressed before the answer to the newest question arrived.
let pressed = false;

const options = () => [...results.querySelectorAll('[role="option"]')];
const chosen = () => results.querySelector('[aria-selected="true"]');

const choose = (option) => {
  chosen()?.setAttribute("aria-selected", "false");
  option?.setAttribute("aria-selected", "true");
  option?.scrollIntoView({ block: "nearest" });
  if (option) {
    field.setAttribute("aria-activedescendant", option.id);
  } else {
    field.removeAttribute("aria-activedescendant");
  }
};

const show = (html) => {
  results.replaceChildren(...new DOMParser().parseFromString(html, "text/html").body.childNodes);
  results.removeAttribute("aria-busy");
  results.scrollTop = 0;
  const all = options();
  field.setAttribute("aria-expanded", String(all.length > 0));
  choose(all[0]);
  if (pressed && all.length > 0) {
    run(all[0], false);
    return;
  }
  say(results.querySelector("[data-count]")?.dataset.count ?? "");
};

// ask fetches what fits the text. An answer that is not to the newest question is dropped.
const ask = async () => {
  const query = field.value.trim();
  asking?.abort();
  if (kept.has(query)) {
    show(kept.get(query));
    return;
  }
  const mine = new AbortController();
  asking = mine;
  results.setAttribute("aria-busy", "true");
  try {
    const signal = AbortSignal.any([mine.signal, AbortSignal.timeout(waitMilliseconds)]);
    const html = await fetchPart(`/console/search?q=${encodeURIComponent(query)}`, signal);
    if (kept.size < keptMax) {
      kept.set(query, html);
    }
    if (asking === mine) {
      show(html);
    }
  } catch {
    if (asking === mine && !mine.signal.aborted) {
      show('<p class="palette-note" data-count="Search is not available">Search is not available right now. Try again in a moment.</p>');
    }
  }
};

const open = () => {
  kept.clear();
  field.value = "";
  pressed = false;
  dialog.showModal();
  field.focus();
  ask();
};

const acts = {
  theme: () => changeTheme(),
  shortcuts: () => document.querySelector("[data-shortcuts]")?.click(),
  "sign-out": () => document.querySelector('form[action="/console/sign-out"]')?.requestSubmit(),
};

// run follows the link of an option or does its action. With a modifier key the browser opens a link in a new tab.
const run = (option, beside) => {
  const { do: act } = option.dataset;
  if (beside && option.href) {
    window.open(option.href, "_blank", "noopener");
    return;
  }
  dialog.close();
  if (act) {
    acts[act]?.();
  } else {
    location.assign(option.href);
  }
};

const onKey = (event) => {
  const all = options();
  const at = all.indexOf(chosen());
  const next = { ArrowDown: at + 1, ArrowUp: at - 1 }[event.key];
  if (next !== undefined && all.length > 0) {
    event.preventDefault();
    choose(all[(next + all.length) % all.length]);
  } else if (event.key === "Enter" && !event.isComposing) {
    event.preventDefault();
    // What was typed last may still be on its way: Enter means the answer to it, not the one before.
    pressed = results.hasAttribute("aria-busy");
    if (chosen() && !pressed) {
      run(chosen(), event.ctrlKey || event.metaKey);
    }
  }
};

if (dialog) {
  field.addEventListener("input", () => {
    pressed = false;
    // The running question is about an older text, so its answer is not needed.
    asking?.abort();
    asking = null;
    clearTimeout(timer);
    results.setAttribute("aria-busy", "true");
    timer = setTimeout(ask, restMilliseconds);
  });
  field.addEventListener("keydown", onKey);
  results.addEventListener("pointermove", (event) => {
    const option = closest(event, '[role="option"]');
    if (option && option !== chosen()) {
      choose(option);
    }
  });
  results.addEventListener("click", (event) => {
    const option = closest(event, '[role="option"]');
    if (option && !event.ctrlKey && !event.metaKey && !event.shiftKey) {
      event.preventDefault();
      run(option, false);
    }
  });
  dialog.addEventListener("close", () => {
    asking?.abort();
    clearTimeout(timer);
  });
  document.addEventListener("click", (event) => {
    if (closest(event, "[data-palette]") && !event.ctrlKey && !event.metaKey && !event.shiftKey) {
      event.preventDefault();
      open();
    }
  });
  document.addEventListener("keydown", (event) => {
    if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey) {
      return;
    }
    if (dialog.open) {
      event.preventDefault();
      dialog.close();
    } else if (!document.querySelector("dialog[open]")) {
      event.preventDefault();
      open();
    }
  });
}
