// The theme is a form that works by itself; here it changes the page at once and tells the server behind the scenes.
import { closest } from "./dom.js";

// changeTheme switches to the other theme: dark when the page is light now, by choice or by the system's setting.
export const changeTheme = () => {
  const root = document.documentElement;
  const dark = root.classList.contains("dark") || (root.classList.contains("system") && matchMedia("(prefers-color-scheme: dark)").matches);
  const button = document.querySelector(`[data-theme-form] button[value="${dark ? "light" : "dark"}"]`);
  button?.form.requestSubmit(button);
  return button;
};

document.addEventListener("submit", (event) => {
  const form = closest(event, "[data-theme-form]");
  const theme = event.submitter?.value;
  if (!form || !theme) {
    return;
  }
  event.preventDefault();
  const root = document.documentElement;
  root.classList.remove("system", "light", "dark");
  root.classList.add(theme);
  for (const button of document.querySelectorAll("[data-theme-form] button")) {
    button.setAttribute("aria-pressed", String(button.value === theme));
  }
  const meta = document.querySelector('meta[name="color-scheme"]');
  meta?.setAttribute("content", theme === "system" ? "light dark" : theme);
  const body = new URLSearchParams(new FormData(form));
  body.set("theme", theme);
  fetch(form.action, { method: "POST", body, redirect: "manual", keepalive: true }).catch(() => {});
});
