// Builds the QFQ page: node page/build.mjs target/page
//
// Reads roundelay_wasm.wasm there and writes qfq.html beside it, one file without requests: style,
// script, the module compressed, the functions of the source that the moves name, and the drawings
// of the first load for readers without JavaScript.

import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { instantiate } from "./core.mjs";
import { drawing, movesOf, sentence } from "./draw.mjs";
import { LOADS } from "./loads.mjs";
import { RULES, SOURCES } from "./rules.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const root = join(here, "../../..");
const folder = process.argv[2];
const read = (...path) => readFileSync(join(...path), "utf8");
const escape = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

const repository = read(root, "Cargo.toml").match(/^repository = "(.*)"$/m)[1];

/** A function of a file: its first line, its lines up to the closing brace, and its address. */
const source = ([file, name]) => {
  const lines = read(root, file).split("\n");
  const first = lines.findIndex((line) => new RegExp(`^\\s*(pub(\\([a-z]+\\))? )?(const )?fn ${name}\\b`).test(line));
  if (first < 0) throw new Error(`${file}: no function ${name}`);
  const indent = lines[first].match(/^\s*/)[0];
  const last = first + lines.slice(first).findIndex((line) => line === `${indent}}`);
  const code = lines.slice(first, last + 1).map((line) => line.slice(indent.length)).join("\n");
  return { file, name, line: first + 1, code, url: `${repository}/blob/main/${file}#L${first + 1}` };
};

const sources = Object.fromEntries(Object.entries(SOURCES).map(([key, place]) => [key, source(place)]));
for (const [rule, { source }] of Object.entries(RULES)) {
  if (!sources[source]) throw new Error(`rule ${rule}: no source '${source}'`);
}

/** Modules joined into one script: their exports become plain declarations. */
const script = ["core", "loads", "rules", "draw", "page"].map((name) => {
  const text = read(here, `${name}.mjs`);
  return text.replace(/^import [^;]*;\n/gm, "").replace(/^export /gm, "");
}).join("\n");

const wasm = readFileSync(join(folder, "roundelay_wasm.wasm"));
const run = await instantiate(wasm);

/** The drawings of a load with the moves in words, a figure a step; steps that only lengthen a queue are left out. */
const figures = (load) => {
  const history = run(load.text);
  const item = ({ text, rule }) => `<li>${escape(text)} <span class="equation">${escape(rule.equation)}</span></li>`;
  const figure = (step) => `<figure><figcaption>${step}. ${escape(sentence(history, step))}</figcaption>${drawing(history, step)}<ol>${movesOf(history, step).map(item).join("")}</ol></figure>`;
  const isShown = (step) => step === 0 || history.steps[step - 1].moves.some((move) => move.rule !== "append");
  return [0, ...history.steps.map((_, step) => step + 1)].filter(isShown).map(figure).join("\n");
};

const parts = {
  STYLE: read(here, "page.css"),
  SCRIPT: script,
  DATA: JSON.stringify({ wasm: gzipSync(wasm, { level: 9 }).toString("base64"), sources }).replaceAll("<", "\\u003c"),
  FIGURES: figures(LOADS[0]),
};
/** The page's own script, as the policy names it: no other runs, whatever a load's text contains. */
const hash = (text) => `sha256-${createHash("sha256").update(text).digest("base64")}`;
const page = read(here, "page.html");
const [, around] = page.match(/<script type="module">([^]*?)<\/script>/);
parts.HASH = hash(around.replace("{{SCRIPT}}", () => parts.SCRIPT));
const html = page.replace(/\{\{([A-Z]+)\}\}/g, (_, name) => parts[name]);
writeFileSync(join(folder, "qfq.html"), html);
console.log(`${join(folder, "qfq.html")}: ${Math.round(html.length / 1000)} KB`);
