// The log of requests, live: new rows come on top by themselves, unless the reader is further down or works in the list or has paused
// it; then they wait behind a button that says how many there are.
import { closest, onContent } from "./dom.js";
import { put } from "./live.js";
import { count } from "./numbers.js";

// A screen reader announces new rows at most once in this time.
const saidMilliseconds = 5000;
const heldMax = 1000;
const states = new WeakMap();

const stateOf = (element) => {
  if (!states.has(element)) {
    states.set(element, { held: [], paused: false, fresh: 0, timer: 0 });
  }
  return states.get(element);
};

const counted = (n) => `${count(n)} new ${n === 1 ? "request" : "requests"}`;

const draw = (element) => {
  const state = stateOf(element);
  const show = element.querySelector("[data-log-show]");
  const pause = element.querySelector("[data-log-pause]");
  show.hidden = state.held.length === 0;
  show.textContent = `Show ${count(state.held.length)} new`;
  pause.hidden = false;
  pause.textContent = state.paused ? "Resume" : "Pause";
  element.querySelector("[data-log-words]").textContent = state.paused ? "Paused" : "Live";
  element.toggleAttribute("data-paused", state.paused);
};

// say announces new rows together, in the polite live region.
const say = (element, n) => {
  const state = stateOf(element);
  state.fresh += n;
  if (!state.timer && n > 0) {
    state.timer = setTimeout(() => {
      element.querySelector("[data-log-said]").textContent = counted(state.fresh);
      state.fresh = state.timer = 0;
    }, saidMilliseconds);
  }
};

// busy reports whether the reader is further down the list, works in it, or points at one of its rows.
const busy = (into) => into.getBoundingClientRect().top < 0 || into.contains(document.activeElement) || into.matches(":hover");

const show = (element) => {
  const state = stateOf(element);
  const rows = state.held.splice(0);
  if (!document.querySelector(element.dataset.liveInto)) {
    // This is the account's first call, and the page has no list yet.
    location.reload();
    return;
  }
  const fragment = document.createDocumentFragment();
  fragment.append(...rows.reverse());
  put(element, fragment);
  draw(element);
};

document.addEventListener("live:event", (event) => {
  const element = event.target;
  if (!element.hasAttribute("data-log")) {
    return;
  }
  const state = stateOf(element);
  const into = document.querySelector(element.dataset.liveInto);
  const rows = [...event.detail.fragment.children].filter((row) => !document.getElementById(row.id));
  say(element, rows.length);
  if (!into || state.paused || state.held.length > 0 || busy(into)) {
    event.preventDefault();
    state.held.push(...rows.reverse());
    state.held.splice(0, Math.max(0, state.held.length - heldMax));
    draw(element);
  }
});

document.addEventListener("click", (event) => {
  const element = closest(event, "[data-log]");
  if (closest(event, "[data-log-show]")) {
    show(element);
  } else if (closest(event, "[data-log-pause]")) {
    const state = stateOf(element);
    state.paused = !state.paused;
    if (!state.paused && state.held.length > 0) {
      show(element);
    }
    draw(element);
  }
});

onContent(() => document.querySelectorAll("[data-log]").forEach(draw));
