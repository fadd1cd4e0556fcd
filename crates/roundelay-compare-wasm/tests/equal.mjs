// Texts of the compare page beside the command's: node tests/equal.mjs target/page target/release/roundelay
//
// The module in node and the native command get the same captures and arguments: table, report, JSON
// and error messages must be equal, byte by byte. Exits 1 on a difference, or if a planted one is not found.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { instantiate, reader } from "../page/core.mjs";
import { command, words } from "../page/command.mjs";
import { packets, pcap, pcapng } from "./captures.mjs";

const root = join(dirname(fileURLToPath(import.meta.url)), "../../..");
const [folder, program] = process.argv.slice(2).map((path) => resolve(path));
const wasm = readFileSync(join(folder, "roundelay_compare_wasm.wasm"));
const imports = WebAssembly.Module.imports(new WebAssembly.Module(wasm));
assert.deepEqual(imports, [{ module: "capture", name: "read", kind: "function" }], "the module imports the capture, and no clock");
const run = await instantiate(wasm);

const work = mkdtempSync(join(tmpdir(), "roundelay-compare-"));
const text = (path) => ({ name: path.split("/").pop(), text: readFileSync(join(root, path), "utf8") });
const TREE = text("examples/trees/home.toml");
const WEIGHTS = { name: "weights.toml", text: 'default = 2\n\n[[weight]]\nmatch = "udp dst port 5004"\nweight = 10\npriority = 0\nslack = "20ms"\ndeadline = "50ms"\n' };
// Its records a flow have addresses.
const PLUS = { name: "plus.toml", text: TREE.text.replace("fq_codel limit 400", "qfq_plus linux") };
assert.notEqual(PLUS.text, TREE.text);
for (const file of [TREE, PLUS, WEIGHTS]) writeFileSync(join(work, file.name), file.text);

const captures = new Map();
for (const name of readdirSync(join(root, "examples/captures")).filter((name) => name.includes(".pcap"))) captures.set(name, readFileSync(join(root, "examples/captures", name)));
for (const name of readdirSync(join(root, "crates/roundelay-trace/tests/compressed"))) captures.set(name, readFileSync(join(root, "crates/roundelay-trace/tests/compressed", name)));
captures.set("overload.pcap", pcap(packets(1)));
captures.set("light.pcap", pcap(packets(2, { count: 400 }), { link: 101 }));
captures.set("six.pcap", pcap(packets(3, { six: true, vlan: true, flows: 40 }), { nanos: true, big: true }));
captures.set("cooked.pcap", pcap(packets(4, { flows: 30 }), { link: 276 }));
captures.set("two-ports.pcapng", pcapng(packets(5, { six: true }), { twice: (number) => number % 3 === 0 }));
captures.set("many-flows.pcap.gz", gzipSync(pcap(packets(6, { flows: 900, count: 6000 }))));
captures.set("offloaded.pcap", pcap(packets(13, { count: 1000, longest: 9000 })));
captures.set("cut.pcap", captures.get("overload.pcap").subarray(0, 100_003));
captures.set("back in time, über.pcap", pcap([...packets(7, { count: 500 }), ...packets(8, { count: 500 })]));
captures.set("silence.pcap", pcap([...packets(9, { count: 300 }), ...packets(10, { count: 300 }).map((packet) => ({ ...packet, at: packet.at + 9e9 }))]));
captures.set("one.pcap", pcap(packets(11, { count: 1 })));
captures.set("empty.pcap", pcap([]));
captures.set("nothing.pcap", Buffer.alloc(0));
captures.set("notes.txt", Buffer.from("no capture\n"));
captures.set("damaged.pcap.gz", Buffer.concat([gzipSync(captures.get("overload.pcap")).subarray(0, 9000), Buffer.from("damage")]));
captures.set("unknown.pcap", pcap(packets(12, { count: 20 }), { link: 147 }));
for (const [name, bytes] of captures) writeFileSync(join(work, name), bytes);

/** Arguments tried with every capture. */
const EVERYWHERE = [
  { rate: "5mbit" },
  { rate: "10mbit", disciplines: ["all"], wide: true },
  { rate: "1gbit", disciplines: ["fifo", "qfq"], columns: 60 },
];
const QUEUES = [
  "fq_codel flows 64 target 3ms", "sfq depth 20 flows 256", "sfq linux depth 20", "drr quantum 300", "qfq_plus", "qfq_plus linux", "codel linux target 2ms", "sfb levels 4 bins 32",
  "priority limit 50p", "gfq", "s_kps", "afd shadow 64", "mqfq queues 64", "red min 20kb max 60kb", "pie target 5ms", "lstf_levels", "sp_pifo", "aifo",
];
/** Arguments tried with some captures. */
const SOME = [
  { rate: "8mbit", disciplines: QUEUES, wide: true },
  { rate: "8mbit", disciplines: ["fifo", "drr", "wf2q_plus"], trees: [TREE], columns: 140 },
  { rate: "8mbit", trees: [TREE, PLUS], wide: true },
  { rate: "6mbit", disciplines: ["edf", "lstf", "priority", "qfq"], weights: WEIGHTS, weight: ["dscp ef = 7", "src port 1024 = 900"], flow_by: "5tuple", seed: "42" },
  { rate: "9mbit", flow_by: "dscp", buffer: "100p", link: "docsis", disciplines: ["drr", "qfq", "sfq"], wide: true },
  { rate: "9mbit", flow_by: "src", overhead: "-4", mpu: "64", framing: "atm", buffer: "60kb" },
  { rate: "7mbit", filter: "udp and not port 53", max_flows: "5", keep_duplicates: true },
  { rate: "7mbit", interface: "wan", direction: "out", disciplines: ["fifo", "fq_codel"] },
  { rate: "7mbit", direction: "from 10.0.0.0/25", disciplines: ["fifo", "packet_fq"] },
  { rate: "1tbit", disciplines: ["fifo"] },
  { rate: "64kbit", disciplines: ["fifo", "fq_codel", "codel", "red"], seed: "18446744073709551615" },
  { rate: "6mbit", from: "500ms", to: "2s", disciplines: ["fifo", "drr"] },
  { rate: "6mbit", from: "0.5s", busiest: "1s", mtu: "576" },
  { rate: "6mbit", mtu: "none", seeds: "1" },
  { rate: "6mbit", mtu: "9000", seeds: "5", disciplines: ["sfq divisor 4", "fq_codel"], wide: true },
];
const SOME_CAPTURES = ["overload.pcap", "cooked.pcap", "two-ports.pcapng", "offloaded.pcap"];
/** Arguments that are wrong. */
const WRONG = [
  { rate: "5" }, { rate: "5Mbps" }, { rate: "" }, { rate: "5mbit", disciplines: ["fifi"] }, { rate: "5mbit", disciplines: ["sfq depth 0"] }, { rate: "5mbit", disciplines: ["limit 5"] },
  { rate: "5mbit", buffer: "0p" }, { rate: "5mbit", filter: "udp and" }, { rate: "5mbit", direction: "left" }, { rate: "5mbit", flow_by: "colour" }, { rate: "5mbit", weight: ["udp = 0"] },
  { rate: "5mbit", seed: "-1" }, { rate: "5mbit", seed: "one" }, { rate: "5mbit", max_flows: "0" }, { rate: "5mbit", max_flows: "many" }, { rate: "5mbit", overhead: "70000" }, { rate: "5mbit", mpu: "-1" },
  { rate: "5mbit", from: "1" }, { rate: "5mbit", from: "-1s" }, { rate: "5mbit", from: "1h" }, { rate: "5mbit", to: "soon" }, { rate: "5mbit", to: "0s" }, { rate: "5mbit", from: "2s", to: "1s" },
  { rate: "5mbit", busiest: "60" }, { rate: "5mbit", busiest: "1us" }, { rate: "5mbit", mtu: "575" }, { rate: "5mbit", mtu: "65536" }, { rate: "5mbit", mtu: "all" }, { rate: "5mbit", seeds: "0" },
  { rate: "5mbit", seeds: "1001" }, { rate: "5mbit", framing: "cells" }, { rate: "5mbit", link: "string" }, { rate: "5mbit", filter: "port 9" }, { rate: "5mbit", interface: "tun0" },
  { rate: "5mbit", weights: { name: "bad.toml", text: "[[weight]]\nweight = 3\n" } }, { rate: "5mbit", trees: [{ name: "bad-tree.toml", text: "[node]\n" }] },
];

/** Output of the command: text, report and figures, or the message. */
const native = (request) => {
  const env = { ...process.env, NO_COLOR: "1", RAYON_NUM_THREADS: "2" };
  delete env.COLUMNS;
  if (request.columns) env.COLUMNS = String(request.columns);
  const call = (...more) => spawnSync(program, [...words(request), "--quiet", ...more], { cwd: work, env, encoding: "utf8", maxBuffer: 2 ** 30 });
  // A suggested command has the words of these calls.
  const plain = (text) => text.replaceAll(/ --quiet --(html report.html|json)/g, "");
  const { stdout, stderr, status } = call("--html", "report.html");
  if (stdout === "") {
    assert.equal(status, 2, stderr);
    // The command's message without the name of the program and the hint on --help.
    return { error: stderr.replace(/^(roundelay|error): /, "").split("\n\nUsage:")[0].split("\n\nFor more information")[0].trimEnd() };
  }
  return { text: plain(stdout), report: plain(readFileSync(join(work, "report.html"), "utf8")), figures: plain(call("--json").stdout) };
};

/** Fixed bytes of trees are those of the machine, of 32 bits in WebAssembly; everything else is compared. */
const withoutTrees = (figures) => {
  const comparison = JSON.parse(figures);
  for (const discipline of comparison.disciplines) if (discipline.name === "tree") delete discipline.fixed_bytes;
  return JSON.stringify(comparison);
};

const page = (request) => {
  const answer = run.compare({ ...request, words: words(request) }, reader(captures.get(request.name)));
  return answer.error === undefined ? { text: answer.text, report: run.report(), figures: run.figures() } : { error: answer.error };
};

/** The first difference, or null. */
const difference = (ours, theirs, hasTrees) => {
  for (const key of ["error", "text", "report", "figures"]) {
    const of = (side) => (key === "figures" && hasTrees && side.figures !== undefined ? withoutTrees(side.figures) : side[key]);
    const [one, other] = [of(ours), of(theirs)];
    if (one === other) continue;
    if (one === undefined || other === undefined) return `${key}: one has none: ${JSON.stringify({ ours: ours.error, theirs: theirs.error })}`;
    const at = [...one].findIndex((letter, place) => letter !== other[place]);
    return `${key} at ${at}:\n  page:    ${JSON.stringify(one.slice(Math.max(0, at - 60), at + 60))}\n  command: ${JSON.stringify(other.slice(Math.max(0, at - 60), at + 60))}`;
  }
  return null;
};

const cases = [
  ...[...captures.keys()].flatMap((name) => EVERYWHERE.map((request) => ({ name, ...request }))),
  ...SOME_CAPTURES.flatMap((name) => SOME.map((request) => ({ name, ...request }))),
  ...WRONG.map((request) => ({ name: "overload.pcap", ...request })),
];
let [texts, errors, letters] = [0, 0, 0];
const wrong = [];
for (const request of cases) {
  for (const file of [...(request.trees ?? []), ...(request.weights ? [request.weights] : [])]) writeFileSync(join(work, file.name), file.text);
  const [ours, theirs] = [page(request), native(request)];
  const found = difference(ours, theirs, request.trees !== undefined);
  if (found) wrong.push(`${command(request)}\n  ${found}`);
  if (theirs.error === undefined) texts += 1; else errors += 1;
  letters += (theirs.text ?? theirs.error).length + (theirs.report ?? "").length + (theirs.figures ?? "").length;
}
assert.deepEqual(wrong, [], wrong.join("\n\n"));
assert.ok(texts > 60 && errors > 25, `${texts} texts, ${errors} errors`);

// Planted differences: another seed, another part of the capture, a packet longer by a byte, a discipline's parameter, a letter.
const request = { name: "overload.pcap", rate: "5mbit" };
const theirs = native(request);
const planted = (change, bytes = captures.get("overload.pcap")) => {
  const changed = { ...request, ...change };
  const { text } = run.compare(changed, reader(bytes));
  return difference({ text, report: run.report(), figures: run.figures() }, theirs, false);
};
assert.equal(planted({}), null);
assert.match(planted({ seed: "2" }), /^text|^report/, "another seed");
assert.match(planted({ rate: "5001kbit" }), /^text/, "another rate");
for (const change of [{ from: "1s" }, { to: "1s" }, { busiest: "1s" }, { mtu: "576" }, { seeds: "1" }]) assert.match(planted(change) ?? "", /^(text|report|figures)/, JSON.stringify(change));
const longer = Buffer.from(captures.get("overload.pcap"));
longer.writeUInt32LE(longer.readUInt32LE(36) + 1, 36);
assert.match(planted({}, longer), /^(text|report|figures)/, "a packet longer by a byte");
assert.match(difference({ ...theirs, text: theirs.text.replace("serves", "Serves") }, theirs, false), /^text at/, "a letter");
assert.match(difference({ ...theirs, figures: theirs.figures.replace(/"fixed_bytes": 40/, '"fixed_bytes": 24') }, theirs, false), /^figures at/, "sizes of 32 bits");
// A file that JavaScript cannot read, and the module afterwards.
const failing = run.compare(request, () => { throw new Error("gone"); });
assert.match(failing.error, /the browser cannot read the file/);
assert.equal(planted({}), null, "the module goes on after an error");

rmSync(work, { recursive: true });
console.log(`${captures.size} captures, ${texts} comparisons and ${errors} errors equal those of the command: ${letters} letters of tables, reports and JSON; planted differences found`);
