// closest finds the nearest ancestor of an event's target, which may be a text node or the document.
export const closest = (event, selector) => (event.target instanceof Element ? event.target.closest(selector) : null);

// onContent runs fn over the document now, and over it again whenever a fragment was swapped in or came by itself.
export const onContent = (fn) => {
  fn();
  document.addEventListener("htmx:after:swap", fn);
  document.addEventListener("live:content", fn);
};

// remember keeps a small preference where the server can read it, so that the next page is already drawn that way.
export const remember = (name, value) => {
  const secure = location.protocol === "https:" ? "; Secure" : "";
  document.cookie = `${name}=${encodeURIComponent(value)}; Path=/console; Max-Age=31536000; SameSite=Lax${secure}`;
};

// polls reports whether a page repeats the request by itself. A person's requests return false.
export const polls = (ctx) => ctx.sourceElement?.hasAttribute("data-poll");

// fetchPart asks for a part of a page the way htmx does. Where the session ended it leaves for the sign-in page.
export const fetchPart = async (url, signal) => {
  const response = await fetch(url, { signal, headers: { "HX-Request": "true" } });
  const elsewhere = response.headers.get("HX-Redirect");
  if (elsewhere) {
    location.assign(elsewhere);
  }
  if (!response.ok || elsewhere) {
    throw new Error(`the part answered ${response.status}`);
  }
  return response.text();
};
