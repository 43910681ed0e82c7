// The newest answers of several models as a table: one row for each model, and the best value of each column marked.
import { modelName, page, panes, part, shape, turnsOf } from "./playdom.js";

const statsOf = (form) => {
  const last = turnsOf(form).filter((turn) => turn.dataset.turn === "assistant").at(-1);
  return last?.dataset.stats ? JSON.parse(last.dataset.stats) : null;
};

const states = { busy: "Answering…", idle: "No answer" };

// bestOf returns the best value of a column, or nothing when all are alike or there is only one.
const bestOf = (column) => {
  const known = column.filter((one) => one?.text && one.better);
  const values = known.map((one) => one.value);
  if (new Set(values).size < 2) {
    return undefined;
  }
  return known[0].better === "low" ? Math.min(...values) : Math.max(...values);
};

const cell = (tag, text, scope) => {
  const element = document.createElement(tag);
  element.textContent = text;
  if (scope) {
    element.scope = scope;
  }
  return element;
};

const row = (cells) => {
  const line = document.createElement("tr");
  line.append(...cells);
  return line;
};

const valueCell = (one, best) => {
  const element = cell("td", one.text || "–");
  if (one.text && one.value === best && one.better) {
    element.dataset.best = "";
    element.append(shape("play-best"));
  }
  return element;
};

const draw = () => {
  const strip = part(page(), "compare");
  const all = panes();
  const stats = all.map(statsOf);
  const first = stats.find(Boolean);
  strip.hidden = all.length < 2 || stats.filter(Boolean).length < 2;
  if (strip.hidden) {
    return;
  }
  const best = first.map((_, i) => bestOf(stats.map((one) => one?.[i])));
  part(strip, "compare-head").replaceChildren(row([cell("th", "Model", "col"), ...first.map(({ name }) => cell("th", name, "col"))]));
  part(strip, "compare-rows").replaceChildren(
    ...all.map((form, i) => {
      const name = cell("th", modelName(form), "row");
      if (stats[i]) {
        return row([name, ...stats[i].map((one, column) => valueCell(one, best[column]))]);
      }
      const none = cell("td", states[form.dataset.state] ?? states.idle);
      none.colSpan = first.length;
      return row([name, none]);
    }),
  );
};

if (page() && part(page(), "compare")) {
  page().addEventListener("play:changed", draw);
}
