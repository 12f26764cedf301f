// Builds the web interface into src/remuda/edges/rest/ui: one script, one style sheet, one icon, one page.
//
// The names of all files but the page have a digest of their content, so browsers may keep them for ever.
// The same sources give the same bytes. With --check nothing is written: the program ends with 1 if the
// committed files are not those of the sources.

import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

const HERE = dirname(fileURLToPath(import.meta.url));
const OUT = join(HERE, "..", "src", "remuda", "edges", "rest", "ui");
const MOST_BYTES = 300_000; // compressed, all files together

function named(stem, ending, content) {
  const digest = createHash("sha256").update(content).digest("hex").slice(0, 12);
  return `${stem}-${digest}.${ending}`;
}

// The digest of all sources, as tools/interface.py works it out: names and contents with their lengths.
function sourcesDigest() {
  const inside = readdirSync(join(HERE, "src"), { recursive: true, withFileTypes: true });
  const files = inside.filter((each) => each.isFile()).map((each) => join(each.parentPath, each.name));
  files.push(...["build.mjs", "package-lock.json", "tsconfig.json"].map((name) => join(HERE, name)));
  const named = files.map((path) => [relative(HERE, path).split(sep).join("/"), path]);
  named.sort(([a], [b]) => (a < b ? -1 : 1));
  const found = createHash("sha256");
  for (const [name, path] of named) {
    for (const part of [Buffer.from(name), readFileSync(path)]) found.update(`${part.length}\n`).update(part);
  }
  return found.digest("hex");
}

// The licence of what is bundled has to go with it.
function notice() {
  const licence = readFileSync(join(HERE, "node_modules", "preact", "LICENSE"), "utf8").trim();
  return `/*! The web interface of remuda (Apache-2.0); it contains Preact:\n\n${licence}\n*/`;
}

async function bundled() {
  const result = await build({
    absWorkingDir: HERE,
    entryPoints: { app: "src/main.tsx" },
    bundle: true,
    minify: true,
    charset: "utf8",
    format: "iife",
    target: ["es2022"],
    jsx: "automatic",
    jsxImportSource: "preact",
    legalComments: "none",
    banner: { js: notice() },
    define: { "process.env.NODE_ENV": '"production"' },
    outdir: "out",
    write: false,
  });
  const found = {};
  for (const file of result.outputFiles) {
    found[file.path.endsWith(".css") ? "css" : "js"] = Buffer.from(file.contents);
  }
  return found;
}

async function files() {
  const { js, css } = await bundled();
  const icon = readFileSync(join(HERE, "src", "icon.svg"));
  const script = named("app", "js", js);
  const style = named("app", "css", css);
  const picture = named("icon", "svg", icon);
  const page = readFileSync(join(HERE, "src", "index.html"), "utf8")
    .replace("{script}", script)
    .replace("{style}", style)
    .replace("{icon}", picture)
    .replace("{sources}", sourcesDigest());
  return new Map([
    ["index.html", Buffer.from(page)],
    [script, js],
    [style, css],
    [picture, icon],
  ]);
}

function differences(made) {
  const there = existsSync(OUT) ? readdirSync(OUT).filter((name) => !name.endsWith(".py")) : [];
  const wrong = there.filter((name) => !made.has(name));
  for (const [name, content] of made) {
    const path = join(OUT, name);
    if (!existsSync(path) || !readFileSync(path).equals(content)) wrong.push(name);
  }
  return wrong;
}

function write(made) {
  mkdirSync(OUT, { recursive: true });
  for (const name of readdirSync(OUT)) {
    if (!made.has(name)) rmSync(join(OUT, name), { recursive: true });
  }
  for (const [name, content] of made) writeFileSync(join(OUT, name), content);
}

const made = await files();
let size = 0;
for (const content of made.values()) size += gzipSync(content, { level: 9 }).length;
if (size > MOST_BYTES) {
  console.error(`ui: the files have ${size} bytes compressed, more than ${MOST_BYTES}: leave something out`);
  process.exit(1);
}
if (process.argv.includes("--check")) {
  const wrong = differences(made);
  if (wrong.length > 0) {
    console.error(`ui: ${wrong.join(", ")} of src/remuda/edges/rest/ui is not what the sources give: run make ui`);
    process.exit(1);
  }
} else {
  write(made);
  console.log(`ui: ${made.size} files, ${Math.ceil(size / 1000)} kB compressed`);
}
