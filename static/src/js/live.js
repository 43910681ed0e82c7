// Parts of pages that the server keeps up to date while the page is visible. An element says where from (data-live), into what
// (data-live-into), how (data-live-how: replace, prepend or append) and how many rows stay (data-live-max). A page may hold
// an event back: "live:event" can be prevented, and its fragment be put in later with put().
import htmx from "htmx.org/dist/htmx.esm.js";
import { onContent } from "./dom.js";

// The page opens a refused connection again after this time. A connection that broke is opened again by the browser.
const againMilliseconds = 30_000;
// Maps an element to its connection.
const open = new Map();
// Maps an element to the id of its last event.
const seen = new WeakMap();

const parse = (html) => {
  const template = document.createElement("template");
  template.innerHTML = html;
  return template.content;
};

const words = (node) => node.textContent.replaceAll(/\s+/g, " ").trim();

// put draws a fragment where the element says. A row that is there already stays as it is.
export const put = (element, fragment) => {
  const into = document.querySelector(element.dataset.liveInto);
  if (!into) {
    return 0;
  }
  const how = element.dataset.liveHow;
  if (how !== "prepend" && how !== "append") {
    if (words(into) === words(fragment)) {
      // An unchanged fragment is dropped, or a screen reader would read it out again.
      return 0;
    }
    // A row must not move while the reader works in the list.
    if (into.contains(document.activeElement)) {
      into.addEventListener("focusout", () => setTimeout(() => put(element, fragment)), { once: true });
      return 0;
    }
    into.replaceChildren(fragment);
  } else {
    for (const row of [...fragment.children]) {
      if (row.id && document.getElementById(row.id)) {
        row.remove();
      }
    }
  }
  const rows = [...fragment.children];
  into[how === "append" ? "append" : "prepend"](...rows);
  const most = Number(element.dataset.liveMax) || Infinity;
  while (into.children.length > most) {
    (how === "append" ? into.firstElementChild : into.lastElementChild).remove();
  }
  htmx.process(into);
  document.dispatchEvent(new CustomEvent("live:content"));
  return rows.length;
};

// ended asks once why a connection was refused. A page in the place of the stream is the sign-in page.
const ended = async (url) => {
  try {
    const answer = await fetch(url, { method: "HEAD", redirect: "manual", cache: "no-store", headers: { Accept: "text/event-stream" } });
    const page = answer.ok && !(answer.headers.get("Content-Type") ?? "").startsWith("text/event-stream");
    return page || answer.type === "opaqueredirect" || answer.status === 401;
  } catch {
    // The network failed, which does not show whether the session ended.
    return false;
  }
};

const stop = (element) => {
  open.get(element)?.close();
  open.delete(element);
};

// refused handles a connection that the browser does not open again by itself.
const refused = async (element, source, url) => {
  const over = await ended(url);
  if (open.get(element) !== source) {
    // The reader has left the page while the question was asked.
    return;
  }
  if (over) {
    // The server redirects to the sign-in page, and from there back to this page.
    location.reload();
    return;
  }
  setTimeout(() => {
    if (open.get(element) === source) {
      stop(element);
      follow();
    }
  }, againMilliseconds);
};

const start = (element) => {
  const url = new URL(element.dataset.live, location.href);
  const last = seen.get(element) ?? element.dataset.liveLast;
  if (last) {
    url.searchParams.set("last", last);
  }
  const source = new EventSource(url);
  const tell = (state) => {
    element.dataset.liveState = state;
  };
  open.set(element, source);
  source.addEventListener("open", () => tell("open"));
  source.addEventListener("message", (event) => {
    if (!element.isConnected) {
      stop(element);
      return;
    }
    if (event.lastEventId) {
      seen.set(element, event.lastEventId);
    }
    const fragment = parse(event.data);
    if (element.dispatchEvent(new CustomEvent("live:event", { bubbles: true, cancelable: true, detail: { fragment } }))) {
      put(element, fragment);
    }
  });
  source.addEventListener("error", () => {
    tell("waiting");
    if (source.readyState === EventSource.CLOSED) {
      refused(element, source, url);
    }
  });
};

// follow opens the connections of the elements that are visible, and closes all others.
const follow = () => {
  for (const element of open.keys()) {
    if (document.hidden || !element.isConnected || !element.hasAttribute("data-live")) {
      stop(element);
    }
  }
  if (!document.hidden) {
    for (const element of document.querySelectorAll("[data-live]")) {
      if (!open.has(element)) {
        start(element);
      }
    }
  }
};

// A storybook is a picture: nothing in it changes.
if (!document.documentElement.hasAttribute("data-still")) {
  onContent(follow);
  document.addEventListener("visibilitychange", follow);
  addEventListener("pagehide", () => [...open.keys()].forEach(stop));
  addEventListener("pageshow", (event) => event.persisted && follow());
}
