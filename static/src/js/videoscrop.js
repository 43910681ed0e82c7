// The first frame of a video has to have the video's size to the pixel. A picture of another size is cut here: as much of
// it as fits the shape is kept, a frame that can be moved says which part, and the part is scaled to the size.
import { closest } from "./dom.js";

const step = 0.02;
const bigStep = 0.1;
const quality = 0.92;
// The largest side of the preview, in pixels.
const viewMax = 640;

// The picture to crop is { bitmap, file, at, kept }.
let picture = null;
let turn = 0;

const parts = () => {
  const form = document.querySelector("[data-video-form]");
  return (
    form && {
      form,
      input: form.querySelector("#video-file"),
      crop: form.querySelector("[data-crop]"),
      canvas: form.querySelector("[data-crop-canvas]"),
      frame: form.querySelector("[data-crop-frame]"),
      note: form.querySelector("[data-crop-note]"),
      remove: form.querySelector("[data-crop-remove]"),
      slot: form.querySelector("#video-error-input_reference"),
      button: form.querySelector("[data-video-button]"),
    }
  );
};

const wanted = (form) => {
  const [width, height] = (form.elements.size?.value ?? "").split("x").map(Number);
  return width > 0 && height > 0 ? { width, height } : null;
};

// part is the largest piece of the picture in the shape of the video, where the frame stands.
const part = ({ bitmap, at }, size) => {
  const scale = Math.min(bitmap.width / size.width, bitmap.height / size.height);
  const width = Math.min(bitmap.width, Math.round(size.width * scale));
  const height = Math.min(bitmap.height, Math.round(size.height * scale));
  return {
    x: Math.round((bitmap.width - width) * at), y: Math.round((bitmap.height - height) * at), width, height,
    across: bitmap.width - width >= bitmap.height - height, loose: bitmap.width > width || bitmap.height > height,
  };
};

const complain = (p, text) => {
  p.slot.replaceChildren();
  if (text) {
    const line = document.createElement("p");
    line.className = "field-error";
    line.textContent = text;
    p.slot.append(line);
  }
  p.input.setAttribute("aria-invalid", String(Boolean(text)));
};

const hold = (p, file) => {
  const carrier = new DataTransfer();
  carrier.items.add(file);
  p.input.files = carrier.files;
};

const forget = (p) => {
  turn += 1;
  p.button.disabled = false;
  picture?.bitmap.close();
  picture = null;
  p.input.value = "";
  p.crop.hidden = true;
  p.remove.hidden = true;
  p.note.textContent = "";
};

const note = (size, piece, { bitmap }) => {
  const own = `${bitmap.width} × ${bitmap.height}`;
  const goal = `${size.width} × ${size.height}`;
  if (bitmap.width === size.width && bitmap.height === size.height) {
    return `The picture is ${own}, exactly the size of the video.`;
  }
  const soft = piece.width < size.width ? " It is smaller than the video, so it will look soft." : "";
  const cut = piece.loose ? "The framed part is cut out and scaled to" : "It is scaled to";
  const move = piece.loose ? " Move the frame with the pointer or the arrow keys." : "";
  return `The picture is ${own}. ${cut} ${goal}.${soft}${move}`;
};

// draw shows the picture with the frame on it.
const draw = (p, size) => {
  const { bitmap } = picture;
  const piece = part(picture, size);
  const scale = Math.min(1, viewMax / Math.max(bitmap.width, bitmap.height));
  const width = Math.max(1, Math.round(bitmap.width * scale));
  const height = Math.max(1, Math.round(bitmap.height * scale));
  if (p.canvas.width !== width || p.canvas.height !== height || picture.drawn !== bitmap) {
    p.canvas.width = width;
    p.canvas.height = height;
    p.canvas.getContext("2d").drawImage(bitmap, 0, 0, width, height);
    picture.drawn = bitmap;
  }
  const percent = (n, of) => `${(100 * n) / of}%`;
  Object.assign(p.frame.style, {
    left: percent(piece.x, bitmap.width), top: percent(piece.y, bitmap.height), width: percent(piece.width, bitmap.width),
    height: percent(piece.height, bitmap.height),
  });
  const at = Math.round(picture.at * 100);
  const sides = piece.across ? ["left", "right"] : ["top", "bottom"];
  p.frame.setAttribute("aria-valuenow", String(at));
  p.frame.setAttribute("aria-orientation", piece.across ? "horizontal" : "vertical");
  p.frame.setAttribute("aria-valuetext", at === 50 ? "the middle" : `${at}% from the ${sides[0]} to the ${sides[1]}`);
  p.frame.setAttribute("aria-disabled", String(!piece.loose));
  p.crop.hidden = false;
  p.remove.hidden = false;
  const text = note(size, piece, picture);
  if (p.note.textContent !== text) {
    p.note.textContent = text;
  }
  return piece;
};

const encode = (canvas, type) => new Promise((done) => canvas.toBlob(done, type, quality));

// cut puts the file to send into the field: the picture itself when it fits, else the framed part of it.
const cut = async (p, size, piece) => {
  turn += 1;
  const mine = turn;
  const { bitmap, file } = picture;
  const most = Number(p.input.dataset.imageMax);
  if (bitmap.width === size.width && bitmap.height === size.height && file.size <= most) {
    p.button.disabled = false;
    hold(p, file);
    return;
  }
  p.button.disabled = true;
  const canvas = document.createElement("canvas");
  canvas.width = size.width;
  canvas.height = size.height;
  const pen = canvas.getContext("2d");
  pen.imageSmoothingQuality = "high";
  pen.drawImage(bitmap, piece.x, piece.y, piece.width, piece.height, 0, 0, size.width, size.height);
  let blob = await encode(canvas, file.type === "image/png" ? "image/png" : "image/jpeg");
  if (blob && blob.size > most) {
    blob = await encode(canvas, "image/jpeg");
  }
  if (mine !== turn) {
    // The reader has moved the frame while the file was made.
    return;
  }
  p.button.disabled = false;
  if (blob) {
    const ending = blob.type === "image/png" ? "png" : "jpg";
    hold(p, new File([blob], `${file.name.replace(/\.[^.]*$/, "") || "picture"}.${ending}`, { type: blob.type }));
  }
};

const refresh = async (p) => {
  const size = picture && p && wanted(p.form);
  if (size) {
    await cut(p, size, draw(p, size));
  }
};

const take = async (p, file) => {
  forget(p);
  complain(p, "");
  try {
    const bitmap = await createImageBitmap(file);
    picture = { bitmap, file, at: 0.5 };
  } catch {
    complain(p, "This file cannot be read as a picture. PNG, JPEG and WebP can.");
    return;
  }
  await refresh(p);
};

document.addEventListener("change", async (event) => {
  const p = closest(event, "[data-video-form]") && parts();
  if (!p) {
    return;
  }
  if (event.target === p.input) {
    const [file] = p.input.files;
    if (file) {
      await take(p, file);
    } else {
      forget(p);
    }
  } else if (event.target.name === "size") {
    await refresh(p);
  }
});

// Another model may offer other sizes.
document.addEventListener("htmx:after:swap", (event) => {
  if (picture && event.detail.ctx.sourceElement?.hasAttribute("data-video-model")) {
    refresh(parts());
  }
});

document.addEventListener("click", (event) => {
  if (closest(event, "[data-crop-remove]")) {
    const p = parts();
    forget(p);
    complain(p, "");
    p.input.focus();
  }
});

const move = (p, to) => {
  picture.at = Math.min(1, Math.max(0, to));
  return draw(p, wanted(p.form));
};

document.addEventListener("keydown", async (event) => {
  const p = picture && closest(event, "[data-crop-frame]") && parts();
  const by = {
    ArrowLeft: -step, ArrowUp: -step, ArrowRight: step, ArrowDown: step, PageUp: -bigStep, PageDown: bigStep, Home: -1, End: 1,
  }[event.key];
  if (p && by !== undefined) {
    event.preventDefault();
    await cut(p, wanted(p.form), move(p, picture.at + by));
  }
});

// The point where the pointer took hold of the frame.
let grip = null;

document.addEventListener("pointerdown", (event) => {
  const frame = closest(event, "[data-crop-frame]");
  if (frame && picture && event.button === 0) {
    grip = { x: event.clientX, y: event.clientY, at: picture.at };
    frame.setPointerCapture(event.pointerId);
  }
});

document.addEventListener("pointermove", (event) => {
  const p = grip && picture && parts();
  if (!p) {
    return;
  }
  const piece = part(picture, wanted(p.form));
  const box = p.canvas.getBoundingClientRect();
  const room = piece.across
    ? (box.width * (picture.bitmap.width - piece.width)) / picture.bitmap.width
    : (box.height * (picture.bitmap.height - piece.height)) / picture.bitmap.height;
  const gone = piece.across ? event.clientX - grip.x : event.clientY - grip.y;
  if (room > 0) {
    move(p, grip.at + gone / room);
  }
});

for (const kind of ["pointerup", "pointercancel"]) {
  document.addEventListener(kind, async () => {
    if (grip) {
      grip = null;
      await refresh(parts());
    }
  });
}
