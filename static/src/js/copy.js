// Buttons with data-copy put a value on the clipboard: their own, the text of the element that data-copy-from names, or the
// code of their block.
import { closest } from "./dom.js";
import { say } from "./toasts.js";

const shownMilliseconds = 1800;

document.addEventListener("click", async (event) => {
  const button = closest(event, "[data-copy]");
  if (!button) {
    return;
  }
  const source = button.dataset.copyFrom;
  const text = source ? document.getElementById(source)?.textContent : button.dataset.copy || codeOf(button);
  if (!text) {
    return;
  }
  if (!(await write(text, button))) {
    say("Copying was refused by the browser. Select the text and copy it by hand.");
    return;
  }
  button.setAttribute("data-copied", "");
  say(button.dataset.copySaid || "Copied");
  clearTimeout(button.copyTimer);
  button.copyTimer = setTimeout(() => button.removeAttribute("data-copied"), shownMilliseconds);
});

const codeOf = (button) => button.closest(".prose-code")?.querySelector("code")?.textContent;

// write falls back to the old command, because the clipboard interface exists on https and loopback only.
export const write = async (text, near) => {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = document.createElement("textarea");
    area.value = text;
    area.className = "sr-only";
    area.setAttribute("aria-hidden", "true");
    (near.closest("dialog") ?? document.body).append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    near.focus();
    return done;
  }
};
