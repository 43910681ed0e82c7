// The rows of the log: a whole row opens its request in a drawer beside the list, and keys walk through the rows. The drawer's address is
// that of the request's own page. The browser's back button closes the drawer. Where the window is narrow, a row opens the page.
import { closest, fetchPart, onContent } from "./dom.js";

const wide = matchMedia("(min-width: 64rem)");
const drawer = () => document.getElementById("log-drawer");
const rows = () => [...document.querySelectorAll("#requests tr[data-row]")];
const linkOf = (row) => row?.querySelector("a.row-link, td:first-child > a");
const sameAddress = (href) => new URL(href, location.href).href === location.href;

// The list's own address and title while the drawer is open, and the element that had the focus before.
let list = null;
let loading = null;
// The address of the list for a moment after the drawer closed.
let kept = "";

const mark = (row) => {
  for (const other of document.querySelectorAll("tr[data-row][aria-current]")) {
    other.removeAttribute("aria-current");
  }
  row?.setAttribute("aria-current", "true");
};

const setLink = (element, name, href) => {
  const link = element.querySelector(`[data-drawer=${name}]`);
  link.hidden = !href;
  if (href) {
    link.href = href;
  }
};

const fill = (element, html, href) => {
  const part = new DOMParser().parseFromString(html, "text/html").getElementById("request-detail");
  if (!part) {
    location.assign(href);
    return;
  }
  const body = element.querySelector("[data-drawer-body]");
  body.replaceChildren(part);
  body.scrollTop = 0;
  body.removeAttribute("aria-busy");
  document.title = part.dataset.title;
  setLink(element, "newer", part.dataset.newer);
  setLink(element, "older", part.dataset.older);
  setLink(element, "page", href);
  part.dispatchEvent(new CustomEvent("page:content", { bubbles: true }));
  document.dispatchEvent(new CustomEvent("live:content"));
};

// show loads a request into the drawer. The history gets one entry for the drawer, however many requests it shows.
const show = async (href, enter = true) => {
  const element = drawer();
  if (!element) {
    return;
  }
  if (!list) {
    list = { href: location.href, title: document.title, focus: document.activeElement };
    if (enter) {
      history.pushState({ drawer: href }, "", href);
    }
    element.hidden = false;
    element.focus({ preventScroll: true });
  } else if (enter) {
    history.replaceState({ drawer: href }, "", href);
  }
  mark(rows().find((row) => linkOf(row)?.href === new URL(href, location.href).href));
  loading?.abort();
  loading = new AbortController();
  const { signal } = loading;
  element.querySelector("[data-drawer-body]").setAttribute("aria-busy", "true");
  try {
    const html = await fetchPart(href, signal);
    if (!signal.aborted) {
      fill(element, html, href);
    }
  } catch {
    if (!signal.aborted) {
      location.assign(href);
    }
  }
};

const hide = () => {
  const element = drawer();
  loading?.abort();
  document.title = list.title;
  kept = location.pathname + location.search;
  setTimeout(() => (kept = ""), 100);
  const focus = linkOf(document.querySelector("tr[data-row][aria-current]")) ?? list.focus;
  list = null;
  element.hidden = true;
  element.querySelector("[data-drawer-body]").replaceChildren();
  focus?.focus?.({ preventScroll: true });
};

// close goes back to the list's entry of the history, which hides the drawer.
const close = () => {
  if (list) {
    history.back();
  }
};

const open = (row) => {
  const link = linkOf(row);
  if (!link) {
    return;
  }
  mark(row);
  if (wide.matches && drawer()) {
    show(link.href);
  } else {
    location.assign(link.href);
  }
};

addEventListener("popstate", (event) => {
  if (list && sameAddress(list.href)) {
    hide();
  } else if (event.state?.drawer && drawer()) {
    show(event.state.drawer, false);
  }
});

// The list is still there when the drawer closes, so it is not fetched again.
document.addEventListener("htmx:before:history:restore", (event) => {
  if (kept === event.detail.path) {
    event.preventDefault();
  }
  kept = "";
});

// A click on a row is one on its link, unless it is meant for something in the row or ends a selection of text.
const rowOf = (event) => {
  const row = closest(event, "tr[data-row]");
  return row && !closest(event, "a, button, input, label, select") && getSelection().isCollapsed ? row : null;
};

document.addEventListener("click", (event) => {
  const control = closest(event, "[data-drawer]");
  if (control) {
    if (control.dataset.drawer === "close") {
      close();
    } else if (control.dataset.drawer !== "page" && !event.ctrlKey && !event.metaKey && !event.shiftKey) {
      event.preventDefault();
      show(control.href);
    }
    return;
  }
  const link = closest(event, "tr[data-row] a");
  const row = link ? link.closest("tr") : rowOf(event);
  if (!row || (link && link !== linkOf(row)) || event.defaultPrevented || event.button !== 0) {
    return;
  }
  if (event.ctrlKey || event.metaKey || event.shiftKey) {
    if (!link) {
      window.open(linkOf(row).href, "_blank", "noopener");
    }
    return;
  }
  if (link && !wide.matches) {
    return;
  }
  event.preventDefault();
  open(row);
});

document.addEventListener("auxclick", (event) => {
  const row = event.button === 1 ? rowOf(event) : null;
  if (row) {
    event.preventDefault();
    window.open(linkOf(row).href, "_blank", "noopener");
  }
});

const step = (by) => {
  const all = rows();
  const at = all.findIndex((row) => row.hasAttribute("aria-current"));
  const next = all[at < 0 ? (by > 0 ? 0 : all.length - 1) : Math.min(Math.max(at + by, 0), all.length - 1)];
  if (!next) {
    return;
  }
  mark(next);
  next.scrollIntoView({ block: "nearest" });
  if (list) {
    show(linkOf(next).href);
  } else {
    linkOf(next).focus({ preventScroll: true });
  }
};

// near follows the links of a request's own page to its neighbours.
const near = (which) => document.querySelector(`[data-near=${which}]`)?.click();

const keys = {
  j: () => (rows().length > 0 ? step(1) : near("older")),
  k: () => (rows().length > 0 ? step(-1) : near("newer")),
  o: () => open(document.querySelector("tr[data-row][aria-current]")),
  x: close,
};

document.addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) {
    return;
  }
  if (event.key === "Escape" && list && !closest(event, "details[open]")) {
    close();
    return;
  }
  const typing = closest(event, "input, textarea, select, [contenteditable]");
  if (!typing && Object.hasOwn(keys, event.key) && !document.documentElement.hasAttribute("data-keys-off")) {
    keys[event.key]();
  }
});

// A menu of the page closes by a click beside it and by Escape.
const menus = "details.drop[open], details.log-more[open]";
document.addEventListener("click", (event) => {
  for (const menu of document.querySelectorAll(menus)) {
    if (event.target instanceof Node && event.target.isConnected && !menu.contains(event.target)) {
      menu.open = false;
    }
  }
});
document.addEventListener("keydown", (event) => {
  const menu = event.key === "Escape" ? closest(event, menus) : null;
  if (menu) {
    menu.open = false;
    menu.querySelector("summary").focus();
  }
});

// The row of the drawer's request keeps its mark when new rows come.
onContent(() => {
  if (list && !document.querySelector("tr[data-row][aria-current]")) {
    mark(rows().find((row) => linkOf(row)?.href === location.href));
  }
});
