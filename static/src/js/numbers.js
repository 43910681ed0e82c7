// Numbers as the reader's region writes them, in the form that the server gives them.
const region = document.documentElement.dataset.region || "en-US";
const whole = new Intl.NumberFormat(region);
const point = whole.formatToParts(0.5).find((part) => part.type === "decimal").value;
const nanosPerDollar = 1_000_000_000n;

// count writes a whole number. The server writes the apostrophe of Switzerland in ASCII.
export const count = (n) => whole.format(n).replaceAll("’", "'");

// decimal writes a number with so many places behind the point.
export const decimal = (n, places) =>
  new Intl.NumberFormat(region, { minimumFractionDigits: places, maximumFractionDigits: places }).format(n).replaceAll("’", "'");

// dollars writes nano-dollars exactly: the cents, and every digit beyond them that is not zero.
export const dollars = (nanos) => {
  const fraction = String(nanos % nanosPerDollar).padStart(9, "0").replace(/0+$/, "").padEnd(2, "0");
  return `$${count(nanos / nanosPerDollar)}${point}${fraction}`;
};
