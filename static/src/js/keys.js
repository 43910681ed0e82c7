// A long list of boxes to tick can be narrowed by typing. What is ticked stays ticked, whether it is shown or not.
import { closest } from "./dom.js";

document.addEventListener("input", (event) => {
  const list = closest(event, "[data-narrow-by]")?.closest("[data-narrow]");
  if (!list) {
    return;
  }
  const words = event.target.value.toLowerCase().split(/\s+/);
  for (const item of list.querySelectorAll("[data-narrow-item]")) {
    item.hidden = !words.every((word) => item.textContent.toLowerCase().includes(word));
  }
});

// Enter in that field looks for something; it does not send the form around it.
document.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && closest(event, "[data-narrow-by]")) {
    event.preventDefault();
  }
});
