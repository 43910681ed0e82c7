// The form that buys credit says what the choice as it stands costs, in the server's own words.
import { closest } from "./dom.js";

// The server accepts no smaller payment, in cents.
const least = 500;
const most = 1_000_000;
const count = new Intl.NumberFormat(document.documentElement.dataset.region || "en-US");

// cents reads whole cents of dollars; it returns undefined for an amount that the server would refuse.
const cents = (text) => {
  const parts = /^(\d{1,5})(?:\.(\d{1,2})0{0,7})?$/.exec(text.trim());
  const n = parts ? Number(parts[1]) * 100 + Number((parts[2] ?? "").padEnd(2, "0")) : 0;
  return n >= least && n <= most ? n : undefined;
};

const dollars = (n) => `$${count.format(Math.floor(n / 100))}.${String(n % 100).padStart(2, "0")}`;

const tell = (form) => {
  const choice = form.elements.amount.value;
  const n = cents(choice === "own" ? form.elements.own.value : choice);
  form.querySelector("[data-topup-sum]").textContent = n === undefined ? "" : `You pay ${dollars(n)} and get ${dollars(n)} of credit.`;
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
