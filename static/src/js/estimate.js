// What the message may cost, asked of the server while it is written: the same quote as the API's, for every pane.
import { dollars } from "./numbers.js";
import { composer, page, panes, part, valuesOf } from "./playdom.js";
import { waits } from "./playturns.js";

// The page waits this long after the last key before it asks for an estimate.
const restMilliseconds = 450;
const nanosPerCent = 10_000_000n;
let timer = 0;
let asking = null;

// rounded is the largest cost of all quotes together, rounded up: to cents, or to two digits where it is less than a cent.
const rounded = (quotes) => {
  const sum = quotes.reduce((total, quote) => total + BigInt(quote.high_nanos), 0n);
  let unit = nanosPerCent;
  while (sum > 0n && sum < 10n * unit && unit > 1n && sum < nanosPerCent) {
    unit /= 10n;
  }
  return dollars(((sum + unit - 1n) / unit) * unit);
};

const ask = async (form, signal) => {
  const answer = await fetch(`${form.action}/estimate`, { method: "POST", body: valuesOf(form), signal });
  return answer.ok ? answer.json() : null;
};

// show writes the most that the message may cost, or why the message cannot be paid.
const show = (place, quotes) => {
  place.replaceChildren();
  const short = quotes.find((quote) => !quote.enough && quote.low);
  const good = quotes.filter((quote) => quote.low);
  if (short) {
    const link = document.createElement("a");
    link.className = "link";
    link.href = "/console/billing";
    link.textContent = "Add credit";
    place.append(`${short.why} `, link);
  } else if (good.length > 0) {
    place.textContent = `Est. ≤ ${rounded(good)}`;
    place.title = good.map((quote) => quote.text).join("\n");
  } else {
    place.textContent = quotes.find((quote) => quote.why)?.why ?? "";
  }
  place.toggleAttribute("data-short", Boolean(short));
};

const reckon = async () => {
  const place = part(composer(), "estimate");
  const says = composer().querySelector("[name=prompt]").value.trim() || composer().querySelector("[name=image]").value;
  const forms = panes().filter((form) => says || waits(form));
  asking?.abort();
  asking = new AbortController();
  if (forms.length === 0) {
    show(place, []);
    return;
  }
  const { signal } = asking;
  try {
    const quotes = await Promise.all(forms.map((form) => ask(form, signal)));
    if (!signal.aborted) {
      show(place, quotes.filter(Boolean));
    }
  } catch {
    // A newer question cancelled this one, or the network failed: no range is better than an old one.
  }
};

const soon = () => {
  clearTimeout(timer);
  timer = setTimeout(reckon, restMilliseconds);
};

if (page() && composer()) {
  for (const kind of ["input", "change", "play:changed"]) {
    page().addEventListener(kind, soon);
  }
  soon();
}
