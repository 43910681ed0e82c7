// One dialog serves the whole page: whatever is swapped into #modal-body is shown in it. Links that lead to a dialog's
// content lead to a page with the same content where scripts do not run.
import { closest, polls } from "./dom.js";

const modal = () => document.getElementById("modal");
let opener = null;

document.addEventListener("htmx:after:swap", (event) => {
  const dialog = modal();
  const { ctx } = event.detail;
  if (!dialog || !document.getElementById("modal-body")?.childElementCount || !intoModal(ctx, dialog)) {
    return;
  }
  // A dialog that shows a secret once is closed by its own button, not by a slip of the finger.
  const locked = dialog.querySelector("[data-modal-locked]") !== null;
  // One with a long form is not closed by a click beside it: what was typed would be lost.
  const kept = dialog.querySelector("[data-modal-kept]") !== null;
  dialog.setAttribute("closedby", locked ? "none" : kept ? "closerequest" : "any");
  if (!dialog.open) {
    opener = ctx.sourceElement;
    dialog.showModal();
  }
  const first = dialog.querySelector("[aria-invalid=true], [data-modal-focus], [autofocus]");
  first?.focus();
});

// Focus that went with what a swap replaced is led into what took its place: to a mistake, or to what is to be done next.
document.addEventListener("htmx:after:swap", (event) => {
  const { ctx } = event.detail;
  const { id } = ctx.target ?? {};
  if (document.activeElement !== document.body || !id || polls(ctx)) {
    return;
  }
  document.getElementById(id)?.querySelector("[aria-invalid=true], [data-modal-focus]")?.focus();
});

const intoModal = (ctx, dialog) => {
  const target = typeof ctx.target === "string" ? document.querySelector(ctx.target) : ctx.target;
  return target?.id === "modal-body" || dialog.contains(target) || dialog.contains(ctx.sourceElement);
};

document.addEventListener(
  "cancel",
  (event) => {
    if (event.target === modal() && event.target.querySelector("[data-modal-locked]")) {
      event.preventDefault();
    }
  },
  true,
);

// The content goes with the dialog: a secret does not linger in a closed one.
document.addEventListener(
  "close",
  (event) => {
    if (event.target !== modal()) {
      return;
    }
    event.target.querySelector("#modal-body")?.replaceChildren();
    // The element that opened the dialog may have been replaced. Then the focus goes to the top of the page's content.
    (opener?.isConnected ? opener : document.getElementById("main"))?.focus();
    opener = null;
  },
  true,
);

document.addEventListener("click", (event) => {
  const button = closest(event, "[data-modal-close]");
  const dialog = button?.closest("dialog");
  if (dialog) {
    event.preventDefault();
    dialog.close();
  }
});
