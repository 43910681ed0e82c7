// What htmx does not decide itself: failed requests become a toast, an answer without the expected part becomes a
// visit, and polling pauses while the page is hidden.
import htmx from "htmx.org/dist/htmx.esm.js";
import { polls } from "./dom.js";
import { toast } from "./toasts.js";

// A session that ended answers a fragment's request with another page. Showing that page beats swapping in nothing.
document.addEventListener("htmx:before:swap", (event) => {
  const { ctx, tasks } = event.detail;
  const main = tasks.find((task) => task.type === "main");
  if (!ctx.select || !main || main.fragment.childElementCount > 0 || ctx.response.status >= 500) {
    return;
  }
  event.preventDefault();
  const { raw } = ctx.response;
  if (raw.redirected) {
    location.assign(raw.url);
  } else {
    location.reload();
  }
});

// htmx also processes fragments that a script of the page has fetched and inserted itself.
document.addEventListener("page:content", (event) => htmx.process(event.target));

// An answer that says what is already there is dropped: a live region would be read out again at every poll.
document.addEventListener("htmx:before:swap", (event) => {
  const { ctx, tasks } = event.detail;
  const words = (node) => node.textContent.replaceAll(/\s+/g, " ").trim();
  const main = tasks.find((task) => task.type === "main");
  if (polls(ctx) && main && words(main.fragment) === words(ctx.sourceElement)) {
    event.preventDefault();
  }
});

document.addEventListener("htmx:response:error", (event) => {
  const { ctx } = event.detail;
  if (ctx.response.status < 500 || polls(ctx)) {
    return;
  }
  const id = ctx.response.headers.get("x-request-id");
  toast("danger", "That did not work; the fault is on our side. Try again in a moment." + (id ? ` Request ${id}` : ""));
});

document.addEventListener("htmx:error", (event) => {
  const { ctx } = event.detail;
  if (ctx && !polls(ctx)) {
    toast("danger", "The service could not be reached. Check your connection and try again.");
  }
});

document.addEventListener("htmx:before:request", (event) => {
  // A page of the storybook is a picture and does not poll.
  const unwatched = document.hidden || document.documentElement.hasAttribute("data-still");
  if (unwatched && polls(event.detail.ctx)) {
    event.preventDefault();
  }
});
