// An image for the playground: a file is read here, made smaller when it is too large to send, and kept in a hidden field,
// so that changing the model or the style does not lose it.
import { closest } from "./dom.js";
import { toast } from "./toasts.js";

const longestSide = 1568; // models look at no more pixels than this
const qualities = [0.85, 0.7, 0.5];

const fields = (form) => ({
  data: form.querySelector("[data-image]"),
  chosen: form.querySelector("[data-image-chosen]"),
  frame: form.querySelector("[data-image-preview]"),
  name: form.querySelector("[data-image-name]"),
  file: form.querySelector('input[type="file"]'),
});

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

const show = (form, data, name) => {
  const { data: field, chosen, frame, name: label } = fields(form);
  field.value = data;
  chosen.hidden = !data;
  frame.replaceChildren();
  if (data) {
    const img = document.createElement("img");
    img.src = data;
    img.alt = "The image to send";
    frame.append(img);
    label.textContent = name;
  }
  form.elements.prompt.dispatchEvent(new Event("input", { bubbles: true }));
};

const take = async (form, file) => {
  try {
    const { blob, note } = await fitted(file, Number(form.dataset.imageMax));
    show(form, await asDataURL(blob), `${file.name || "Image"}${note}`);
  } catch {
    toast("danger", "This file cannot be used as an image. PNG, JPEG, WebP and GIF can.");
  }
};

document.addEventListener("change", async (event) => {
  const input = closest(event, '[data-play] input[type="file"]');
  if (input?.files[0]) {
    event.stopPropagation();
    await take(input.form, input.files[0]);
    input.value = "";
  }
});

// Pictures can also be pasted into the message.
document.addEventListener("paste", (event) => {
  const form = closest(event, "[data-play]");
  const file = [...(event.clipboardData?.files ?? [])].find((one) => one.type.startsWith("image/"));
  if (form && file && fields(form).data) {
    event.preventDefault();
    take(form, file);
  }
});

document.addEventListener("click", (event) => {
  const button = closest(event, "[data-image-remove]");
  if (button) {
    show(button.closest("form"), "", "");
  }
});

// A turn that is edited gives its image back.
document.addEventListener("play:image", (event) => {
  const form = event.target;
  if (!fields(form).data) {
    return;
  }
  const image = event.detail;
  const isData = image.startsWith("data:image/");
  show(form, isData ? image : "", "Image of the turn");
  form.elements.image_url.value = isData ? "" : image;
});
