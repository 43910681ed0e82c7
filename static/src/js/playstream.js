// An answer on its way: the lines of its events, written into the page once a frame at most. What a model says is put there as
// text; only what the server has drawn and made safe comes as markup.
import { part } from "./playdom.js";

const lines = "application/x-ndjson";
// A reader this close to the end follows the text, so the page scrolls along.
const nearPixels = 48;
// The text of one element, at most, so that a frame lays out little.
const chunkCharacters = 4000;

const atEnd = (log) => log.scrollHeight - log.scrollTop - log.clientHeight < nearPixels;
// Logs whose reader has scrolled up, with the reader's position.
const left = new WeakMap();

// A reader who scrolls up is not pulled down again, and gets a button that leads there.
document.addEventListener(
  "scroll",
  (event) => {
    const log = event.target;
    if (!(log instanceof Element) || !log.matches("[data-talk]")) {
      return;
    }
    const end = atEnd(log);
    if (end) {
      left.delete(log);
    } else if (log.scrollTop < (log.lastTop ?? 0) - 1) {
      left.set(log, true);
    }
    log.lastTop = log.scrollTop;
    part(log.parentElement, "latest").hidden = end || !left.has(log);
  },
  { capture: true, passive: true },
);

// toEnd shows the end of a conversation, unless its reader has gone up.
export const toEnd = (log, always = false) => {
  if (always) {
    left.delete(log);
    part(log.parentElement, "latest").hidden = true;
  }
  if (!left.has(log)) {
    log.scrollTop = log.scrollHeight;
  }
};

// textEnd is an element to write into whose text is cut into pieces at line breaks.
const textEnd = () => {
  const root = document.createElement("div");
  root.className = "turn-text";
  let node = null;
  const start = () => {
    node = document.createTextNode("");
    const line = document.createElement("div");
    line.append(node);
    root.append(line);
  };
  return {
    root,
    add(text) {
      if (!node) {
        start();
      }
      const cut = node.length > chunkCharacters ? text.indexOf("\n") : -1;
      if (cut < 0) {
        node.appendData(text);
        return;
      }
      node.appendData(text.slice(0, cut));
      start();
      node.appendData(text.slice(cut + 1));
    },
    clear() {
      root.replaceChildren();
      node = null;
    },
  };
};

// writer collects what arrives between two frames of the screen: finished blocks as markup, and the text of the open one.
export const writer = (element, log) => {
  const drawn = document.createElement("div");
  drawn.className = "prose";
  const open = textEnd();
  let blocks = "";
  let waiting = "";
  let afresh = false;
  let asked = 0;
  const paint = () => {
    asked = 0;
    if (!open.root.isConnected) {
      element.append(drawn, open.root);
    }
    if (afresh) {
      const shape = document.createElement("template");
      shape.innerHTML = blocks;
      drawn.append(shape.content);
      open.clear();
      [blocks, afresh] = ["", false];
    }
    if (waiting) {
      open.add(waiting);
      waiting = "";
    }
    toEnd(log);
  };
  const ask = () => {
    asked ||= requestAnimationFrame(paint);
  };
  return {
    add(text) {
      waiting += text;
      ask();
    },
    block(html, text) {
      blocks += html;
      waiting = text;
      afresh = true;
      ask();
    },
    // close writes what is left; whole takes the place of all of it.
    close(whole) {
      cancelAnimationFrame(asked);
      paint();
      if (whole) {
        drawn.innerHTML = whole;
        open.clear();
      }
      for (const one of [drawn, open.root]) {
        if (!one.hasChildNodes()) {
          one.remove();
        }
      }
    },
  };
};

// read takes the lines of the answer one by one.
const read = async (body, take) => {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) {
      return;
    }
    const pieces = (rest + value).split("\n");
    rest = pieces.pop();
    for (const piece of pieces) {
      if (piece) {
        take(JSON.parse(piece));
      }
    }
  }
};

const faults = {
  413: "The conversation with its images is too large for this page. Start over, or use smaller images.",
  403: "This page was opened from another place. Reload it and try again.",
};

// listen sends a pane's values and hands on what comes. It gives what went wrong on the way, if anything did.
export const listen = async (path, data, signal, { begin, take }) => {
  const lost = (error) =>
    error.name === "AbortError" ? { stopped: true } : { text: "The service could not be reached. Check your connection and try again." };
  let answer = null;
  try {
    answer = await fetch(path, { method: "POST", body: data, headers: { Accept: lines, "HX-Request": "true" }, signal });
  } catch (error) {
    return lost(error);
  }
  begin(answer.headers.get("x-request-id") ?? "");
  const elsewhere = answer.headers.get("hx-redirect");
  if (elsewhere) {
    location.assign(elsewhere);
    return null;
  }
  if (!answer.headers.get("content-type")?.startsWith(lines)) {
    return { text: faults[answer.status] ?? "That did not work; the fault is on our side. Try again in a moment." };
  }
  try {
    await read(answer.body, take);
    return { text: "The connection ended before the answer did.", made: true };
  } catch (error) {
    if (signal.aborted) {
      return { stopped: true };
    }
    console.error(error);
    return { text: "The connection ended before the answer did.", made: true };
  }
};
