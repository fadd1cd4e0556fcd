// Browser test of the compare page: node tests/browser.mjs compare.html target/release/roundelay [--screenshots DIR]
//
// Text, report and JSON on the page equal those of the command; no errors, no requests; a dropped file, the keyboard,
// errors, a stop, 360 and 1280 pixels, light and dark, without a worker and without JavaScript. The time for 10 MB is
// printed. CHROMIUM names the browser, /usr/bin/chromium if unset. Exits 1 on any failure.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { fileURLToPath, pathToFileURL } from "node:url";
import { packets, pcap } from "./captures.mjs";

// Installed with the report's packages.
const { chromium } = createRequire(new URL("../../roundelay-report/package.json", import.meta.url))("playwright-core");

const FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];
const { values: options, positionals } = parseArgs({ options: { screenshots: { type: "string" } }, allowPositionals: true });
if (positionals.length !== 2) {
  console.error("usage: node tests/browser.mjs compare.html roundelay [--screenshots DIR]");
  process.exit(2);
}
const address = pathToFileURL(resolve(positionals[0])).href;
const program = resolve(positionals[1]);
const root = join(dirname(fileURLToPath(import.meta.url)), "../../..");
if (options.screenshots) mkdirSync(options.screenshots, { recursive: true });

const work = mkdtempSync(join(tmpdir(), "roundelay-page-"));
const HOME = "home-downlink.pcap";
const home = readFileSync(join(root, "examples/captures", HOME));
writeFileSync(join(work, HOME), home);
writeFileSync(join(work, "notes.txt"), "no capture\n");
writeFileSync(join(work, "rules.toml"), '[[weight]]\nmatch = "udp"\nweight = 5\n');
writeFileSync(join(work, "tree.toml"), readFileSync(join(root, "examples/trees/home.toml")));

/** The example's packets again and again, each time a minute later, up to so many bytes. */
const repeated = (bytes) => {
  const parts = [home.subarray(0, 24)];
  let total = 24;
  for (let minute = 0; total < bytes; minute += 1) {
    const records = Buffer.from(home.subarray(24));
    for (let at = 0; at < records.length; at += 16 + records.readUInt32LE(at + 8)) records.writeUInt32LE(records.readUInt32LE(at) + 60 * minute, at);
    parts.push(records);
    total += records.length;
  }
  return Buffer.concat(parts);
};
const LARGE = "ten-megabytes.pcap";
writeFileSync(join(work, LARGE), repeated(10_000_000));

/** Output of the command, run where the files are. */
const native = (line, ...more) => {
  const env = { ...process.env, NO_COLOR: "1" };
  delete env.COLUMNS;
  const { stdout, stderr } = spawnSync("sh", ["-c", `${line.replace("roundelay ", '"$0" ')} "$@"`, program, "--quiet", ...more], { cwd: work, env, encoding: "utf8", maxBuffer: 2 ** 30 });
  // A suggested command has the words of this call.
  return { stdout: stdout.replaceAll(["", "--quiet", ...more].join(" "), ""), stderr };
};

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: FLAGS });

/** Opens the page, runs `check`, and requires that nothing was fetched or complained about. */
const open = async (name, { script, ...context }, check) => {
  const inside = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...context });
  if (script) await inside.addInitScript(script);
  const page = await inside.newPage();
  const problems = [];
  inside.on("console", (message) => { if (["error", "warning"].includes(message.type())) problems.push(message.text()); });
  page.on("pageerror", (error) => problems.push(String(error)));
  inside.on("request", (request) => { if (![address, "data:", "blob:"].some((start) => request.url().startsWith(start))) problems.push(`request ${request.url()}`); });
  await page.goto(address);
  if (context.javaScriptEnabled !== false) await page.waitForSelector("#app:not([hidden])");
  await check(page);
  const excess = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  assert.equal(excess, 0, `${name}: ${excess} pixels too wide`);
  if (options.screenshots) await page.screenshot({ path: join(options.screenshots, `compare-${name}.png`), fullPage: true });
  assert.deepEqual(problems, [], name);
  await inside.close();
};

const text = (page, id) => page.locator(`#${id}`).textContent();
/** Pixels from the top in which a reader finds the result without scrolling, and a figure with its unit. */
const FIRST_SCREEN = 700;
const FIGURE = /\d (ns|us|ms|s|bit\/s|kbit\/s|Mbit\/s|Gbit\/s)\b|\d%/;

/** After a run the result is on the screen. */
const checkAnswer = async (page) => {
  const { y } = await page.locator("#text").boundingBox();
  assert.ok(y >= 0 && y <= FIRST_SCREEN / 2, `the result begins at ${y} px of the screen`);
  const seen = await page.locator("#text").evaluate((text, room) => {
    const lines = text.textContent.split("\n");
    return lines.slice(0, Math.floor(room * lines.length / text.scrollHeight)).join("\n");
  }, FIRST_SCREEN - y);
  assert.match(seen, FIGURE, "the result on the screen has a figure with its unit");
  assert.match(seen, /serves this traffic best/, "and the verdict begins there");
};
const done = (page) => page.waitForFunction(() => document.getElementById("stop").hidden && (!document.getElementById("result").hidden || document.getElementById("error").textContent !== ""), null, { timeout: 120_000 });

/** Gives the page a file and waits for the result. */
const give = async (page, name) => {
  await page.locator("#file").setInputFiles(join(work, name));
  await done(page);
};

/** The page's text is the output of the command that it shows. */
const checkEqual = async (page) => {
  assert.equal(await text(page, "error"), "");
  const line = await text(page, "command");
  const { stdout } = native(line);
  assert.ok(stdout.length > 500, line);
  assert.equal(await text(page, "text"), stdout, line);
  return line;
};

await open("light", {}, async (page) => {
  assert.equal(await text(page, "status"), "");
  await page.locator('input[name="rate"]').fill("5mbit");
  await give(page, HOME);
  const line = await checkEqual(page);
  assert.equal(line, `roundelay compare ${HOME} --rate=5mbit --no-cost`);
  assert.match(await text(page, "status"), /^Compared in \d+\.\d s\. The result is below\.$/);
  assert.equal(await page.evaluate(() => document.activeElement.id), "result-title", "the focus is on the result");
  await checkAnswer(page);

  native(line, "--html", "report.html");
  const report = readFileSync(join(work, "report.html"), "utf8");
  const [saved] = await Promise.all([page.waitForEvent("download"), page.locator("#save").click()]);
  assert.equal(saved.suggestedFilename(), "home-downlink.html");
  assert.equal(readFileSync(await saved.path(), "utf8"), report, "the report is the command's");
  const [figures] = await Promise.all([page.waitForEvent("download"), page.locator("#figures").click()]);
  assert.equal(figures.suggestedFilename(), "home-downlink.json");
  assert.equal(readFileSync(await figures.path(), "utf8"), native(line, "--json").stdout, "the figures are the command's");
  const [opened] = await Promise.all([page.context().waitForEvent("page"), page.locator("#open").click()]);
  await opened.waitForSelector("canvas");
  assert.match(await opened.title(), /^home-downlink\.pcap/);
  assert.match(await opened.locator("h1").textContent(), /serves this traffic best/);
  await opened.close();

  // Other choices, on the same file.
  await page.locator("#own").fill("fifo limit 100\nqfq\nfq_codel target 3ms");
  assert.ok(await page.locator('input[value="own"]').isChecked(), "typed disciplines are chosen");
  await page.locator(".more summary").click();
  await page.locator('input[name="filter"]').fill("not port 53");
  await page.locator("#weight").fill("dscp ef = 3");
  await page.locator("#weights").setInputFiles(join(work, "rules.toml"));
  await page.locator("#trees").setInputFiles(join(work, "tree.toml"));
  await page.locator("#wide").check();
  await page.locator("#run").click();
  await done(page);
  assert.equal(await checkEqual(page), `roundelay compare ${HOME} 'fifo limit 100' qfq 'fq_codel target 3ms' --rate=5mbit '--filter=not port 53' '--weight=dscp ef = 3' --weights=rules.toml --tree=tree.toml --wide --no-cost`);

  // The disciplines of Linux beside a tree, by name: the command would compare the tree alone.
  await page.locator('input[value="linux"]').check();
  await page.locator("#run").click();
  await done(page);
  assert.match(await checkEqual(page), / 'fq_codel linux' 'cake besteffort' fq_pie 'sfq linux' fifo --rate=5mbit .* --tree=tree\.toml /);

  // A part of the capture, shorter packets, more seeds.
  await page.locator('input[name="filter"]').fill("");
  await page.locator("#weight").fill("");
  await page.locator("#weights").setInputFiles([]);
  await page.locator("#trees").setInputFiles([]);
  await page.locator("#wide").uncheck();
  for (const [name, value] of [["from", "5s"], ["to", "1min"], ["busiest", "20s"], ["mtu", "1000"], ["seeds", "4"]]) await page.locator(`input[name="${name}"]`).fill(value);
  await page.locator("#run").click();
  await done(page);
  assert.equal(await checkEqual(page), `roundelay compare ${HOME} --rate=5mbit --from=5s --to=1min --busiest=20s --mtu=1000 --seeds=4 --no-cost`);

  await page.locator('input[value="own"]').check();
  await page.locator("#own").fill("");
  await page.locator("#run").click();
  assert.equal(await text(page, "error"), "No disciplines: write one a line.");
});

await open("keyboard", {}, async (page) => {
  const order = [];
  for (let press = 0; press < 8; press += 1) {
    await page.keyboard.press("Tab");
    order.push(await page.evaluate(() => { const { id, name, tagName } = document.activeElement; return id || name || tagName; }));
  }
  assert.deepEqual(order, ["file", "rate", "buffer", "which", "own", "SUMMARY", "SUMMARY", "run"]);
  const unnamed = await page.evaluate(() => [...document.querySelectorAll("button, select, input, textarea, progress")].filter((control) => !control.labels?.length && !control.getAttribute("aria-label") && !control.textContent.trim()).map((control) => control.outerHTML));
  assert.deepEqual(unnamed, [], "each control has a name");
  assert.equal(await page.locator("#status").getAttribute("role"), "status");
  await page.keyboard.press("Enter");
  assert.match(await text(page, "error"), /No capture yet/);
  assert.equal(await page.evaluate(() => document.activeElement.id), "file");
  await page.locator("#file").setInputFiles(join(work, HOME));
  assert.equal(await text(page, "status"), "Capture chosen. Now the link's rate.");
  await page.keyboard.type("6mbit");
  await page.keyboard.press("Enter");
  await done(page);
  await checkEqual(page);
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.id), "open");
});

await open("errors", {}, async (page) => {
  /** The command's message, without the program's name and the hint on --help. */
  const message = (line) => native(line).stderr.replace(/^(roundelay|error): /, "").split("\n\nFor more")[0].trimEnd();
  await page.locator('input[name="rate"]').fill("5mbit");
  await give(page, "notes.txt");
  const ours = await text(page, "error");
  assert.equal(ours, message("roundelay compare notes.txt --rate=5mbit"));
  assert.match(ours, /^notes\.txt: /);
  assert.ok(!await page.locator("#result").isVisible());
  await page.locator('input[name="rate"]').fill("5");
  await give(page, HOME);
  assert.equal(await text(page, "error"), message(`roundelay compare ${HOME} --rate=5`));
  await page.locator('input[name="rate"]').fill("5mbit");
  await page.locator(".more summary").click();
  for (const [name, value, legal] of [
    ["from", "90", "expected a time with a unit, h, min, s or ms, as in 90s, up to 213 days"],
    ["to", "5 parsecs", "expected a time with a unit, h, min, s or ms, as in 90s, up to 213 days"],
    ["busiest", "1us", "expected a millisecond or more, as in 60s"],
    ["mtu", "100", "legal range 576 to 65535, or none"],
    ["seeds", "0", "legal range 1 to 1000"],
  ]) {
    await page.locator(`input[name="${name}"]`).fill(value);
    await page.locator("#run").click();
    await done(page);
    const error = await text(page, "error");
    assert.equal(error, message(`roundelay compare ${HOME} --rate=5mbit '--${name}=${value}'`));
    assert.ok(error.includes(legal), error);
    await page.locator(`input[name="${name}"]`).fill("");
  }
  await page.locator("#run").click();
  await done(page);
  await checkEqual(page);
});

await open("drop", {}, async (page) => {
  await page.locator('input[name="rate"]').fill("7mbit");
  const bytes = pcap(packets(20, { count: 2000 }));
  writeFileSync(join(work, "dropped.pcap"), bytes);
  const files = await page.evaluateHandle((text) => {
    const files = new DataTransfer();
    files.items.add(new File([Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0))], "dropped.pcap"));
    return files;
  }, bytes.toString("base64"));
  await page.dispatchEvent("body", "dragover", { dataTransfer: files });
  assert.ok(await page.evaluate(() => document.body.classList.contains("dragging")));
  await page.dispatchEvent("body", "drop", { dataTransfer: files });
  await done(page);
  assert.match(await checkEqual(page), /dropped\.pcap/);
});

for (const scheme of ["light", "dark"]) {
  await open(`narrow-${scheme}`, { colorScheme: scheme, viewport: { width: 360, height: 740 } }, async (page) => {
    const [card, ink] = await page.evaluate(() => {
      const style = getComputedStyle(document.body);
      return [style.backgroundColor, style.color].map((colour) => colour.match(/\d+/g).slice(0, 3).reduce((sum, part) => sum + Number(part), 0));
    });
    assert.equal(card < ink, scheme === "dark", `${scheme}: background ${card}, text ${ink}`);
    await page.locator('input[name="rate"]').fill("5mbit");
    await give(page, HOME);
    assert.match(await checkEqual(page), /^COLUMNS=4\d roundelay /, "a table for the room that is there");
    await checkAnswer(page);
    const hidden = await page.evaluate(() => [...document.querySelectorAll("button, select, input, a")].filter((control) => control.getBoundingClientRect().right > innerWidth).length);
    assert.equal(hidden, 0, "each control is on the screen");
  });
}

await open("no-worker", { script: "delete globalThis.Worker;" }, async (page) => {
  await page.locator('input[name="rate"]').fill("5mbit");
  await give(page, HOME);
  await checkEqual(page);
});

const times = [];
await open("large", {}, async (page) => {
  await page.locator('input[name="rate"]').fill("5mbit");
  await page.evaluate(() => { globalThis.ticks = 0; setInterval(() => { globalThis.ticks += 1; }, 20); });
  for (let round = 0; round < 3; round += 1) {
    const before = await page.evaluate(() => globalThis.ticks);
    if (round === 0) {
      await give(page, LARGE);
    } else {
      await page.locator("#run").click();
      await done(page);
    }
    assert.ok(await page.evaluate(() => globalThis.ticks) - before > 10, "the page stays alive");
    times.push(Number(await page.evaluate(() => document.documentElement.dataset.seconds)));
    if (round === 0) await checkEqual(page);
  }
  // A stop, and a comparison afterwards.
  await page.locator('input[value="all"]').check();
  await page.locator("#run").click();
  await page.locator("#stop").click();
  assert.equal(await text(page, "status"), "Stopped.");
  assert.ok(!await page.locator("#result").isVisible());
  await page.locator('input[value="linux"]').check();
  await give(page, HOME);
  await checkEqual(page);
});

for (const [name, width] of [["plain", 1280], ["plain-narrow", 360]]) {
  await open(name, { javaScriptEnabled: false, viewport: { width, height: 800 } }, async (page) => {
    assert.match(await page.locator("noscript").innerText(), /replays the capture with JavaScript and WebAssembly.*switch JavaScript on/s);
    assert.ok(!await page.locator("#app").isVisible());
  });
}

await browser.close();
rmSync(work, { recursive: true });
console.log("the compare page: text, report and JSON of the command; drop, keyboard, errors, stop, 360 pixels, dark, without a worker and without JavaScript: all well");
console.log(`10 MB with the default disciplines in headless Chromium: ${times.map((seconds) => seconds.toFixed(2)).join(", ")} s`);
