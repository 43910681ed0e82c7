// An image for the playground: a file is read here, made smaller when it is too large to send, and kept in a hidden field,
// so that changing the model or the style does not lose it.
import { closest } from "./dom.js";
import { say, toast } from "./toasts.js";

// Models scale larger pictures down to this many pixels a side, so more would only cost upload time.
const longestSide = 1568;
const qualities = [0.85, 0.7, 0.5];

const theComposer = () => document.querySelector("[data-composer]");

const fields = () => {
  const root = theComposer();
  return {
    data: root.querySelector("[data-image]"), chosen: root.querySelector("[data-image-chosen]"), frame: root.querySelector("[data-image-preview]"),
    name: root.querySelector("[data-image-name]"), address: root.querySelector("[name=image_url]"), part: root.querySelector("[data-image-part]"),
  };
};

const asDataURL = (blob) =>
  new Promise((done, refuse) => {
    const reader = new FileReader();
    reader.onload = () => done(reader.result);
    reader.onerror = () => refuse(reader.error);
    reader.readAsDataURL(blob);
  });

const encode = (canvas, quality) => new Promise((done) => canvas.toBlob(done, "image/jpeg", quality));

// fitted is the file itself when it is small enough, else a smaller picture of it.
const fitted = async (file, most) => {
  if (file.size <= most) {
    return { blob: file, note: "" };
  }
  const bitmap = await createImageBitmap(file);
  const scale = Math.min(1, longestSide / Math.max(bitmap.width, bitmap.height));
  const canvas = document.createElement("canvas");
  canvas.width = Math.round(bitmap.width * scale);
  canvas.height = Math.round(bitmap.height * scale);
  canvas.getContext("2d").drawImage(bitmap, 0, 0, canvas.width, canvas.height);
  for (const quality of qualities) {
    const blob = await encode(canvas, quality);
    if (blob && blob.size <= most) {
      return { blob, note: `, made smaller: ${canvas.width} × ${canvas.height}` };
    }
  }
  throw new Error("too large");
};

const show = (data, name) => {
  const { data: field, chosen, frame, name: label, address } = fields();
  field.value = data;
  chosen.hidden = !data && !address.value;
  frame.replaceChildren();
  label.textContent = data ? name : address.value;
  if (data) {
    const img = document.createElement("img");
    img.src = data;
    img.alt = "The image to send";
    frame.append(img);
  }
  field.dispatchEvent(new Event("input", { bubbles: true }));
};

const take = async (file) => {
  try {
    const { blob, note } = await fitted(file, Number(document.querySelector("[data-play]").dataset.imageMax));
    fields().address.value = "";
    const name = file.name || "Image";
    show(await asDataURL(blob), `${name}${note}`);
    say(`Attached ${name}${note}`);
  } catch {
    toast("danger", "This file cannot be used as an image. PNG, JPEG, WebP and GIF can.");
  }
};

document.addEventListener("change", async (event) => {
  const input = closest(event, '[data-composer] input[type="file"]');
  if (input?.files[0]) {
    event.stopPropagation();
    await take(input.files[0]);
    input.value = "";
    input.closest("[popover]")?.hidePopover();
    theComposer().querySelector("[name=prompt]").focus();
  }
});

// takes reports whether the playground gets what is pasted or dropped: also when nothing on the page has the focus.
const takes = (event) => theComposer() && (event.target === document.body || closest(event, "[data-play]"));

// imageIn finds the picture in what is pasted or dropped, where the models can see it.
const imageIn = (event, files) => {
  const file = [...(files ?? [])].find((one) => one.type.startsWith("image/"));
  return takes(event) && !fields().part.hidden ? file : undefined;
};

document.addEventListener("paste", (event) => {
  const file = imageIn(event, event.clipboardData?.files);
  if (file) {
    event.preventDefault();
    take(file);
  }
});

const dragged = (event) => event.dataTransfer?.types.includes("Files") && takes(event);

document.addEventListener("dragover", (event) => {
  if (dragged(event)) {
    event.preventDefault();
    theComposer().toggleAttribute("data-drop", !fields().part.hidden);
  }
});

document.addEventListener("dragleave", (event) => {
  if (!event.relatedTarget) {
    theComposer()?.removeAttribute("data-drop");
  }
});

document.addEventListener("drop", (event) => {
  if (!dragged(event)) {
    return;
  }
  event.preventDefault();
  theComposer().removeAttribute("data-drop");
  const file = imageIn(event, event.dataTransfer.files);
  if (file) {
    take(file);
  } else {
    toast("danger", fields().part.hidden ? "None of these models takes images." : "Only images can be dropped here.");
  }
});

document.addEventListener("click", (event) => {
  if (closest(event, "[data-image-remove]")) {
    fields().address.value = "";
    show("", "");
    theComposer().querySelector("[name=prompt]").focus();
  }
});

document.addEventListener("input", (event) => {
  if (closest(event, "[data-composer] [name=image_url]")) {
    const { data, chosen, name, address } = fields();
    if (!data.value) {
      chosen.hidden = !address.value;
      name.textContent = address.value;
    }
  }
});

// A message that comes back brings its image.
document.addEventListener("play:image", (event) => {
  const image = event.detail;
  const isData = image.startsWith("data:image/");
  fields().address.value = isData ? "" : image;
  show(isData ? image : "", "Image of the message");
});
