// Builds dist from src: stylesheets, scripts, two fonts, under names that carry their content's hash, each with
// a gzip and a brotli copy beside it. Everything here gives the same bytes on every machine: versions are pinned, the
// compressors are not the platform's own, and nothing depends on the time or on the order of a directory.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build, transform } from "esbuild";
import { gzipSync } from "fflate";

const brotli = createRequire(import.meta.url)("brotli-wasm");
const root = dirname(fileURLToPath(import.meta.url));
const at = (...parts) => join(root, ...parts);
const read = (...parts) => readFileSync(at(...parts));
const text = (...parts) => readFileSync(at(...parts), "utf8");

// The parts of the component library that views/ui uses. A name that is not there any more stops the build.
const components = {
  badge: "Badge", button: "Button", card: "Card", empty: "Empty", field: "Field", input: "Input",
  label: "Label", "native-select": "Native Select", skeleton: "Skeleton", table: "Table", tooltip: "Tooltip", alert: "Alert",
};
const skin = "nova";

// libraryStyles takes the library's base and, of its one long skin file, only the sections of those components.
function libraryStyles() {
  const dist = ["node_modules", "basecoat-css", "dist"];
  const sections = text(...dist, "styles", `${skin}.css`).split(/^ *\/\* ([A-Z][A-Za-z ]*) \*\/$/m);
  const byName = new Map();
  for (let i = 1; i < sections.length; i += 2) {
    byName.set(sections[i], sections[i + 1]);
  }
  const names = Object.entries(components).sort(([a], [b]) => (a < b ? -1 : 1));
  const skins = names.map(([, title]) => {
    if (!byName.has(title)) {
      throw new Error(`the skin has no section ${title}`);
    }
    return byName.get(title).replace(/^}\s*$/m, "");
  });
  const structure = names.map(([file]) => text(...dist, "components", `${file}.css`));
  return [text(...dist, "base", "base.css"), ...structure, `@layer components {\n${skins.join("\n")}\n}`].join("\n");
}

function styles(entry, out) {
  mkdirSync(at(".build"), { recursive: true });
  writeFileSync(at(".build", "basecoat.css"), libraryStyles());
  const cli = at("node_modules", "@tailwindcss", "cli", "dist", "index.mjs");
  execFileSync(process.execPath, [cli, "-i", entry, "-o", out, "--minify"], { cwd: root, stdio: ["ignore", "ignore", "inherit"] });
  return readFileSync(at(out), "utf8");
}

// scripts bundles the entries and what they share, which is a file of its own: a module that listens must run once a page.
async function scripts(entries) {
  const result = await build({
    entryPoints: entries.map((entry) => at("src", "js", `${entry}.js`)), bundle: true, splitting: true, format: "esm", target: "es2022",
    minify: true, legalComments: "none", write: false, outdir: at("dist"), entryNames: "[name]", chunkNames: "shared", absWorkingDir: root,
    logLevel: "warning",
  });
  const files = new Map(result.outputFiles.map((file) => [file.path.split("/").pop(), file.text]));
  if (files.size !== entries.length + 1) {
    throw new Error(`the scripts share more than one file: ${[...files.keys()].join(", ")}`);
  }
  const shared = emit("shared.js", files.get("shared.js"));
  for (const entry of entries) {
    emit(`${entry}.js`, files.get(`${entry}.js`).replaceAll("./shared.js", `./${shared}`));
  }
}

const manifest = {};

// emit writes one asset under its hashed name, with compressed copies unless its format is compressed already.
function emit(name, bytes) {
  const buffer = Buffer.from(bytes);
  const hash = createHash("sha256").update(buffer).digest("hex").slice(0, 12);
  const dot = name.lastIndexOf(".");
  const file = `${name.slice(0, dot)}-${hash}${name.slice(dot)}`;
  writeFileSync(at("dist", file), buffer);
  if (!/\.(woff2|png)$/.test(name)) {
    writeFileSync(at("dist", `${file}.gz`), gzipSync(buffer, { level: 9, mtime: 0 }));
    writeFileSync(at("dist", `${file}.br`), brotli.compress(buffer, { quality: 11 }));
  }
  manifest[name] = file;
  return file;
}

const allowed = ["MIT", "ISC", "BSD-2-Clause", "BSD-3-Clause", "BSD-0-Clause", "0BSD", "Apache-2.0", "OFL-1.1", "MPL-2.0"];
const shipped = ["@fontsource-variable/geist", "@fontsource-variable/geist-mono", "basecoat-css", "htmx.org", "tailwindcss"];

// notices names every package of the lock file with its licence and prints the licences of what the console ships.
function notices() {
  const lock = JSON.parse(text("package-lock.json"));
  const tools = new Map();
  const texts = [["lucide icons 1.62.0", "ISC, with icons of Feather under MIT", text("src", "notices", "lucide.txt")]];
  for (const [path, entry] of Object.entries(lock.packages)) {
    const name = path.split("node_modules/").pop();
    if (name === "") {
      continue;
    }
    if (!allowed.includes(entry.license)) {
      throw new Error(`${name} is licensed ${entry.license}, which is not on the list`);
    }
    if (shipped.includes(name)) {
      const file = { "basecoat-css": "LICENSE.md" }[name] ?? "LICENSE";
      texts.push([`${name} ${entry.version}`, entry.license, text(path, file)]);
    } else {
      tools.set(`${name} ${entry.version}`, entry.license);
    }
  }
  const rule = "-".repeat(72);
  const part = ([name, licence, body]) => `${rule}\n${name}: ${licence}\n${rule}\n\n${body.trim()}\n`;
  const parts = texts.sort(([a], [b]) => (a < b ? -1 : 1)).map(part);
  const list = [...tools].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, licence]) => `${name}: ${licence}`);
  return `Third-party notices\n\nParts of the following packages are served by the console.\n\n${parts.join("\n")}
${rule}\nUsed to build it, not part of it\n${rule}\n\n${list.join("\n")}\n`;
}

rmSync(at("dist"), { recursive: true, force: true });
mkdirSync(at("dist"));
const fonts = {
  "geist.woff2": emit("geist.woff2", read("node_modules", "@fontsource-variable", "geist", "files", "geist-latin-wght-normal.woff2")),
  "geist-mono.woff2": emit(
    "geist-mono.woff2",
    read("node_modules", "@fontsource-variable", "geist-mono", "files", "geist-mono-latin-wght-normal.woff2"),
  ),
};
let css = styles("src/app.css", ".build/app.css");
for (const [name, file] of Object.entries(fonts)) {
  if (!css.includes(name)) {
    throw new Error(`the stylesheet does not use ${name}`);
  }
  css = css.replaceAll(new RegExp(`url\\(["']?${name}["']?\\)`, "g"), `url(${file})`);
}
emit("app.css", css);
emit("noscript.css", read("src", "noscript.css"));
// Sheets that only some pages need, so that the other pages do not wait for them. views.go lists the pages.
const sheets = {
  "money.css": ["billing", "usage"],
  "requests.css": ["requests"],
  "account.css": ["account", "keys", "assets", "operator", "operatorwork"],
  "providers.css": ["providers", "operatormanage"],
  "models.css": ["modelpages"],
  "play.css": ["play", "playparts", "video", "videoplay", "prompts"],
  "start.css": ["start", "notices"],
  "docs.css": ["docs", "prose"],
};
for (const [name, parts] of Object.entries(sheets)) {
  const rules = parts.map((part) => text("src", "css", `${part}.css`)).join("\n");
  emit(name, (await transform(`@layer skin {\n${rules}\n}`, { loader: "css", minify: true, target: "es2022" })).code);
}
await scripts(["app", "playground", "videos"]);
emit("favicon.svg", read("src", "favicon.svg"));
// The icons are the favicon in pixels; the one for masks, and that for touch screens, fill their square.
emit("icon-touch.png", read("src", "icons", "icon-touch.png"));
const icon = (name, side, purpose) => (
  { src: emit(`${name}.png`, read("src", "icons", `${name}.png`)), sizes: `${side}x${side}`, type: "image/png", purpose }
);
emit("app.webmanifest", JSON.stringify({
  name: "Unified Model Gateway", short_name: "Gateway", start_url: "/console", scope: "/console", display: "browser",
  background_color: "#ffffff", theme_color: "#1c4fc4",
  icons: [icon("icon-small", 192, "any"), icon("icon-large", 512, "any"), icon("icon-maskable", 512, "maskable")],
}));
const sorted = Object.fromEntries(Object.entries(manifest).sort(([a], [b]) => (a < b ? -1 : 1)));
writeFileSync(at("dist", "manifest.json"), `${JSON.stringify(sorted, null, 2)}\n`);
writeFileSync(at("NOTICES"), notices());
