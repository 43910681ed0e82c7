// What the modules of the playground share: its panes, the one composer of them all, and shapes to fill.
export const page = () => document.querySelector("[data-play]");
// panes returns the visible panes, without those that are put away.
export const panes = () => [...document.querySelectorAll("[data-pane-list] > [data-pane]")];
export const composer = () => document.querySelector("[data-composer]");
export const part = (root, name) => root.querySelector(`[data-${name}]`);
export const field = (name) => composer().querySelector(`[name="${name}"]`);
export const turnsOf = (form) => [...form.querySelectorAll("[data-turn]")];
export const shape = (id) => document.getElementById(id).content.firstElementChild.cloneNode(true);
export const modelName = (form) => part(form, "name").textContent;
export const wait = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

// valuesOf is what a pane sends: its own fields, and those of the composer, which belongs to the first pane only.
export const valuesOf = (form) => {
  const data = new FormData(form);
  for (const control of composer().querySelectorAll("input[name], textarea[name]")) {
    if (control.form !== form && control.type !== "file" && (control.type !== "checkbox" || control.checked)) {
      data.append(control.name, control.value);
    }
  }
  // The hidden field has the picture already.
  data.delete("image_file");
  return data;
};

// settingsOf leaves the conversation out: it is large, and stays in the page.
export const settingsOf = (form) => {
  const data = valuesOf(form);
  for (const name of ["turn_role", "turn_text", "turn_image", "turn_note", "turn_calls", "turn_call", "image", "prompt"]) {
    data.delete(name);
  }
  return data;
};

// changed tells the other modules that the request to be sent has changed.
export const changed = (root = page()) => root.dispatchEvent(new CustomEvent("play:changed", { bubbles: true }));

// fetched posts a form and gives the page that comes back.
export const fetched = async (path, data, signal) => {
  const answer = await fetch(path, { method: "POST", body: data, signal });
  if (answer.redirected) {
    location.assign(answer.url);
  }
  if (answer.status >= 500) {
    throw new Error(`status ${answer.status}`);
  }
  return new DOMParser().parseFromString(await answer.text(), "text/html");
};

// factValue returns a fact by its name, or an empty text.
export const factValue = (facts, name) => facts.find(([one]) => one === name)?.[1] ?? "";

export const factList = (pairs) => {
  const list = document.createElement("dl");
  list.className = "facts";
  list.append(
    ...pairs.map(([name, value]) => {
      const row = document.createElement("div");
      const [term, text] = [document.createElement("dt"), document.createElement("dd")];
      term.textContent = name;
      text.textContent = value;
      row.append(term, text);
      return row;
    }),
  );
  return list;
};
