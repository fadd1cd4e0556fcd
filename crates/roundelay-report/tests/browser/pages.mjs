// What the browser tests share: a page in each theme and width, with a list of its troubles.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const FLAGS = [
  "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync",
];
// The number of pixels of a chart that differ from the first pixel, and a hash that changes with
// the picture.
export const picture = (page, id) => page.evaluate((id) => {
  const canvas = document.querySelector(`#${id} canvas`);
  const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d", { willReadFrequently: true });
  copy.drawImage(canvas, 0, 0);
  const { data } = copy.getImageData(0, 0, canvas.width, canvas.height);
  const pixels = new Uint32Array(data.buffer);
  let painted = 0;
  let hash = 0;
  const colors = new Set();
  for (const pixel of pixels) {
    if (pixel !== pixels[0]) painted += 1;
    if (pixel >>> 24 === 255) colors.add(pixel);
    hash = (Math.imul(hash, 31) + pixel) | 0;
  }
  return { painted, colors: colors.size, hash };
}, id);

export const settled = (page) => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 60)))));

// Keeps the charts of a page in `charts`: runs before the page's scripts.
const keepCharts = () => {
  let made;
  globalThis.charts = [];
  const construct = (uPlot, given) => {
    const chart = new uPlot(...given);
    globalThis.charts.push(chart);
    return chart;
  };
  Object.defineProperty(globalThis, "uPlot", { get: () => made, set: (uPlot) => { made = new Proxy(uPlot, { construct }); } });
};

// The places and the names of the ticks on a chart's horizontal axis.
export const ticks = (page, id) => page.evaluate((id) => {
  const { axes: [axis] } = globalThis.charts.find(({ root }) => root.isConnected && root.parentElement.id === id);
  return { places: axis._splits, names: axis._values };
}, id);

// Each size and theme in a fresh browser profile.
const look = async (file, colorScheme, width, check) => {
  const address = pathToFileURL(file).href;
  const profile = mkdtempSync(join(tmpdir(), "roundelay-page-"));
  const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
  const settings = { executablePath, args: FLAGS, colorScheme, viewport: { width, height: 900 } };
  const browser = await chromium.launchPersistentContext(profile, settings);
  try {
    const trouble = [];
    const page = await browser.newPage();
    page.on("console", (message) => { if (["error", "warning"].includes(message.type())) trouble.push(`console: ${message.text()}`); });
    page.on("pageerror", (error) => trouble.push(`error: ${error.stack}`));
    page.on("dialog", (dialog) => { trouble.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
    page.on("request", (request) => {
      if (request.url() !== address && !request.url().startsWith("data:")) trouble.push(`request: ${request.url()}`);
    });
    page.on("requestfailed", (request) => trouble.push(`failed request: ${request.url()}`));
    await page.addInitScript(keepCharts);
    await page.goto(address);
    await settled(page);
    const background = await page.evaluate(() => getComputedStyle(document.body).backgroundColor.match(/\d+/g).map(Number));
    assert.equal(background[0] < 128, colorScheme === "dark", `the background ${background} suits ${colorScheme}`);
    await check(page, colorScheme, width);
    assert.deepEqual(trouble, [], "no errors, no requests");
    console.log(`ok: ${colorScheme}, ${width} px`);
  } finally {
    await browser.close();
    rmSync(profile, { recursive: true, force: true });
  }
};

// Both themes at each width; the process ends with 1 if a check fails.
export const lookAtAll = async (file, widths, check) => {
  for (const colorScheme of ["light", "dark"]) {
    for (const width of widths) {
      await look(file, colorScheme, width, check).catch((error) => {
        process.exitCode = 1;
        console.error(`not ok: ${colorScheme}, ${width} px: ${error.message}`);
      });
    }
  }
};

// Pixels from the top in which a reader finds the answer without scrolling.
const FIRST_SCREEN = 700;

// A figure with its unit.
const FIGURE = /\d (ns|us|ms|s|[kMG]?bit\/s|[kMG]?B|times|runs|packets|points)\b|\d%/;

// The answer is a sentence, and the first screen says with a figure what came out.
export const checkAnswer = async (page, figure = FIGURE) => {
  const answer = page.locator(".answer > :first-child");
  const { y, height } = await answer.boundingBox();
  assert.ok(height > 0 && y + height <= FIRST_SCREEN, `the answer ends at ${y + height} px`);
  assert.match(await answer.textContent(), /\w+ \w+.*[.?:]/, "the answer is a sentence");
  const seen = await page.$$eval(".answer > *", (parts, most) => parts
    .filter((part) => part.getBoundingClientRect().bottom <= most)
    .map((part) => part.innerText).join("\n"), FIRST_SCREEN);
  assert.match(seen, figure, `what came out is on the first screen: ${seen}`);
};

// Pixels of a printed page. What is higher must be allowed to break, or the page before it is empty.
const PRINTED = { width: 720, height: 1000 };

export const checkPrint = async (page) => {
  // The browser tells the page of a print while that is as wide as the window: charts were cut off at the paper's edge.
  await page.evaluate(() => addEventListener("beforeprint", () => {
    globalThis.drawn = Array.from(document.querySelectorAll(".uplot canvas"), (canvas) => canvas.width / devicePixelRatio);
  }));
  await page.pdf();
  const drawn = await page.evaluate(() => globalThis.drawn);
  assert.equal(drawn.length, await page.locator(".uplot").count(), "the page hears of a print");
  assert.ok(drawn.every((width) => width > 280 && width <= PRINTED.width), `charts are printed ${drawn} px wide`);
  await page.setViewportSize(PRINTED);
  await page.emulateMedia({ media: "print" });
  await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
  await settled(page);
  const kept = await page.$$eval("section, figure, .card", (parts, most) => parts
    .filter((part) => part.offsetHeight > most && getComputedStyle(part).breakInside === "avoid")
    .map((part) => `${part.tagName} of ${part.offsetHeight} px`), PRINTED.height);
  assert.deepEqual(kept, [], "no part that is higher than a page is kept on one");
  const cut = await page.$$eval(".scroll, pre", (boxes) => boxes.filter((box) => getComputedStyle(box).overflowY !== "visible").map((box) => box.className));
  assert.deepEqual(cut, [], "tables and texts are printed as a whole");
  const wide = await page.$$eval("table, canvas, pre", (parts, most) => parts
    .filter((part) => part.getBoundingClientRect().right > most + 1 || part.scrollWidth > part.clientWidth + 1)
    .map((part) => `${part.tagName} up to ${part.getBoundingClientRect().right} px`), PRINTED.width);
  assert.deepEqual(wide, [], "nothing lies beside the paper");
};

// Of a window's height a table takes at most so much, so that charts are not far below.
const HIGHEST = 0.7;

export const checkHeight = async (page) => {
  const { height } = page.viewportSize();
  for (const box of await page.locator(".high").all()) {
    const { height: taken } = await box.boundingBox();
    assert.ok(taken <= Math.max(HIGHEST * height, 480) + 2, `a table takes ${taken} of ${height} px`);
  }
};
