// Charts of columns: a tooltip with every series, a legend whose entries hide their series, and a part of the chart that is zoomed into by
// dragging over it. The keyboard does the same on a slider over the columns: arrows move, Shift with arrows selects, Enter opens.
// The figures of a chart are also in a table of the page.
import { onContent } from "./dom.js";

const dragPixels = 6;
const whole = 100;
const states = new WeakMap();

const make = (tag, name, text = "") => {
  const element = document.createElement(tag);
  element.className = name;
  element.textContent = text;
  return element;
};

const columnsOf = (figure) => [...figure.querySelectorAll(".chart-column")];
// The log's own chart has two colors, and its legend is in its caption.
const legendOf = (figure) => {
  const caption = figure.closest("figure")?.querySelectorAll("figcaption [data-entry]") ?? [];
  if (caption.length > 0) {
    return [...caption];
  }
  const next = figure.nextElementSibling;
  return next?.matches(".chart-legend") ? [...next.querySelectorAll("li[data-entry]")] : [];
};

const hiddenSeries = (figure) =>
  new Set(
    legendOf(figure)
      .filter((entry) => entry.querySelector("button")?.ariaPressed === "false")
      .map((entry) => entry.dataset.entry),
  );

// linesOf are the name, value and series of each line of a column's tooltip.
const linesOf = (figure, column) => {
  const hidden = hiddenSeries(figure);
  const names = legendOf(figure).map((entry) => [entry.dataset.entry, entry.textContent.trim()]);
  const values = (column.dataset.values ?? "").split("\n");
  const lines = names.map(([series, name], i) => ({ series, name, value: values[i] ?? "" })).filter((line) => !hidden.has(line.series));
  if (names.length > 1) {
    lines.push({ name: "Total", value: column.dataset.total });
  }
  if (column.dataset.before) {
    lines.push({ name: "Previous period", value: column.dataset.before });
  }
  return lines;
};

const wordsOf = (figure, column) =>
  `${column.dataset.full}: ${linesOf(figure, column)
    .map((line) => `${line.name} ${line.value}`)
    .join(", ")}`;

const place = (figure, state, column) => {
  const plot = figure.querySelector(".chart-plot").getBoundingClientRect();
  const box = figure.getBoundingClientRect();
  const hit = column.querySelector(".chart-hit").getBoundingClientRect();
  const middle = hit.left + hit.width / 2 - box.left;
  const width = state.tip.offsetWidth;
  state.tip.style.left = `${Math.min(Math.max(middle - width / 2, 0), box.width - width)}px`;
  state.tip.style.top = `${plot.top - box.top - state.tip.offsetHeight - 6}px`;
};

const show = (figure, state, index) => {
  const column = columnsOf(figure)[index];
  if (!column) {
    return;
  }
  state.at = index;
  const list = make("dl", "chart-tip-lines");
  for (const line of linesOf(figure, column)) {
    const name = make("dt", "", "");
    if (line.series) {
      const dot = make("span", "chart-dot");
      dot.dataset[figure.matches(".log-chart") ? "call" : "series"] = line.series;
      name.append(dot);
    }
    name.append(line.name);
    list.append(name, make("dd", "num", line.value));
  }
  state.tip.replaceChildren(make("p", "", column.dataset.full), list);
  state.tip.hidden = false;
  place(figure, state, column);
  state.slider.setAttribute("aria-valuenow", String(index));
  state.slider.setAttribute("aria-valuetext", wordsOf(figure, column));
};

// select marks the columns between two of them.
const select = (figure, state) => {
  const columns = columnsOf(figure);
  const [low, high] = [Math.min(state.from, state.at), Math.max(state.from, state.at)];
  state.brush.hidden = state.from < 0;
  if (state.from >= 0) {
    state.brush.style.left = `${(low / columns.length) * whole}%`;
    state.brush.style.width = `${((high - low + 1) / columns.length) * whole}%`;
  }
  return [columns[low], columns[high]];
};

const hide = (figure, state) => {
  state.tip.hidden = true;
  state.from = -1;
  select(figure, state);
};

const zoom = (figure, first, last) => {
  const url = new URL(figure.dataset.brush, location.href);
  url.searchParams.set("from", first.dataset.from);
  url.searchParams.set("to", last.dataset.to);
  location.assign(url);
};

const indexAt = (figure, x) => {
  const plot = figure.querySelector(".chart-plot").getBoundingClientRect();
  const count = columnsOf(figure).length;
  return Math.min(Math.max(Math.floor(((x - plot.left) / plot.width) * count), 0), count - 1);
};

const withPointer = (figure, state) => {
  const plot = figure.querySelector(".chart-plot");
  let down = null;
  plot.addEventListener("pointermove", (event) => {
    if (down !== null && Math.abs(event.clientX - down) > dragPixels && state.from < 0) {
      state.from = indexAt(figure, down);
      plot.setPointerCapture(event.pointerId);
    }
    show(figure, state, indexAt(figure, event.clientX));
    select(figure, state);
  });
  plot.addEventListener("pointerleave", () => down === null && document.activeElement !== state.slider && hide(figure, state));
  plot.addEventListener("dragstart", (event) => event.preventDefault());
  plot.addEventListener("pointerdown", (event) => {
    down = event.button === 0 && event.pointerType !== "touch" && figure.dataset.brush ? event.clientX : null;
  });
  plot.addEventListener("pointercancel", () => {
    down = null;
    hide(figure, state);
  });
  plot.addEventListener("pointerup", () => {
    const dragged = down !== null && state.from >= 0;
    down = null;
    if (dragged) {
      const [first, last] = select(figure, state);
      plot.addEventListener("click", (event) => event.preventDefault(), { once: true, capture: true });
      hide(figure, state);
      zoom(figure, first, last);
    }
  });
};

const withKeys = (figure, state) => {
  const steps = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, Home: -Infinity, End: Infinity };
  state.slider.addEventListener("focus", () => show(figure, state, state.at));
  state.slider.addEventListener("blur", () => hide(figure, state));
  state.slider.addEventListener("keydown", (event) => {
    const last = columnsOf(figure).length - 1;
    if (Object.hasOwn(steps, event.key)) {
      event.preventDefault();
      if (!event.shiftKey) {
        state.from = -1;
      } else if (state.from < 0 && figure.dataset.brush) {
        state.from = state.at;
      }
      show(figure, state, Math.min(Math.max(state.at + steps[event.key], 0), last));
      select(figure, state);
    } else if (event.key === "Enter" && state.from >= 0) {
      zoom(figure, ...select(figure, state));
    } else if (event.key === "Enter") {
      location.assign(columnsOf(figure)[state.at].href.baseVal);
    } else if (event.key === "Escape" && state.from >= 0) {
      event.stopPropagation();
      state.from = -1;
      select(figure, state);
    }
  });
};

// stack puts the visible pieces of each column on one another.
const stack = (figure) => {
  const hidden = hiddenSeries(figure);
  for (const column of columnsOf(figure)) {
    let foot = whole;
    for (const piece of column.querySelectorAll("rect[data-series], rect[data-call]")) {
      const gone = hidden.has(piece.dataset.series ?? piece.dataset.call);
      piece.toggleAttribute("data-off", gone);
      if (!gone) {
        foot -= Number.parseFloat(piece.getAttribute("height"));
        piece.setAttribute("y", `${foot}%`);
      }
    }
  }
};

const withLegend = (figure) => {
  const entries = legendOf(figure);
  if (entries.length < 2) {
    return;
  }
  for (const entry of entries) {
    const button = make("button", "chart-toggle");
    button.type = "button";
    button.ariaPressed = "true";
    button.append(...entry.childNodes);
    entry.append(button);
    button.addEventListener("click", () => {
      button.ariaPressed = button.ariaPressed === "true" ? "false" : "true";
      stack(figure);
    });
  }
};

const enhance = (figure) => {
  const count = columnsOf(figure).length;
  if (states.has(figure) || count === 0) {
    return;
  }
  const state = { at: count - 1, from: -1, tip: make("div", "chart-tip"), brush: make("span", "chart-brush"), slider: make("div", "chart-slider") };
  states.set(figure, state);
  for (const title of figure.querySelectorAll(".chart-column > title")) {
    title.remove();
  }
  state.tip.ariaHidden = "true";
  state.tip.hidden = state.brush.hidden = true;
  state.slider.append(state.brush);
  const { slider } = state;
  slider.tabIndex = 0;
  slider.setAttribute("role", "slider");
  slider.setAttribute("aria-label", figure.dataset.plot);
  slider.setAttribute("aria-valuemin", "0");
  slider.setAttribute("aria-valuemax", String(count - 1));
  slider.setAttribute("aria-valuenow", String(state.at));
  slider.setAttribute("aria-valuetext", wordsOf(figure, columnsOf(figure)[state.at]));
  figure.append(slider, state.tip);
  withPointer(figure, state);
  withKeys(figure, state);
  withLegend(figure);
};

onContent(() => document.querySelectorAll(".chart[data-plot]").forEach(enhance));
