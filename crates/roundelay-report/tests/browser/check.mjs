// Browser test of a page: node tests/browser/check.mjs page.html [--screenshots DIR]
//
// In light and dark themes, wide and narrow: no errors, no requests, drawn charts, a working
// selector, a tooltip and working controls. The page is a comparison or a simulation. CHROMIUM
// names the browser, /usr/bin/chromium if unset. Exits 1 on any failure.

import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { checkAnswer, checkHeight, checkPrint, lookAtAll, picture, settled } from "./pages.mjs";

const COMPARED = { charts: ["delay", "latency", "throughput", "backlog"], table: "disciplines" };
// A chart present only with [meter] rates.
const FAIRNESS = "fairness";
// Charts whose lines do not have a value at each place.
const SPARSE = ["completion", FAIRNESS, "latency", "wait"];
const SIMULATED = { charts: ["delay", "completion", "throughput", "latency", "utilisation", "wait", "backlog", "dropped"], table: "links" };

const { values: options, positionals } = parseArgs({ options: { screenshots: { type: "string" } }, allowPositionals: true });
if (positionals.length !== 1) {
  console.error("usage: node tests/browser/check.mjs page.html [--screenshots DIR]");
  process.exit(2);
}
const file = resolve(positionals[0]);
if (options.screenshots) mkdirSync(options.screenshots, { recursive: true });

const pictures = async (page, charts) => {
  const all = {};
  for (const id of charts) all[id] = await picture(page, id);
  return all;
};

const checkDrawn = async (page, charts) => {
  assert.equal(await page.locator(".uplot").count(), charts.length, "as many charts as there should be");
  for (const [id, { painted, colors }] of Object.entries(await pictures(page, charts))) {
    assert.ok(painted > 2000, `${id}: only ${painted} pixels are painted`);
    assert.ok(colors > 4, `${id}: only ${colors} colours`);
  }
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  assert.equal(wide, 0, `the page is ${wide} pixels too wide`);
};

const checkCards = async (page) => {
  const flows = await page.locator("#view optgroup option").count();
  assert.equal(await page.locator(".card").count(), flows, "a card for each charted flow");
  assert.ok(await page.locator(".dot").count() > 0, "dots on the cards");
  // Formerly a card said "heavy, fair share 6.75 kbit/s" of a flow that offers 6.75 kbit/s.
  for (const text of await page.locator(".card").allTextContents()) {
    const said = text.match(/Offers (.+?): heavy, fair share ([\d.]+\s\w+\/s)/);
    if (said) assert.notEqual(said[1], said[2], "a flow that offers its fair share is heavy in bursts only");
  }
};

const checkSelector = async (page) => {
  const views = await page.locator("#view option").count();
  assert.ok(views >= 2, "at least two kinds of traffic to choose from");
  const seen = new Set();
  for (const index of [0, 1, views - 1]) {
    await page.selectOption("#view", String(index));
    await settled(page);
    const now = await pictures(page, COMPARED.charts);
    for (const id of COMPARED.charts) seen.add(`${id} ${now[id].hash}`);
    const label = await page.locator("#view option").nth(index).textContent();
    assert.equal(await page.locator("#figures thead th").first().textContent(), label, "the figures are those of the choice");
  }
  assert.equal(seen.size, COMPARED.charts.length * new Set([0, 1, views - 1]).size, "each choice draws other curves");
  await page.selectOption("#view", "0");
};

const checkShape = async (page) => {
  const before = await picture(page, "delay");
  await page.locator("#shape input[value=tail]").check();
  await settled(page);
  assert.notEqual((await picture(page, "delay")).hash, before.hash, "the tail is another picture");
  await page.locator("#shape input[value=share]").check();
};

const checkLongest = async (page, choice, chart) => {
  const mean = await picture(page, chart);
  await page.locator(`#${choice} input[value=longest]`).check();
  await settled(page);
  assert.notEqual((await picture(page, chart)).hash, mean.hash, `${chart}: the longest is another picture than the mean`);
};

// Hiding the first line changes each chart of the legend, unless the line lies on the axis.
const checkLegend = async (page, legend, charts) => {
  await settled(page);
  const before = await pictures(page, charts);
  const button = page.locator(`#${legend} button`).first();
  await button.click();
  await settled(page);
  const after = await pictures(page, charts);
  assert.equal(await button.getAttribute("aria-pressed"), "false");
  for (const id of charts) assert.notEqual(after[id].hash, before[id].hash, `${id}: hiding a line changes it`);
  await button.click();
};

const checkTooltips = async (page, charts) => {
  for (const { id, legend, text } of charts) {
    const shown = await page.locator(`#${legend} button[aria-pressed=true]`).count();
    const over = page.locator(`#${id} .u-over`);
    // Regression: on a small screen the legend of many disciplines lay over the chart.
    await page.locator(`#${id} .uplot`).evaluate((chart) => chart.scrollIntoView({ block: "nearest" }));
    const { x, y, width, height } = await over.boundingBox();
    await page.mouse.move(x + width * 0.4, y + height * 0.45);
    await page.mouse.move(x + width * 0.42, y + height * 0.5);
    await settled(page);
    const tip = page.locator(`#${id} .tip`);
    assert.ok(await tip.isVisible(), `${id}: a tooltip under the mouse`);
    const lines = await tip.locator("div").count();
    assert.ok(SPARSE.includes(id) ? lines > 0 && lines <= shown : lines === shown, `${id}: ${lines} lines, ${shown} are shown`);
    assert.match(await tip.textContent(), text, `${id}: values with units`);
    const inside = await tip.evaluate((tip) => tip.getBoundingClientRect().right <= innerWidth && tip.getBoundingClientRect().left >= 0);
    assert.ok(inside, `${id}: the tooltip stays on the page`);
  }
};

const checkKeyboard = async (page) => {
  await page.mouse.move(2, 2);
  await page.locator("#delay .uplot").focus();
  await page.keyboard.press("ArrowRight");
  const text = () => page.locator("#delay .tip").textContent();
  const first = await text();
  assert.ok(await page.locator("#delay .tip").isVisible(), "the arrow keys bring the tooltip");
  for (let press = 0; press < 8; press += 1) await page.keyboard.press("ArrowRight");
  assert.notEqual(await text(), first, "and move it");
  await page.keyboard.press("Escape");
  assert.ok(!(await page.locator("#delay .tip").isVisible()), "Escape hides it");
};

const checkSorting = async (page, table) => {
  const heading = page.locator(`#${table} thead tr:last-child th`).nth(1);
  // The row with another seed, and the row above it.
  const pairs = () => page.$$eval(`#${table} tr.below`, (rows) => rows.map((row) => `${row.previousElementSibling.cells[0].textContent}: ${row.textContent}`).sort());
  const together = await pairs();
  const keys = () => page.$$eval(`#${table} tbody tr:not(.below)`, (rows) => rows.map((row) => Number(row.cells[1].dataset.sort)));
  const sorted = (values, sign) => [...values].sort((one, other) => sign * (one - other));
  await heading.locator("button").click();
  assert.deepEqual(await keys(), sorted(await keys(), 1), "ascending");
  await heading.locator("button").press("Enter");
  assert.deepEqual(await keys(), sorted(await keys(), -1), "descending");
  assert.equal(await heading.getAttribute("aria-sort"), "descending");
  assert.deepEqual(await pairs(), together, "a row with another seed stays below its discipline");
  if (table === COMPARED.table) assert.ok(together.some((pair) => pair.includes("p99 delay of calls")), `fq_codel has a row with another seed: ${together}`);
};

const checkCopy = async (page) => {
  if (await page.locator("#copy").count() === 0) return;
  await page.locator("#copy").click();
  await page.waitForFunction(() => document.getElementById("copy").textContent === "Copied");
};

const SPREAD = /Within .+ (ns|us|ms|s).+%/;

const checkComparison = async (page) => {
  const legend = "legend";
  await checkCards(page);
  await checkSelector(page);
  await checkShape(page);
  await checkLongest(page, "longest", "latency");
  await checkLegend(page, legend, COMPARED.charts);
  await checkTooltips(page, COMPARED.charts.map((id) => ({ id, legend, text: id === "delay" ? SPREAD : /From .+s/ })));
  await checkCopy(page);
};

const checkSimulation = async (page) => {
  const spread = ["delay", "completion"];
  const time = ["utilisation", "wait", "backlog", "dropped"];
  const pace = ["throughput", "latency"];
  assert.match(await page.locator("#answer").textContent(), / is \d[\d.]* (ms|s|[kM]bit\/s)/, "the answer says what came out");
  await checkShape(page);
  await checkLegend(page, "groups-legend", ["delay"]);
  await checkLegend(page, "pace-legend", pace);
  await checkTooltips(page, pace.map((id) => ({ id, legend: "pace-legend", text: /Until .+(bit|s)/ })));
  await checkLongest(page, "longest", "latency");
  await checkLongest(page, "waited", "wait");
  await checkLegend(page, "links-legend", time);
  await checkTooltips(page, spread.map((id) => ({ id, legend: "groups-legend", text: SPREAD })));
  await checkTooltips(page, time.map((id) => ({ id, legend: "links-legend", text: /Until .+s/ })));
  if (await page.locator(`#${FAIRNESS}`).count() > 0) {
    await checkLegend(page, "fairness-legend", [FAIRNESS]);
    await checkTooltips(page, [{ id: FAIRNESS, legend: "fairness-legend", text: /Until .+s.+[01]\.\d{3}/ }]);
  }
  const tables = await page.locator("table.sortable").count();
  assert.ok(tables >= 6, `only ${tables} tables`);
  assert.match(await page.locator(".scenario").textContent(), /\[\[source\]\]/, "the scenario's text");
};

// Regression: a curve whose longest times are equal ended at 80%.
const checkShares = async (page) => {
  const within = await page.evaluate(() => Roundelay.shares([[1, 0.25], [2, 0.5], [2, 0.75], [4, 0.8], [4, 1]], [0.5, 1, 2, 4, 5]));
  assert.deepEqual(within, [null, 0.25, 0.75, 1, null], "a curve reaches its last share");
};

// On a small screen the figures scroll below the names of disciplines.
const checkNames = async (page) => {
  const left = await page.$$eval("#figures tbody tr > :first-child", (names) => names.map((name) => {
    const box = name.closest(".scroll");
    box.scrollLeft = 200;
    const left = name.getBoundingClientRect().left - box.getBoundingClientRect().left;
    box.scrollLeft = 0;
    return left;
  }));
  assert.ok(left.every((left) => left >= 0), `names of disciplines stay in sight: ${left}`);
};

// Of a window of 1280 pixels each table has room: none is cut.
const checkTables = async (page) => {
  const cut = await page.$$eval(".scroll", (boxes) => boxes
    .filter((box) => box.scrollWidth > box.clientWidth)
    .map((box) => `${box.querySelector("table").id}: ${box.scrollWidth} of ${box.clientWidth} px`));
  assert.deepEqual(cut, [], "no table is cut");
};

const checkPage = async (page, colorScheme, width) => {
  const kind = await page.locator("#disciplines").count() > 0 ? COMPARED : SIMULATED;
  const asked = await page.locator(`#${FAIRNESS}`).count() > 0 ? [FAIRNESS] : [];
  await checkAnswer(page);
  await checkHeight(page);
  if (width >= 1280) await checkTables(page);
  if (kind === COMPARED) await checkNames(page);
  await checkShares(page);
  await checkDrawn(page, [...kind.charts, ...asked]);
  const shot = (name, more) => options.screenshots
    && page.screenshot({ path: join(options.screenshots, `${basename(file, ".html")}-${colorScheme}-${width}-${name}.png`), ...more });
  await shot("page", { fullPage: true });
  await (kind === COMPARED ? checkComparison : checkSimulation)(page);
  await shot("tooltip");
  await checkKeyboard(page);
  // Cards have no headings.
  if (kind === SIMULATED || width > 600) await checkSorting(page, kind.table);
  const other = colorScheme === "dark" ? "light" : "dark";
  const before = await picture(page, "delay");
  await page.locator(`#theme input[value=${other}]`).check();
  await settled(page);
  assert.notEqual((await picture(page, "delay")).hash, before.hash, "the charts follow the theme that is chosen");
  await checkPrint(page);
};

await lookAtAll(file, [1280, 760, 360], checkPage);
