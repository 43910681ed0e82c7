// What a request may cost, before it is sent: its input by its length, its answer from nothing to the bound. Money is
// counted in whole nano-dollars.
const bytesPerToken = 4;
const imageTokens = 1024;
const nanosPerDollar = 1_000_000_000n;
const perMillion = 1_000_000n;

const bytes = (text) => new TextEncoder().encode(text).length;

// dollars prints nano-dollars as dollars with two significant digits or the cents.
const dollars = (nanos) => {
  if (nanos >= nanosPerDollar / 100n) {
    const cents = (nanos + 9_999_999n) / 10_000_000n;
    return `$${cents / 100n}.${String(cents % 100n).padStart(2, "0")}`;
  }
  const digits = String(nanos).padStart(9, "0");
  const first = digits.search(/[1-9]/);
  return first < 0 ? "$0.00" : `$0.${digits.slice(0, first + 2).replace(/0+$/, "")}`;
};

const count = new Intl.NumberFormat("en-US");

// estimate is the sentence beside the button, empty while there is nothing to send.
export const estimate = (form) => {
  const price = form.querySelector("#play-price");
  const prompt = form.elements.prompt.value;
  if (!price || !prompt.trim()) {
    return "";
  }
  let size = bytes(prompt) + bytes(form.elements.system.value);
  for (const turn of form.querySelectorAll("[data-turn-text]")) {
    size += bytes(turn.value);
  }
  const images = [...form.querySelectorAll("[data-turn-image], [data-image], [name=image_url]")].filter((field) => field.value).length;
  const input = Math.ceil(size / bytesPerToken) + images * imageTokens;
  const wanted = Number.parseInt(form.elements["param.max"]?.value, 10);
  const most = wanted > 0 ? wanted : Number(price.dataset.maxOutput);
  const cost = (tokens, rate) => (BigInt(tokens) * BigInt(rate) + perMillion - 1n) / perMillion;
  const least = cost(input, price.dataset.priceIn);
  if (!most) {
    return `about ${count.format(input)} tokens in, from ${dollars(least)}`;
  }
  return `about ${count.format(input)} tokens in · ${dollars(least)} to at most ${dollars(least + cost(most, price.dataset.priceOut))}`;
};
