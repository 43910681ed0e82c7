// JSON for people: with line breaks, and with colours while it is short enough for them.
const colouredMax = 60_000;
const tokens = /("(?:[^"\\]|\\.)*")(\s*:)?|\b(true|false|null)\b|(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)/g;

// tidy is the text with line breaks and indents, or nothing where it is not JSON.
export const tidy = (text) => {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return "";
  }
};

const run = (kind, text) => {
  const span = document.createElement("span");
  span.className = kind;
  span.textContent = text;
  return span;
};

// showJSON puts JSON into an element as text, its tokens coloured; anything else stays as it is.
export const showJSON = (element, text) => {
  const pretty = tidy(text);
  element.replaceChildren();
  if (!pretty || pretty.length > colouredMax) {
    element.textContent = pretty || text;
    return;
  }
  let from = 0;
  const pieces = [];
  for (const match of pretty.matchAll(tokens)) {
    const [, string, colon, word, number] = match;
    pieces.push(pretty.slice(from, match.index), run(string ? (colon ? "f" : "s") : word ? "k" : "n", string ?? word ?? number), colon ?? "");
    from = match.index + match[0].length;
  }
  element.append(...pieces, pretty.slice(from));
};
