// Browser test of pages of one item: a live run, an objective, a sweep, a replay, an item of a
// paper, a question.
//
// node tests/browser/item.mjs page.html [--plain] [--question] [--categories]: plain is a page without charts, question the page of a question, and categories one with a chart of categories.
// In light and dark themes, wide and narrow: no errors, no requests, the answer on the first screen, drawn charts with working legends, ticks at
// the categories and at whole numbers of what is counted, nothing wider than the page. CHROMIUM names the browser, /usr/bin/chromium if unset. Exits 1 on any failure.

import assert from "node:assert/strict";
import { resolve } from "node:path";
import { checkAnswer, checkPrint, lookAtAll, picture, settled, ticks } from "./pages.mjs";

const checkChart = async (page, number) => {
  const id = `chart${number}`;
  const before = await picture(page, id);
  assert.ok(before.painted > 500, `${id}: only ${before.painted} pixels are painted`);
  // A curve may lie on the axis, or under another: one of them must show.
  // Panels have one legend.
  const legend = await page.locator(`#legend${number}`).count() > 0 ? number : 0;
  const buttons = page.locator(`#legend${legend} button`);
  let changed = false;
  for (let curve = 0; curve < await buttons.count() && !changed; curve += 1) {
    await buttons.nth(curve).click();
    await settled(page);
    changed = (await picture(page, id)).hash !== before.hash;
    await buttons.nth(curve).click();
    await settled(page);
  }
  assert.ok(changed, `${id}: hiding a curve changes it`);
};

// Regression: a replay's page had ticks at half routers. Returns whether the axis has categories.
const checkTicks = async (page, number) => {
  const { x: { names }, xs } = await page.evaluate((number) => JSON.parse(document.getElementById("data").textContent)[number], number);
  const { places, names: written } = await ticks(page, `chart${number}`);
  if (names.length > 0) {
    assert.deepEqual(places, names.map((name, place) => place), `chart${number}: a tick at each category, and none between`);
    assert.deepEqual(written, names, `chart${number}: each tick has its category's name`);
    assert.ok(xs.every((place) => places.includes(place)), `chart${number}: points stand at categories`);
  } else if (xs.every(Number.isInteger)) {
    assert.ok(places.every((place) => place === null || Number.isInteger(place)), `chart${number}: ticks at ${places}, of whole numbers`);
  }
  return names.length > 0;
};

// The choice of colours works on each page, of a question too.
const checkTheme = async (page) => {
  const seen = new Set();
  for (const theme of ["dark", "light"]) {
    await page.locator(`#theme input[value=${theme}]`).check();
    seen.add(await page.evaluate(() => getComputedStyle(document.body).backgroundColor));
  }
  assert.equal(seen.size, 2, `backgrounds ${[...seen]}`);
};

const isQuestion = process.argv.includes("--question");
const isPlain = isQuestion || process.argv.includes("--plain");
// Of theorems, the figures are numbers of claims; a question says what to choose.
const figure = isQuestion ? /--filter '.+'.* or .*--direction both/ : isPlain ? /\d (holds?|do)/ : undefined;
const hasCategories = process.argv.includes("--categories");

await lookAtAll(resolve(process.argv[2]), [1280, 360], async (page) => {
  await checkAnswer(page, figure);
  const charts = await page.locator("#charts figure").count();
  assert.equal(charts > 0, !isPlain, "charts");
  assert.equal(await page.locator("#charts").isVisible(), !isPlain, "no place for charts without any");
  assert.equal(await page.locator(".uplot").count(), charts, "each chart is drawn");
  let categories = 0;
  for (let number = 0; number < charts; number += 1) {
    await checkChart(page, number);
    categories += await checkTicks(page, number) ? 1 : 0;
  }
  assert.ok(categories > 0 || !hasCategories, "a chart of categories");
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  assert.equal(wide, 0, `the page is ${wide} pixels too wide`);
  await checkTheme(page);
  await checkPrint(page);
});
