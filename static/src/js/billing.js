// The form that buys credit says what the choice as it stands costs, in the server's own words.
import { closest } from "./dom.js";
import { dollars } from "./numbers.js";

// The server accepts no smaller payment, in cents.
const least = 500;
const most = 1_000_000;
const nanosPerCent = 10_000_000n;

// cents reads whole cents of dollars; it returns undefined for an amount that the server would refuse.
const cents = (text) => {
  const parts = /^(\d{1,5})(?:\.(\d{1,2})0{0,7})?$/.exec(text.trim());
  const n = parts ? Number(parts[1]) * 100 + Number((parts[2] ?? "").padEnd(2, "0")) : 0;
  return n >= least && n <= most ? n : undefined;
};

const tell = (form) => {
  const choice = form.elements.amount.value;
  const n = cents(choice === "own" ? form.elements.own.value : choice);
  const sum = n === undefined ? "" : dollars(BigInt(n) * nanosPerCent);
  form.querySelector("[data-topup-sum]").textContent = sum && `You pay ${sum} and get ${sum} of credit.`;
};

document.addEventListener("input", (event) => {
  const form = closest(event, "[data-topup]");
  if (form) {
    tell(form);
  }
});

// The browser restores a choice from its history without an event, so the page reads the choice itself.
addEventListener("pageshow", () => {
  const form = document.querySelector("[data-topup]");
  if (form) {
    tell(form);
  }
});
