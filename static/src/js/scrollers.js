// A box that is larger than its place scrolls: a table sideways, a long error downwards. Where nothing in it takes the focus, it
// takes it itself, so that arrow keys move it in every browser.
import { onContent } from "./dom.js";

const takesFocus = "a[href], button, input, select, summary, [tabindex]";
const scrolls = (box) =>
  (box.scrollWidth > box.clientWidth + 1 || box.scrollHeight > box.clientHeight + 1) && !box.querySelector(takesFocus);

const reach = (box) => {
  if (scrolls(box) && !box.hasAttribute("tabindex")) {
    box.tabIndex = 0;
    if (!box.hasAttribute("role")) {
      box.setAttribute("role", "group");
      box.setAttribute("aria-label", box.querySelector("table")?.getAttribute("aria-label") ?? "Table");
    }
  } else if (!scrolls(box) && box.hasAttribute("tabindex")) {
    box.removeAttribute("tabindex");
    if (box.getAttribute("role") === "group") {
      ["role", "aria-label"].forEach((name) => box.removeAttribute(name));
    }
  }
};

const sizes = new ResizeObserver((entries) => entries.forEach(({ target }) => reach(target)));

// A swapped-in fragment may have removed the attributes. Observing a box again makes the observer set them after the layout.
onContent(() =>
  document.querySelectorAll(".table-container, .play-trouble").forEach((box) => {
    sizes.unobserve(box);
    sizes.observe(box);
  }),
);
