// The playground: sends its form without leaving the page and writes the answer as it comes. Whatever a model says is put
// into the page as text, never as markup.
import { closest, onContent } from "./dom.js";
import { estimate } from "./estimate.js";
import { say } from "./toasts.js";

const lines = "application/x-ndjson";
const nearPixels = 48; // from the end, where the reader is taken to follow
const askAgainMilliseconds = [150, 350, 700, 1500];

const theForm = () => document.querySelector("[data-play]");
const part = (root, name) => root.querySelector(`[data-${name}]`);
let running = null; // the answer on its way: its controller, its elements, its request

const shape = (id) => document.getElementById(id).content.firstElementChild.cloneNode(true);

// facts fills a list of names and values.
const facts = (list, pairs) => {
  list.replaceChildren(
    ...pairs.map(([name, value]) => {
      const row = document.createElement("div");
      const term = document.createElement("dt");
      const text = document.createElement("dd");
      term.textContent = name;
      text.textContent = value;
      row.append(term, text);
      return row;
    }),
  );
  return list;
};

const factList = (pairs) => {
  const list = document.createElement("dl");
  list.className = "facts";
  return facts(list, pairs);
};

// number gives the turns their numbers, which the buttons to edit them send.
const number = (form) => {
  [...form.querySelectorAll("[data-turn]")].forEach((turn, i) => {
    const button = part(turn, "edit");
    if (button) {
      button.value = `edit-${i}`;
    }
  });
};

const picture = (frame, image) => {
  frame.replaceChildren();
  frame.hidden = !image;
  if (image.startsWith("data:image/")) {
    const img = document.createElement("img");
    img.src = image;
    img.alt = "Attached image";
    frame.append(img);
  } else if (image) {
    const code = document.createElement("code");
    code.className = "mono";
    code.textContent = image;
    frame.append(code);
  }
};

const addTurn = (form, id, text, image) => {
  const turn = shape(id);
  part(turn, "text").textContent = text;
  part(turn, "turn-text").value = text;
  part(turn, "turn-image").value = image;
  picture(part(turn, "turn-picture"), image);
  part(form, "empty")?.remove();
  part(form, "log").append(turn);
  return turn;
};

const bare = (form) => {
  if (!form.querySelector("[data-turn]") && !part(form, "empty")) {
    part(form, "log").append(shape("play-nothing"));
  }
};

// setState shows whether an answer is on its way.
const setState = (form, state) => {
  form.dataset.state = state;
  const idle = state === "idle";
  const [send, stop] = [part(form, "send"), part(form, "stop")];
  const held = document.activeElement === send || document.activeElement === stop;
  send.hidden = !idle;
  stop.hidden = idle;
  part(form, "log").setAttribute("aria-busy", String(!idle));
  if (held) {
    (idle ? send : stop).focus();
  }
};

const clearTrouble = (form) => {
  part(form, "trouble").replaceChildren();
  for (const field of form.querySelectorAll(".param[data-invalid]")) {
    field.removeAttribute("data-invalid");
    field.querySelector("input, select, textarea").removeAttribute("aria-invalid");
    part(field, "param-error").hidden = true;
  }
};

// trouble says why there is no answer, and beside which parameter the mistake is.
const trouble = (form, { text, facts: pairs = [], field = "", credit = false }) => {
  const box = shape("play-error");
  box.querySelector("strong").textContent = text;
  facts(box.querySelector("dl"), pairs);
  box.querySelector("a").hidden = !credit;
  part(form, "trouble").replaceChildren(box);
  const wrong = field && form.querySelector(`.param[data-param="${CSS.escape(field)}"]`);
  if (wrong) {
    const control = wrong.querySelector("input, select, textarea");
    const note = part(wrong, "param-error");
    wrong.setAttribute("data-invalid", "");
    control.setAttribute("aria-invalid", "true");
    note.textContent = text;
    note.hidden = false;
    wrong.closest("details")?.setAttribute("open", "");
    control.focus();
  }
};

const balance = (funds) => {
  const chip = document.getElementById("balance");
  const shown = chip?.querySelector(".money");
  if (!funds || !shown) {
    return;
  }
  shown.textContent = funds.text;
  chip.setAttribute("aria-label", funds.label);
  chip.toggleAttribute("data-tone", funds.tone !== "");
  if (funds.tone) {
    chip.dataset.tone = funds.tone;
  }
};

const atEnd = (log) => log.scrollHeight - log.scrollTop - log.clientHeight < nearPixels;

// writer collects what arrives between two frames of the screen and appends it at once.
const writer = (element, log) => {
  const node = document.createTextNode("");
  element.append(node);
  let waiting = "";
  let asked = 0;
  const write = () => {
    asked = 0;
    const follows = atEnd(log);
    const inSight = element.getBoundingClientRect().bottom <= innerHeight;
    node.appendData(waiting);
    waiting = "";
    if (follows) {
      log.scrollTop = log.scrollHeight;
    }
    if (inSight && element.getBoundingClientRect().bottom > innerHeight) {
      element.scrollIntoView({ block: "end" });
    }
  };
  return {
    add(text) {
      waiting += text;
      asked ||= requestAnimationFrame(write);
    },
    close() {
      cancelAnimationFrame(asked);
      write();
      return node.data;
    },
  };
};

const begin = (form) => {
  const prompt = form.elements.prompt.value;
  const image = part(form, "image")?.value || form.elements.image_url?.value.trim() || "";
  const log = part(form, "log");
  const user = addTurn(form, "play-user", prompt, image);
  const answer = addTurn(form, "play-answer", "", "");
  answer.dataset.state = "waiting";
  log.scrollTop = log.scrollHeight;
  answer.scrollIntoView({ block: "nearest" });
  number(form);
  return {
    controller: new AbortController(), form, user, answer, prompt, image, request: "",
    text: writer(part(answer, "text"), log), thought: writer(part(answer, "thought-text"), log),
  };
};

const giveImage = (form, image) => form.dispatchEvent(new CustomEvent("play:image", { bubbles: true, detail: image }));

const emptyComposer = (form) => {
  form.elements.prompt.value = "";
  giveImage(form, "");
  form.elements.prompt.dispatchEvent(new Event("input", { bubbles: true }));
};

// finish writes below an answer what it took.
const finish = (run, event) => {
  const { answer } = run;
  const line = shape("play-request");
  line.querySelector("code").textContent = event.request;
  line.querySelector("[data-copy]").dataset.copy = event.request;
  const log = part(run.form, "log");
  const follows = atEnd(log);
  part(answer, "facts").replaceChildren(factList(event.facts), line);
  part(answer, "turn-note").value = event.note;
  balance(event.balance);
  if (follows) {
    log.scrollTop = log.scrollHeight;
  }
};

// giveUp takes back a turn that got no answer: its text stands in the composer again.
const giveUp = (run) => {
  const { form, user, answer, prompt, image } = run;
  user.remove();
  answer.remove();
  if (!form.elements.prompt.value) {
    form.elements.prompt.value = prompt;
    giveImage(form, image);
    form.elements.prompt.dispatchEvent(new Event("input", { bubbles: true }));
  }
  number(form);
  bare(form);
};

const seal = (run) => {
  const text = run.text.close();
  run.thought.close();
  part(run.answer, "turn-text").value = text;
  delete run.answer.dataset.state;
  return text;
};

// A thought can be watched while it is all there is; then the answer takes its place.
const unfold = (run) => {
  const thought = part(run.answer, "thought");
  if (thought.hidden) {
    thought.hidden = false;
    thought.open = true;
    run.unfolded = true;
  }
};

const fold = (run) => {
  if (run.unfolded) {
    run.unfolded = false;
    part(run.answer, "thought").open = false;
  }
};

const take = (run, event) => {
  const { answer, form } = run;
  switch (event.kind) {
    case "wait":
      break;
    case "text":
      delete answer.dataset.state;
      fold(run);
      run.text.add(event.text);
      break;
    case "thought":
      unfold(run);
      run.thought.add(event.text);
      break;
    case "done":
      run.ended = true;
      seal(run);
      finish(run, event);
      say(`Answer complete. ${event.facts.map(([name, value]) => `${name} ${value}`).join(", ")}`);
      break;
    default:
      fail(run, event);
  }
};

const fail = (run, event) => {
  run.ended = true;
  if (seal(run)) {
    part(run.answer, "facts").textContent = `Cut off. ${event.note ?? ""}`;
    part(run.answer, "turn-note").value = `Cut off. ${event.note ?? ""}`;
  } else {
    giveUp(run);
  }
  balance(event.balance);
  trouble(run.form, event);
};

// read takes the lines of the answer one by one.
const read = async (run, body) => {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) {
      return;
    }
    const pieces = (rest + value).split("\n");
    rest = pieces.pop();
    for (const piece of pieces.filter(Boolean)) {
      take(run, JSON.parse(piece));
    }
  }
};

const faults = {
  413: "The conversation with its images is too large for this page. Start over, or use smaller images.",
  403: "This page was opened from another place. Reload it and try again.",
};

const send = async (form) => {
  const data = new FormData(form);
  if (!data.get("prompt").trim() && !data.get("image") && !data.get("image_url")) {
    form.elements.prompt.focus();
    return;
  }
  data.delete("image_file"); // the hidden field has it
  clearTrouble(form);
  const run = begin(form);
  emptyComposer(form);
  running = run;
  setState(form, "busy");
  try {
    const answer = await fetch(form.action, {
      method: "POST", body: data, headers: { Accept: lines, "HX-Request": "true" }, signal: run.controller.signal,
    });
    run.request = answer.headers.get("x-request-id") ?? "";
    const elsewhere = answer.headers.get("hx-redirect");
    if (elsewhere) {
      location.assign(elsewhere);
      return;
    }
    if (!answer.headers.get("content-type")?.startsWith(lines)) {
      fail(run, { text: faults[answer.status] ?? "That did not work; the fault is on our side. Try again in a moment." });
      return;
    }
    await read(run, answer.body);
    if (!run.ended) {
      fail(run, { text: "The connection ended before the answer did.", facts: [["Request", run.request]] });
    }
  } catch (error) {
    if (error.name === "AbortError") {
      await stopped(run);
    } else if (!run.ended) {
      fail(run, { text: "The service could not be reached. Check your connection and try again." });
    }
  } finally {
    running = null;
    setState(form, "idle");
  }
};

// stopped keeps what came and asks what it cost, as soon as that is written down.
const stopped = async (run) => {
  run.ended = true;
  const text = seal(run);
  say("Stopped.");
  if (!text) {
    giveUp(run);
    run.form.elements.prompt.focus();
    return;
  }
  setState(run.form, "idle");
  const note = part(run.answer, "facts");
  note.textContent = "Stopped.";
  part(run.answer, "turn-note").value = "Stopped.";
  for (const wait of askAgainMilliseconds) {
    await new Promise((done) => setTimeout(done, wait));
    const answer = await fetch(`${run.form.action}/calls/${encodeURIComponent(run.request)}`).catch(() => null);
    if (answer?.status === 200) {
      finish(run, await answer.json());
      return;
    }
  }
};

document.addEventListener("submit", (event) => {
  const form = event.target;
  const pressed = event.submitter;
  if (form !== theForm() || pressed?.hasAttribute("formaction")) {
    return;
  }
  event.preventDefault();
  if (running) {
    return;
  }
  if (pressed?.hasAttribute("data-edit")) {
    edit(form, pressed.closest("[data-turn]"));
  } else if (pressed?.hasAttribute("data-clear")) {
    part(form, "log").replaceChildren();
    clearTrouble(form);
    bare(form);
    form.elements.prompt.focus();
  } else {
    send(form);
  }
});

// edit makes a turn the prompt again; what follows it goes.
const edit = (form, turn) => {
  form.elements.prompt.value = part(turn, "turn-text").value;
  giveImage(form, part(turn, "turn-image").value);
  while (turn.nextElementSibling) {
    turn.nextElementSibling.remove();
  }
  turn.remove();
  bare(form);
  clearTrouble(form);
  form.elements.prompt.dispatchEvent(new Event("input", { bubbles: true }));
  form.elements.prompt.focus();
};

document.addEventListener("click", async (event) => {
  if (closest(event, "[data-stop]")) {
    running?.controller.abort();
  }
  const copy = closest(event, "[data-copy-turn]");
  if (copy) {
    const text = part(copy.closest("[data-turn]"), "turn-text").value;
    await navigator.clipboard?.writeText(text).then(() => say("Copied the answer"), () => say("Copying was refused by the browser."));
  }
});

document.addEventListener("keydown", (event) => {
  const form = theForm();
  if (!form || document.querySelector("dialog[open]")) {
    return;
  }
  if (event.key === "Escape" && running) {
    event.preventDefault();
    running.controller.abort();
  } else if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && form.contains(event.target)) {
    event.preventDefault();
    form.requestSubmit();
  }
});

// A page that is left ends what it had asked for, as the connection goes with it.
addEventListener("pagehide", () => running?.controller.abort());

const reckon = () => {
  const form = theForm();
  const place = form && part(form, "estimate");
  if (place) {
    place.textContent = estimate(form);
  }
};

document.addEventListener("input", (event) => {
  if (event.target.closest?.("[data-play]")) {
    reckon();
  }
});
onContent(reckon);

const conversation = theForm() && part(theForm(), "log");
if (conversation) {
  conversation.scrollTop = conversation.scrollHeight;
}
