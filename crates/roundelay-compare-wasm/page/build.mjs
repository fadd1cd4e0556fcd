// Builds the compare page: node page/build.mjs target/page
//
// Reads roundelay_compare_wasm.wasm there and writes compare.html beside it, one file without requests:
// style, script, the worker's script, the module compressed, and the list of disciplines.

import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { instantiate } from "./core.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const folder = process.argv[2];
const read = (name) => readFileSync(join(here, name), "utf8");
const escape = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

/** Modules joined into one script: their exports become plain declarations. */
const joined = (names) => names.map((name) => read(`${name}.mjs`).replace(/^import [^;]*;\n/gm, "").replace(/^export /gm, "")).join("\n");

const wasm = readFileSync(join(folder, "roundelay_compare_wasm.wasm"));
const packed = gzipSync(wasm, { level: 9 });
const { all, default: chosen } = (await instantiate(wasm)).disciplines();

const parts = {
  STYLE: read("page.css"),
  SCRIPT: joined(["core", "command", "page"]),
  DATA: JSON.stringify({ wasm: packed.toString("base64"), chosen, worker: `${joined(["core", "worker"])}\nserve();\n` }).replaceAll("<", "\\u003c"),
  DEFAULT: chosen.map((name) => `<code>${escape(name)}</code>`).join(", "),
  COUNT: String(all.length),
  NAMES: all.map(({ name, about }) => `<dt>${escape(name)}</dt><dd>${escape(about)}</dd>`).join("\n"),
};
const html = read("page.html").replace(/\{\{([A-Z]+)\}\}/g, (_, name) => parts[name]);
writeFileSync(join(folder, "compare.html"), html);
console.log(`${join(folder, "compare.html")}: ${Math.round(html.length / 1000)} KB; the module has ${wasm.length} bytes, ${packed.length} compressed`);
