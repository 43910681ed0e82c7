// A page that refreshes itself keeps the details open that the reader opened.
import { polls } from "./dom.js";

let open = null;

document.addEventListener("htmx:before:swap", (event) => {
  const { ctx } = event.detail;
  if (polls(ctx) && ctx.sourceElement.id === "delivery") {
    open = [...ctx.sourceElement.querySelectorAll("details[id]")].map((details) => [details.id, details.open]);
  }
});

document.addEventListener("htmx:after:swap", () => {
  for (const [id, was] of open ?? []) {
    const details = document.getElementById(id);
    if (details) {
      details.open = was;
    }
  }
  open = null;
});
