// A form that is being sent shows it and is not sent twice; password fields can be made readable.
import { closest } from "./dom.js";

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (event.defaultPrevented || form.method === "dialog" || form.hasAttribute("hx-post") || form.hasAttribute("hx-get")) {
    return;
  }
  if (form.dataset.sent) {
    event.preventDefault();
    return;
  }
  form.dataset.sent = "true";
  event.submitter?.setAttribute("aria-busy", "true");
});

const settle = (root) => {
  for (const form of root.querySelectorAll("form[data-sent]")) {
    delete form.dataset.sent;
  }
  for (const button of root.querySelectorAll('.btn[aria-busy="true"]')) {
    button.removeAttribute("aria-busy");
  }
};

// Coming back by the browser's history restores the page as it was left: busy.
addEventListener("pageshow", (event) => event.persisted && settle(document));

document.addEventListener("htmx:before:request", (event) => {
  const { ctx } = event.detail;
  const form = ctx.sourceElement;
  if (form instanceof HTMLFormElement && form.method === "post") {
    // A second press waits in line; when its turn comes the answer to the first has replaced the form.
    if (form.dataset.sent || !form.isConnected) {
      event.preventDefault();
      return;
    }
    form.dataset.sent = "true";
    ctx.sentBy = form;
  }
  const pressed = ctx.request.submitter ?? ctx.sourceElement;
  if (pressed.matches?.(".btn")) {
    pressed.setAttribute("aria-busy", "true");
  }
});

document.addEventListener("htmx:finally:request", (event) => {
  const { ctx } = event.detail;
  // A request that was refused above never set the mark.
  delete ctx.sentBy?.dataset.sent;
  const pressed = ctx.request.submitter ?? ctx.sourceElement;
  pressed?.removeAttribute?.("aria-busy");
});

document.addEventListener("click", (event) => {
  const button = closest(event, "[data-reveal]");
  const input = button && document.getElementById(button.dataset.reveal);
  if (!input) {
    return;
  }
  const shown = input.type === "password";
  input.type = shown ? "text" : "password";
  button.dataset.shown = String(shown);
  button.setAttribute("aria-pressed", String(shown));
  input.focus();
});
