// Time zones: the names that the browser knows are offered where one is written.
import { onContent } from "./dom.js";

const offer = () => {
  for (const list of document.querySelectorAll("datalist[data-zones]")) {
    if (list.options.length < 2) {
      list.append(...Intl.supportedValuesOf("timeZone").map((zone) => new Option("", zone)));
    }
  }
};

if (!document.documentElement.hasAttribute("data-still")) {
  onContent(offer);
}
