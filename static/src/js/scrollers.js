// A table that is wider than its place scrolls sideways. Where nothing in it takes the focus, it takes it itself, so that
// arrow keys move it in every browser.
import { onContent } from "./dom.js";

const takesFocus = "a[href], button, input, select, summary, [tabindex]";

const reach = (box) => {
  const scrolls = box.scrollWidth > box.clientWidth + 1 && !box.querySelector(takesFocus);
  if (scrolls && !box.hasAttribute("tabindex")) {
    box.tabIndex = 0;
    box.setAttribute("role", "group");
    box.setAttribute("aria-label", box.querySelector("table")?.getAttribute("aria-label") ?? "Table");
  } else if (!scrolls && box.hasAttribute("tabindex")) {
    ["tabindex", "role", "aria-label"].forEach((name) => box.removeAttribute(name));
  }
};

const sizes = new ResizeObserver((entries) => entries.forEach(({ target }) => reach(target)));

onContent(() => document.querySelectorAll(".table-container").forEach((box) => sizes.observe(box)));
