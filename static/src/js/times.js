// The page shows every <time data-time> in the reader's zone and clock: those of their settings, or the zone of the browser. The tooltip has
// the time in UTC, too.
import { onContent, remember } from "./dom.js";

const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const refreshMilliseconds = 30_000;
const minute = 60;
const hour = 60 * minute;
const day = 24 * hour;

const { zone, clock } = document.documentElement.dataset;
const own = Intl.DateTimeFormat().resolvedOptions().timeZone;
const timeZone = zone || own;
const hours = clock === "12" ? { hour12: true } : { hourCycle: "h23" };

// The server draws pages in the zone of the browser, too, once it knows it.
if (own && !zone) {
  remember("umg_zone", own);
}

const formOf = (options) => new Intl.DateTimeFormat("en-US", { timeZone, ...options });
const parts = formOf({ year: "numeric", month: "numeric", day: "numeric" });
const shortClock = formOf({ hour: clock === "12" ? "numeric" : "2-digit", minute: "2-digit", ...hours });
const longClock = formOf({ hour: clock === "12" ? "numeric" : "2-digit", minute: "2-digit", second: "2-digit", ...hours });

const dateOf = (at) => {
  const found = Object.fromEntries(parts.formatToParts(at).map((part) => [part.type, part.value]));
  return { year: found.year, text: `${found.day} ${months[found.month - 1]}` };
};
// Some browsers put a narrow space before AM and PM.
const plain = (text) => text.replaceAll("\u202f", " ");
const whole = new Intl.DateTimeFormat("en-GB", { timeZone, dateStyle: "medium", timeStyle: "long", ...hours });
const wholeUTC = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "long", timeZone: "UTC", ...hours });

// The words are the same as the server's, so that the page does not change when the script writes them again.
export const tell = {
  moment: (at) => {
    const [day, today] = [dateOf(at), dateOf(new Date())];
    if (day.text === today.text && day.year === today.year) {
      return plain(longClock.format(at));
    }
    return `${day.year === today.year ? day.text : tell.day(at)}, ${plain(shortClock.format(at))}`;
  },
  day: (at) => `${dateOf(at).text} ${dateOf(at).year}`,
  relative: (at) => {
    const seconds = Math.floor((Date.now() - at) / 1000);
    if (seconds < 10) {
      return "just now";
    }
    if (seconds < minute) {
      return `${seconds} s ago`;
    }
    if (seconds < hour) {
      return `${Math.floor(seconds / minute)} min ago`;
    }
    if (seconds < day) {
      return `${Math.floor(seconds / hour)} h ago`;
    }
    return seconds < 30 * day ? `${Math.floor(seconds / day)} d ago` : tell.day(at);
  },
};

const draw = () => {
  for (const element of document.querySelectorAll("time[data-time]")) {
    const at = new Date(element.dateTime);
    const text = tell[element.dataset.time]?.(at);
    if (text && element.textContent !== text) {
      element.textContent = text;
    }
    element.title = `${whole.format(at)}\n${wholeUTC.format(at)}`;
  }
};

// A storybook freezes time, so that a picture of a page is the same tomorrow.
if (!document.documentElement.hasAttribute("data-still")) {
  onContent(draw);
  setInterval(() => document.hidden || draw(), refreshMilliseconds);
}
