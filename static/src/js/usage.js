// Time zones: the reader's own is offered beside UTC.
import { onContent } from "./dom.js";

const own = Intl.DateTimeFormat().resolvedOptions().timeZone;

const offer = () => {
  for (const select of document.querySelectorAll("select[data-zones]")) {
    if (own && ![...select.options].some((option) => option.value === own)) {
      select.add(new Option(own.replaceAll("_", " "), own));
    }
  }
};

if (!document.documentElement.hasAttribute("data-still")) {
  onContent(offer);
}
