// The video pages: what a video will cost while its form is filled in, how long it has been waited for, the frames of its
// spritesheet one by one, and the number of ticked videos in the list.
import { closest, onContent } from "./dom.js";
import { count, decimal, dollars } from "./numbers.js";
import "./videoscrop.js";
// What other scripts share with app.js is named here too, so that all of it stays in one file that every page has loaded already.
import "./copy.js";
import "./times.js";
import "./toasts.js";

const tick = 1000;

const formOf = () => document.querySelector("[data-video-form]");

const chosen = (form) =>
  [form.querySelector("[data-video-model]"), form.querySelector("[data-video-also]")]
    .map((select) => select?.selectedOptions[0])
    .filter((option) => option?.value);

// rate is what a second costs in a size; undefined when the model does not make it.
const rate = (option, size) => {
  const pair = (option.dataset.rates ?? "").split(" ").find((one) => one.startsWith(`${size}:`));
  return pair === undefined ? undefined : BigInt(pair.slice(size.length + 1));
};

// disagree clears the reader's agreement when the price has changed.
const disagree = (form) => {
  form.querySelector('[name="agreed"]')?.remove();
  form.querySelector("#video-agree")?.remove();
  form.querySelector("[data-video-button]").dataset.agree = "false";
  relabel(form);
};

// relabel writes the action on the button, unless the button asks for an agreement.
const relabel = (form) => {
  if (!form.querySelector('[name="agreed"]')) {
    form.querySelector("[data-video-label]").textContent = chosen(form).length > 1 ? "Make 2 videos" : "Make video";
  }
};

// reprice says what the form as it stands would cost, and what would be left. A price that was agreed to and is another
// now has to be agreed to again.
const reprice = () => {
  const form = formOf();
  const size = form?.elements.size?.value;
  const seconds = form?.elements.seconds?.value;
  const price = form?.querySelector("[data-video-price]");
  if (!price || !size || !seconds) {
    return;
  }
  const rates = chosen(form).map((option) => rate(option, size));
  const after = form.querySelector("[data-video-after]");
  if (rates.includes(undefined)) {
    disagree(form);
    price.textContent = "–";
    after.textContent = "the second model does not make this size";
    return;
  }
  let total = 0n;
  for (const one of rates) {
    total += one * BigInt(seconds);
  }
  price.textContent = `${rates.map((one) => `${seconds} s × ${dollars(one)}`).join(" + ")} = ${dollars(total)}`;
  const { balance: known } = form.querySelector("[data-balance]").dataset;
  if (known) {
    const balance = BigInt(known);
    after.textContent = total > balance ? `more than your balance of ${dollars(balance)}` : `Balance after: ${dollars(balance - total)}`;
  }
  if (String(total) !== form.querySelector('[name="agreed"]')?.dataset.nanos) {
    disagree(form);
  }
};

const showImageField = () => {
  const form = formOf();
  const field = form?.querySelector("[data-video-image]");
  const option = form?.querySelector("[data-video-model]")?.selectedOptions[0];
  if (field && option) {
    field.hidden = option.dataset.pictures === "false";
    field.querySelector("input").disabled = field.hidden;
  }
};

document.addEventListener("change", (event) => {
  if (closest(event, "[data-video-form]")) {
    showImageField();
    reprice();
  }
});

// Fields that something is wrong with are marked, and the first of them gets the focus.
const fieldOf = { prompt: "#video-prompt", model: "#video-model", also: "#video-also", input_reference: "#video-file", asset_ids: "#video-asset-ids" };

const mark = (form) => {
  let first = null;
  for (const slot of form.querySelectorAll(".field-slot")) {
    const wrong = slot.childElementCount > 0;
    const field = form.querySelector(fieldOf[slot.dataset.field] ?? `[name="${slot.dataset.field}"]:checked`);
    field?.setAttribute("aria-invalid", String(wrong));
    first ??= wrong ? field : null;
  }
  return first;
};

document.addEventListener("htmx:after:swap", (event) => {
  const form = formOf();
  const { ctx } = event.detail;
  if (!form || ctx.sourceElement?.hasAttribute("data-poll")) {
    return;
  }
  showImageField();
  reprice();
  if (ctx.sourceElement !== form) {
    return;
  }
  const target = mark(form) ?? form.querySelector('[data-agree="true"]') ?? (ctx.response.status < 300 && document.getElementById("started-title"));
  if (target) {
    target.focus();
    target.scrollIntoView({ block: "nearest" });
  }
});

document.addEventListener("keydown", (event) => {
  const form = closest(event, "[data-video-form]");
  if (form && event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    const button = form.querySelector("[data-video-button]");
    if (!button.disabled) {
      form.requestSubmit(button);
    }
  }
});

// This counts the written characters of a text.
const tell = (area) => {
  const note = document.getElementById(area.dataset.count);
  const most = Number(area.dataset.countMax);
  const length = [...area.value].length;
  note.textContent = `${count(length)} of ${count(most)} characters`;
  note.toggleAttribute("data-over", length > most);
};

document.addEventListener("input", (event) => {
  const area = closest(event, "[data-count]");
  if (area) {
    tell(area);
  }
});

// The waiting time counts on between two requests to the server.
const words = (seconds) => {
  if (seconds < 60) {
    return `${seconds} s`;
  }
  return seconds < 3600
    ? `${Math.floor(seconds / 60)} min ${seconds % 60} s`
    : `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
};

if (!document.documentElement.hasAttribute("data-still")) {
  setInterval(() => {
    for (const element of document.querySelectorAll("[data-since]")) {
      element.textContent = words(Math.max(0, Math.floor((Date.now() - new Date(element.dataset.since)) / 1000)));
    }
  }, tick);
}

// The spritesheet: one frame is shown, enlarged to the whole box.
const frameOf = (scrub) => Number(scrub.querySelector("[data-scrub-range]").value);

const show = (scrub) => {
  const sheet = scrub.querySelector("[data-scrub-sheet]");
  const range = scrub.querySelector("[data-scrub-range]");
  const frames = Number(sheet.dataset.frames);
  const columns = Number(sheet.dataset.columns);
  const at = frameOf(scrub);
  sheet.style.translate = `${(-100 / columns) * (at % columns)}% ${(-100 / (frames / columns)) * Math.floor(at / columns)}%`;
  const second = decimal((Number(range.dataset.seconds) * at) / frames, 1);
  const text = `Frame ${at + 1} of ${frames}, at ${second} s`;
  range.setAttribute("aria-valuetext", text);
  scrub.querySelector("[data-scrub-at]").textContent = text;
};

const prepare = () => {
  for (const scrub of document.querySelectorAll("[data-scrub]:not([data-ready])")) {
    scrub.dataset.ready = "";
    show(scrub);
  }
};

const seek = (scrub) => {
  const player = document.getElementById(scrub.dataset.scrubPlayer);
  const frames = Number(scrub.querySelector("[data-scrub-sheet]").dataset.frames);
  if (player?.duration) {
    player.currentTime = (player.duration * frameOf(scrub)) / frames;
  }
};

document.addEventListener("pointermove", (event) => {
  const box = closest(event, "[data-scrub-frame]");
  if (!box) {
    return;
  }
  const scrub = box.closest("[data-scrub]");
  const { left, width } = box.getBoundingClientRect();
  const frames = Number(scrub.querySelector("[data-scrub-sheet]").dataset.frames);
  const at = Math.floor(((event.clientX - left) / width) * frames);
  scrub.querySelector("[data-scrub-range]").value = String(Math.min(frames - 1, Math.max(0, at)));
  show(scrub);
});

document.addEventListener("input", (event) => {
  if (closest(event, "[data-scrub-range]")) {
    show(event.target.closest("[data-scrub]"));
  }
});

for (const kind of ["change", "click"]) {
  document.addEventListener(kind, (event) => {
    const scrub = closest(event, kind === "change" ? "[data-scrub-range]" : "[data-scrub-frame]")?.closest("[data-scrub]");
    if (scrub) {
      seek(scrub);
    }
  });
}

// This counts the ticked videos.
const tally = () => {
  const bulk = document.querySelector("[data-bulk]");
  if (!bulk) {
    return;
  }
  const ticked = document.querySelectorAll("[data-bulk-pick]:checked").length;
  const note = ticked ? `${ticked} selected` : "";
  const label = bulk.querySelector("[data-bulk-count]");
  if (label.textContent !== note) {
    label.textContent = note;
  }
  bulk.dataset.any = String(ticked > 0);
};

document.addEventListener("change", (event) => {
  if (closest(event, "[data-bulk-pick]")) {
    tally();
  }
});

// A picture that cannot be fetched gives way to the icon behind it. Such events do not bubble.
document.addEventListener(
  "error",
  (event) => {
    if (event.target instanceof HTMLImageElement && event.target.closest(".asset-still, .asset-picture")) {
      event.target.dataset.broken = "";
    }
  },
  true,
);

const markBroken = () => {
  for (const image of document.querySelectorAll(":is(.asset-still, .asset-picture) > img")) {
    if (image.complete && image.naturalWidth === 0 && image.currentSrc) {
      image.dataset.broken = "";
    }
  }
};

onContent(() => {
  prepare();
  tally();
  showImageField();
  markBroken();
});
