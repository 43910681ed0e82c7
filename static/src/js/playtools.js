// The fields for JSON: checked while they are written, filled with an example, put in order.
import { closest } from "./dom.js";
import { changed, part } from "./playdom.js";
import { tidy } from "./playjson.js";
import { blame } from "./playrun.js";

const examples = {
  tools: [
    {
      name: "get_weather", description: "The weather of a city right now.",
      parameters: { type: "object", properties: { city: { type: "string", description: "Such as Paris" } }, required: ["city"] },
    },
  ],
  schema: {
    type: "object", properties: { answer: { type: "string" }, sure: { type: "boolean" } }, required: ["answer", "sure"], additionalProperties: false,
  },
};

const named = /^[A-Za-z0-9_-]{1,64}$/;
const plain = (value) => value !== null && typeof value === "object" && !Array.isArray(value);

const faultOf = {
  tools(list) {
    if (!Array.isArray(list)) {
      return "This must be a list: [ … ].";
    }
    const at = list.findIndex((tool) => !named.test(tool?.name ?? ""));
    if (at >= 0) {
      return `Tool ${at + 1} needs a "name" of letters, digits, _ and -.`;
    }
    const odd = list.find((tool) => tool.parameters !== undefined && !plain(tool.parameters));
    return odd ? `The "parameters" of ${odd.name} must be a JSON Schema: { … }.` : "";
  },
  schema: (value) => (plain(value) ? "" : "This must be a JSON Schema: { … }."),
};

// fault says what is wrong with a field, if anything is.
const fault = (area) => {
  if (!area.value.trim()) {
    return "";
  }
  try {
    return faultOf[area.name](JSON.parse(area.value));
  } catch (error) {
    return `Not JSON yet: ${error.message}`;
  }
};

// choices offers the tools by name to be the one that must be called.
const choices = (form) => {
  const select = form.elements.tool_choice;
  let names = [];
  try {
    names = JSON.parse(form.elements.tools.value).map((tool) => tool.name).filter(Boolean);
  } catch {
    // None while the text is not whole.
  }
  const { value } = select;
  while (select.options.length > 3) {
    select.remove(3);
  }
  for (const name of names) {
    select.add(new Option(`Only ${name}`, name));
  }
  select.value = [...select.options].some((option) => option.value === value) ? value : "auto";
  part(form, "tool-count").textContent = names.length > 0 ? String(names.length) : "";
};

const look = (area, late) => {
  const said = fault(area);
  const line = area.closest("[data-param]");
  if (late || !said || line.hasAttribute("data-invalid")) {
    blame(line, said);
  }
  if (area.name === "tools") {
    choices(area.form);
  }
};

document.addEventListener("input", (event) => event.target.matches?.("[data-pane] [data-json]") && look(event.target, false));
document.addEventListener("change", (event) => event.target.matches?.("[data-pane] [data-json]") && look(event.target, true));

document.addEventListener("click", (event) => {
  const button = closest(event, "[data-pane] :is([data-example], [data-tidy])");
  if (!button) {
    return;
  }
  const { example, tidy: own } = button.dataset;
  const area = button.form.elements[example ?? own];
  const text = example ? JSON.stringify(examples[example], null, 2) : tidy(area.value);
  if (text) {
    area.value = text;
    area.dispatchEvent(new Event("input", { bubbles: true }));
    changed();
  }
  look(area, true);
  area.focus();
});
