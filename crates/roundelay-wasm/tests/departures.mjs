// Size and departures of the page's WebAssembly: node tests/departures.mjs target/page
//
// cases.json has loads and the departures that `compare` records for them. Exits 1 on a difference,
// or if a planted one is not found.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { instantiate } from "../page/core.mjs";

const MOST_BYTES = 120 * 1000;
const DISCIPLINES = ["qfq", "drr", "wf2q_plus"];

const folder = process.argv[2];
const wasm = readFileSync(join(folder, "roundelay_wasm.wasm"));
const compressed = gzipSync(wasm, { level: 9 }).length;
assert.ok(compressed <= MOST_BYTES, `the module has ${compressed} bytes compressed; at most ${MOST_BYTES}`);
assert.deepEqual(WebAssembly.Module.imports(new WebAssembly.Module(wasm)), [], "the module imports nothing: no clock, no I/O");

const run = await instantiate(wasm);
const departures = (load) => {
  const { packets, departures } = run(load);
  const record = ({ packet, start, end }) => [packets[packet].flow, packets[packet].len, start, end];
  return DISCIPLINES.map((name) => departures[name].map(record));
};
const differs = (load, expected) => JSON.stringify(departures(load)) !== JSON.stringify(expected);

const cases = JSON.parse(readFileSync(join(folder, "cases.json"), "utf8"));
assert.equal(cases.length, 1000);
const wrong = cases.findIndex(({ load, departures }) => differs(load, departures));
assert.equal(wrong, -1, `case ${wrong} differs from compare:\n${cases[wrong]?.load}`);

// Planted differences: two departures exchanged, and all flows with weight 1.
const [first, second, ...others] = cases[1].departures[0];
assert.ok(differs(cases[1].load, [[second, first, ...others], ...cases[1].departures.slice(1)]), "an exchange is found");
const alike = (load) => load.replace(/weight \d+/g, "weight 1");
const found = cases.slice(0, 100).filter(({ load, departures }) => differs(alike(load), departures)).length;
assert.ok(found > 50, `weights that are left out are found in ${found} of 100 cases`);
assert.throws(() => run("flow A; B 100"), /no flow 'B'/);

const packets = cases.reduce((sum, { departures }) => sum + departures[0].length, 0);
console.log(`${compressed} bytes compressed (${wasm.length} plain); ${cases.length} cases with ${packets} packets leave as in compare; planted differences found`);
