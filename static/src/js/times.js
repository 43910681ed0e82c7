// The server prints UTC. The page shows every <time data-time> in the reader's own zone, with both times in its tooltip.
import { onContent } from "./dom.js";

const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const refreshMilliseconds = 30_000;
const minute = 60;
const hour = 60 * minute;
const day = 24 * hour;

const two = (n) => String(n).padStart(2, "0");
const clock = (at) => `${two(at.getHours())}:${two(at.getMinutes())}`;
const dayOf = (at) => `${at.getDate()} ${months[at.getMonth()]}`;
const whole = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "long" });
const wholeUTC = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "long", timeZone: "UTC" });

// The words are the same as the server's, so that the page does not change when the script writes them again.
const tell = {
  moment: (at) =>
    at.toDateString() === new Date().toDateString()
      ? `${clock(at)}:${two(at.getSeconds())}`
      : `${at.getFullYear() === new Date().getFullYear() ? dayOf(at) : tell.day(at)}, ${clock(at)}`,
  day: (at) => `${dayOf(at)} ${at.getFullYear()}`,
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
