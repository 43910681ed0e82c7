// Toasts and the polite voice. Both regions are in every page from the start, so that screen readers know them.
import { closest } from "./dom.js";

const shownMilliseconds = 6000;
const toastsMax = 4;

// say announces something that the screen already shows. While a dialog is open only regions inside it are heard.
export const say = (text) => {
  const voice = document.querySelector("dialog[open] [data-voice]") ?? document.querySelector("body > [data-voice]");
  if (voice) {
    voice.textContent = "";
    requestAnimationFrame(() => {
      voice.textContent = text;
    });
  }
};

// toast shows a message for a while, and longer while the pointer or the focus is on it.
export const toast = (tone, text) => {
  const shape = document.getElementById(`toast-${tone}`);
  if (!(shape instanceof HTMLTemplateElement)) {
    return;
  }
  const item = shape.content.firstElementChild.cloneNode(true);
  item.querySelector("p").textContent = text;
  show(item);
};

const show = (item) => {
  const region = document.getElementById("toasts");
  region.append(item);
  while (region.children.length > toastsMax) {
    region.firstElementChild.remove();
  }
  const rest = () => {
    item.timer = setTimeout(() => item.remove(), shownMilliseconds);
  };
  for (const start of ["pointerenter", "focusin"]) {
    item.addEventListener(start, () => clearTimeout(item.timer));
  }
  for (const end of ["pointerleave", "focusout"]) {
    item.addEventListener(end, rest);
  }
  rest();
};

document.addEventListener("click", (event) => closest(event, "[data-toast-close]")?.closest(".toast-item")?.remove());

// Messages that came with the page or a fragment wait in #flash; moving them into the region makes them heard.
const deliver = () => {
  for (const item of document.querySelectorAll("#flash > .toast-item")) {
    show(item);
  }
};

deliver();
document.addEventListener("htmx:after:swap", deliver);
