// Runs the unit tests of the sources: they are bundled for node, which has a test runner of its own.

import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const HERE = dirname(fileURLToPath(import.meta.url));
const out = mkdtempSync(join(tmpdir(), "remuda-ui-"));
let status = 1;
try {
  const tests = readdirSync(join(HERE, "tests")).filter((name) => name.endsWith(".test.ts"));
  await build({
    absWorkingDir: HERE,
    entryPoints: tests.map((name) => join("tests", name)),
    bundle: true,
    platform: "node",
    format: "esm",
    outExtension: { ".js": ".mjs" },
    jsx: "automatic",
    jsxImportSource: "preact",
    outdir: out,
    inject: [join("tests", "browser.mjs")],
    logLevel: "warning",
  });
  const files = tests.map((name) => join(out, name.replace(/\.ts$/, ".mjs")));
  status = spawnSync(process.execPath, ["--test", ...files], { stdio: "inherit" }).status ?? 1;
} finally {
  rmSync(out, { recursive: true });
}
process.exit(status);
