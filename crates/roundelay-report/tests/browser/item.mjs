// Browser test of pages of one item: a live run, an objective, a sweep, a replay, an item of a
// paper.
//
// node tests/browser/item.mjs page.html [--plain]: plain is a page without charts. In light and dark themes, wide and narrow: no errors, no
// requests, the answer on the first screen, drawn charts with working legends, nothing wider than
// the page. CHROMIUM names the browser, /usr/bin/chromium if unset. Exits 1 on any failure.

import assert from "node:assert/strict";
import { resolve } from "node:path";
import { checkAnswer, lookAtAll, picture, settled } from "./pages.mjs";

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

const isPlain = process.argv[3] === "--plain";

await lookAtAll(resolve(process.argv[2]), [1280, 360], async (page) => {
  await checkAnswer(page);
  const charts = await page.locator("#charts figure").count();
  assert.equal(charts > 0, !isPlain, "charts");
  assert.equal(await page.locator("#charts").isVisible(), !isPlain, "no place for charts without any");
  assert.equal(await page.locator(".uplot").count(), charts, "each chart is drawn");
  for (let number = 0; number < charts; number += 1) await checkChart(page, number);
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  assert.equal(wide, 0, `the page is ${wide} pixels too wide`);
});
