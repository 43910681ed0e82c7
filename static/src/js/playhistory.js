// The history of runs: what was sent and answered, kept in this browser for the person who is signed in.
import { closest } from "./dom.js";
import { factValue, modelName, page, panes, part, shape } from "./playdom.js";
import { contentOf, put } from "./playfile.js";
import { addPane, removePane } from "./playpanes.js";
import { runs } from "./playrun.js";
import { tell } from "./times.js";
import { say, toast } from "./toasts.js";

const runsMax = 50;
const bytesMax = 20_000_000;
const titleCharacters = 80;

const opened = () =>
  new Promise((done, refuse) => {
    const request = indexedDB.open("umg-playground", 1);
    request.onupgradeneeded = () => request.result.createObjectStore("runs", { keyPath: "id" });
    request.onsuccess = () => done(request.result);
    request.onerror = () => refuse(request.error);
  });

// within runs one request of the store and returns its result.
const within = async (mode, ask) => {
  const base = await opened();
  try {
    return await new Promise((done, refuse) => {
      const request = ask(base.transaction("runs", mode).objectStore("runs"));
      request.onsuccess = () => done(request.result);
      request.onerror = () => refuse(request.error);
    });
  } finally {
    base.close();
  }
};

const owner = () => page().dataset.owner;

// kept returns the runs of the person, the newest first.
const kept = async () => {
  const all = await within("readonly", (store) => store.getAll());
  return all.filter((run) => run.owner === owner()).sort((a, b) => b.at - a.at);
};

const remove = (id) => within("readwrite", (store) => store.delete(id));

// bound deletes the oldest runs beyond what is kept.
const bound = async () => {
  let bytes = 0;
  for (const [i, run] of (await kept()).entries()) {
    bytes += run.bytes;
    if (i >= runsMax || bytes > bytesMax) {
      await remove(run.id);
    }
  }
};

const titleOf = (turns) => {
  const said = turns.filter((turn) => turn.role === "user").at(-1);
  const words = (said?.text ?? "").split(/\s+/).filter(Boolean).join(" ");
  return words.length > titleCharacters ? `${words.slice(0, titleCharacters)}…` : words || (said?.image ? "Image" : "Run");
};

const costOf = (turns) => factValue(turns.at(-1)?.done?.facts ?? [], "Cost");

// save writes one pane of a run beside those that are written already.
const save = async (form, id) => {
  const content = contentOf(form);
  const number = panes().indexOf(form);
  if (number < 0 || content.turns.length === 0) {
    return;
  }
  const entry = { ...content, number, name: modelName(form), cost: costOf(content.turns) };
  const before = await within("readonly", (store) => store.get(id));
  const all = [...(before?.panes ?? []).filter((one) => one.number !== number), entry].sort((a, b) => a.number - b.number);
  const run = { id, owner: owner(), at: before?.at ?? Date.now(), title: titleOf(content.turns), panes: all };
  await within("readwrite", (store) => store.put({ ...run, bytes: JSON.stringify(run).length }));
  await bound();
};

// Saves come one after the other, since each reads what the one before has written.
let saving = Promise.resolve();
const later = (work) => {
  saving = saving.then(work).catch((error) => console.warn(error));
  return saving;
};

const lineOf = (run) => {
  const models = run.panes.map((one) => (one.cost ? `${one.name}, ${one.cost}` : one.name));
  return [tell.moment(run.at), ...models].join(" · ");
};

const draw = async () => {
  const list = await kept();
  part(page(), "history-runs").replaceChildren(
    ...list.map((run) => {
      const row = shape("play-run");
      row.dataset.run = run.id;
      part(row, "history-open").textContent = run.title;
      part(row, "history-line").textContent = lineOf(run);
      part(row, "history-delete").setAttribute("aria-label", `Delete the run: ${run.title}`);
      return row;
    }),
  );
  part(page(), "history-none").hidden = list.length > 0;
  part(page(), "history-clear").hidden = list.length === 0;
};

// open puts a run into the playground, with one pane for each of its models.
const open = async (id) => {
  const run = await within("readonly", (store) => store.get(id));
  if (!run || run.owner !== owner()) {
    return;
  }
  while (panes().length > 1) {
    removePane(panes().at(-1));
  }
  const [first] = panes();
  await put(first, run.panes[0]);
  for (const one of run.panes.slice(1)) {
    const form = await addPane(panes().at(-1), { model: one.fields.model });
    if (form) {
      await put(form, one);
    }
  }
  first.querySelector(".model-button").focus();
  say(`Opened the run: ${run.title}`);
};

const actions = {
  "[data-history-open]": async (button) => {
    const { run } = button.closest("[data-run]").dataset;
    part(page(), "history-list").hidePopover();
    if (runs.size > 0) {
      toast("danger", "Wait until the answers are complete, or stop them, before you open a run.");
      return;
    }
    await open(run);
  },
  "[data-history-delete]": async (button) => {
    await remove(button.closest("[data-run]").dataset.run);
    await draw();
    (part(page(), "history-open") ?? part(page(), "history-list")).focus();
    say("Deleted");
  },
  "[data-history-clear]": async () => {
    for (const run of await kept()) {
      await remove(run.id);
    }
    await draw();
    part(page(), "history-list").focus();
    say("Deleted all runs of this browser");
  },
};

document.addEventListener("click", (event) => {
  for (const [selector, act] of Object.entries(actions)) {
    const button = closest(event, selector);
    if (button) {
      later(() => act(button));
    }
  }
});

if (page() && part(page(), "history-list") && "indexedDB" in window) {
  page().addEventListener("play:ended", (event) => later(() => save(event.detail.form, event.detail.run)));
  part(page(), "history-list").addEventListener("toggle", (event) => {
    if (event.newState === "open") {
      later(draw).then(() => (part(page(), "history-open") ?? part(page(), "history-list")).focus());
    }
  });
}
