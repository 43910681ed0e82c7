// Tabs by the ARIA pattern. Sets that share data-tabs show the same choice, and the choice is remembered by its name.
import { closest, remember } from "./dom.js";

document.addEventListener("click", (event) => {
  const tab = closest(event, '[role="tab"]');
  if (tab) {
    choose(tab);
  }
});

document.addEventListener("keydown", (event) => {
  const tab = closest(event, '[role="tab"]');
  if (!tab) {
    return;
  }
  const tabs = [...tab.closest('[role="tablist"]').querySelectorAll('[role="tab"]')];
  const forward = getComputedStyle(tab).direction === "rtl" ? "ArrowLeft" : "ArrowRight";
  const backward = forward === "ArrowRight" ? "ArrowLeft" : "ArrowRight";
  const at = tabs.indexOf(tab);
  const next = { [forward]: at + 1, [backward]: at - 1, Home: 0, End: tabs.length - 1 }[event.key];
  if (next === undefined) {
    return;
  }
  event.preventDefault();
  const target = tabs[(next + tabs.length) % tabs.length];
  // A click also runs the handlers that wait for a press of the tab.
  target.click();
  target.focus();
});

// On a telephone a row of tabs is wider than the page: the one that is shown comes into view.
for (const tab of document.querySelectorAll(".page-tabs > [aria-current]")) {
  tab.parentElement.scrollLeft = tab.offsetLeft - tab.parentElement.offsetLeft - 48;
}

const choose = (tab) => {
  const list = tab.closest('[role="tablist"]');
  const { tabs: group } = list.dataset;
  const lists = group ? document.querySelectorAll(`[role="tablist"][data-tabs="${CSS.escape(group)}"]`) : [list];
  for (const each of lists) {
    select(each, tab.dataset.tab);
  }
  if (group) {
    remember(`umg_${group}`, tab.dataset.tab);
  }
};

const select = (list, name) => {
  const tabs = [...list.querySelectorAll('[role="tab"]')];
  if (!tabs.some((tab) => tab.dataset.tab === name)) {
    return;
  }
  for (const tab of tabs) {
    const on = tab.dataset.tab === name;
    tab.setAttribute("aria-selected", String(on));
    tab.tabIndex = on ? 0 : -1;
    for (const id of [tab.getAttribute("aria-controls"), tab.dataset.tabAlso]) {
      const panel = id && document.getElementById(id);
      if (panel) {
        panel.hidden = !on;
      }
    }
  }
};
