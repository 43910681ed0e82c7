// Lists that people put in order: by dragging an item at its grip, or by its buttons. The form sends the items in the order of the
// page, and without this script the buttons send the form.
import { closest } from "./dom.js";

const items = (list) => [...list.children];

// settle makes the list say what it is now: the ends cannot be moved further, and the form differs from what is in force.
const settle = (item) => {
  const form = item.closest("[data-reorder]");
  form.dataset.reordered = "true";
  const all = items(item.parentElement);
  all.forEach((one, i) => {
    one.querySelector('[data-reorder-move="up"]').disabled = i === 0;
    one.querySelector('[data-reorder-move="down"]').disabled = i === all.length - 1;
  });
  form.querySelector("[data-reorder-said]").textContent = `${item.dataset.label} is now ${all.indexOf(item) + 1} of ${all.length}`;
};

document.addEventListener("click", (event) => {
  const button = closest(event, "[data-reorder-move]");
  const item = button?.closest("[data-reorder] li");
  if (!item) {
    return;
  }
  event.preventDefault();
  const up = button.dataset.reorderMove === "up";
  const other = up ? item.previousElementSibling : item.nextElementSibling;
  if (!other) {
    return;
  }
  other[up ? "before" : "after"](item);
  settle(item);
  (button.disabled ? item.querySelector("[data-reorder-move]:not(:disabled)") : button)?.focus();
});

document.addEventListener("pointerdown", (event) => {
  const grip = closest(event, "[data-reorder-grip]");
  const item = grip?.closest("li");
  if (!item || event.button !== 0) {
    return;
  }
  event.preventDefault();
  const list = item.parentElement;
  const before = items(list).indexOf(item);
  item.dataset.dragged = "true";
  grip.setPointerCapture(event.pointerId);
  const move = ({ clientY }) => {
    for (const other of items(list)) {
      const { top, height } = other.getBoundingClientRect();
      const above = items(list).indexOf(other) < items(list).indexOf(item);
      if (other !== item && (above ? clientY < top + height / 2 : clientY > top + height / 2)) {
        other[above ? "before" : "after"](item);
        // An item that moves in the page loses the pointer.
        grip.setPointerCapture(event.pointerId);
        return;
      }
    }
  };
  const stop = () => {
    delete item.dataset.dragged;
    grip.removeEventListener("pointermove", move);
    grip.removeEventListener("pointerup", stop);
    grip.removeEventListener("pointercancel", stop);
    if (items(list).indexOf(item) !== before) {
      settle(item);
    }
  };
  grip.addEventListener("pointermove", move);
  grip.addEventListener("pointerup", stop);
  grip.addEventListener("pointercancel", stop);
});
