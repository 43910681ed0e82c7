// Menus and the drawer are native; this fills in for browsers that lack a part of it.
import { closest } from "./dom.js";

const anchored = CSS.supports("position-area", "block-end");
const commanded = "commandForElement" in HTMLButtonElement.prototype;
const gapPixels = 5;

// A menu closes when something in it was chosen.
document.addEventListener("click", (event) => {
  const item = closest(event, ".menu-item");
  item?.closest("[popover]")?.hidePopover();
});

// Up and down walk through an open menu, as people expect of one.
document.addEventListener("keydown", (event) => {
  if (event.key !== "ArrowDown" && event.key !== "ArrowUp") {
    return;
  }
  const menu = closest(event, ".menu") ?? document.querySelector(".menu:popover-open");
  if (!menu) {
    return;
  }
  const items = [...menu.querySelectorAll(".menu-item")];
  const step = event.key === "ArrowDown" ? 1 : -1;
  const at = items.indexOf(document.activeElement);
  const next = at < 0 ? (step > 0 ? 0 : items.length - 1) : (at + step + items.length) % items.length;
  items[next]?.focus();
  event.preventDefault();
});

if (!anchored) {
  document.addEventListener(
    "toggle",
    (event) => {
      const menu = event.target;
      if (!(menu instanceof HTMLElement) || !menu.matches(".menu:popover-open")) {
        return;
      }
      const button = document.querySelector(`[popovertarget="${CSS.escape(menu.id)}"]`);
      const box = button?.getBoundingClientRect();
      if (!box) {
        return;
      }
      const below = box.bottom + gapPixels + menu.offsetHeight <= innerHeight;
      menu.style.top = `${below ? box.bottom : box.top - menu.offsetHeight - 2 * gapPixels}px`;
      menu.style.left = `${Math.max(8, box.right - menu.offsetWidth)}px`;
    },
    true,
  );
}

if (!commanded) {
  document.addEventListener("click", (event) => {
    const button = closest(event, "button[commandfor]");
    const dialog = button && document.getElementById(button.getAttribute("commandfor"));
    if (!(dialog instanceof HTMLDialogElement)) {
      return;
    }
    if (button.getAttribute("command") === "show-modal") {
      dialog.showModal();
    } else {
      dialog.close();
    }
  });
}

// Browsers without light dismissal of dialogs: a click on the backdrop is a click on the dialog itself.
document.addEventListener("click", (event) => {
  const dialog = event.target;
  if (!(dialog instanceof HTMLDialogElement) || !dialog.open || dialog.getAttribute("closedby") !== "any") {
    return;
  }
  const box = dialog.getBoundingClientRect();
  const inside = event.clientX >= box.left && event.clientX <= box.right && event.clientY >= box.top && event.clientY <= box.bottom;
  if (!inside) {
    dialog.close();
  }
});
