// Browser test of the QFQ page: node tests/browser.mjs qfq.html [--screenshots DIR]
//
// Light and dark, 360 and 1280 pixels, without JavaScript, with reduced motion: no errors, no
// requests, steps by keyboard, a step back shows the state before, the address has all choices.
// CHROMIUM names the browser, /usr/bin/chromium if unset. Exits 1 on any failure.

import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { pathToFileURL } from "node:url";

// Installed with the report's packages.
const { chromium } = createRequire(new URL("../../roundelay-report/package.json", import.meta.url))("playwright-core");

const FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];
const { values: options, positionals } = parseArgs({ options: { screenshots: { type: "string" } }, allowPositionals: true });
if (positionals.length !== 1) {
  console.error("usage: node tests/browser.mjs qfq.html [--screenshots DIR]");
  process.exit(2);
}
const address = pathToFileURL(resolve(positionals[0])).href;
if (options.screenshots) mkdirSync(options.screenshots, { recursive: true });

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: FLAGS });

/** Opens the page, runs `check`, and requires that nothing was fetched or complained about. */
const open = async (name, { hash = "", ...context }, check) => {
  const inside = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...context });
  const page = await inside.newPage();
  const problems = [];
  page.on("console", (message) => { if (["error", "warning"].includes(message.type())) problems.push(message.text()); });
  page.on("pageerror", (error) => problems.push(String(error)));
  page.on("request", (request) => { if (!request.url().startsWith(address) && !request.url().startsWith("data:")) problems.push(`request ${request.url()}`); });
  await page.goto(address + hash);
  if (context.javaScriptEnabled !== false) await page.waitForSelector("#app:not([hidden])");
  await check(page);
  const excess = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  assert.equal(excess, 0, `${name}: ${excess} pixels too wide`);
  if (options.screenshots) await page.screenshot({ path: join(options.screenshots, `qfq-${name}.png`), fullPage: true });
  assert.deepEqual(problems, [], name);
  await inside.close();
};

/** The policy of the page lets no script run but its own, and nothing be loaded. */
const checkPolicy = async () => {
  const page = await browser.newPage();
  const refused = [];
  page.on("console", (message) => { if (message.type() === "error") refused.push(message.text()); });
  await page.goto(address);
  await page.waitForSelector("#app:not([hidden])");
  const hasRun = await page.evaluate(() => {
    const script = document.createElement("script");
    script.textContent = "window.planted = true";
    document.body.append(script);
    document.body.insertAdjacentHTML("beforeend", '<img src="x:" onerror="window.planted = true">');
    return Boolean(window.planted);
  });
  assert.equal(hasRun, false, "a planted script does not run");
  assert.match(refused.join("\n"), /Content Security Policy/);
  await page.close();
};
await checkPolicy();

/** All that depends on the step, as text. */
const shown = (page) => page.evaluate(() => ["drawing", "timeline", "moves", "flows", "groups", "live", "count"].map((id) => document.getElementById(id).innerHTML).join("\n"));
const count = (page) => page.locator("#count").textContent();

const checkSteps = async (page) => {
  await page.keyboard.press("Home");
  const seen = [await shown(page)];
  for (let step = 1; step <= 28; step += 1) {
    await page.keyboard.press("ArrowRight");
    assert.equal(await count(page), `${step} of 28`);
    seen.push(await shown(page));
    assert.ok(await page.locator("#moves li").count() > 0, `step ${step} has moves`);
  }
  assert.equal(new Set(seen).size, 29, "each step differs");
  await page.keyboard.press("ArrowRight");
  assert.equal(await shown(page), seen[28], "nothing comes after the last step");
  for (let step = 27; step >= 0; step -= 1) {
    await page.keyboard.press("ArrowLeft");
    assert.equal(await shown(page), seen[step], `back to step ${step} shows what was there before`);
  }
  await page.keyboard.press("End");
  assert.equal(await count(page), "28 of 28");
  await page.keyboard.press("Home");
  assert.equal(await count(page), "0 of 28");
  await page.locator("#step").fill("20");
  assert.equal(await shown(page), seen[20], "the slider");
};

/** Focus goes through the controls in the order of the page, each with a name. */
const checkFocus = async (page) => {
  const order = [];
  for (let press = 0; press < 11; press += 1) {
    await page.keyboard.press("Tab");
    order.push(await page.evaluate(() => document.activeElement.id || document.activeElement.value));
  }
  assert.deepEqual(order, ["first", "back", "forward", "last", "play", "step", "ask", "load", "follow", "speed", "shipped"]);
  const unnamed = await page.evaluate(() => [...document.querySelectorAll("button, select, input, textarea")].filter((control) => !control.labels?.length && !control.textContent.trim()).map((control) => control.outerHTML));
  assert.deepEqual(unnamed, [], "each control has a name");
  assert.equal(await page.locator("#live").getAttribute("aria-live"), "polite");
  assert.match(await page.locator("#drawing svg").getAttribute("aria-label"), /^V = .* ER: /);
};

/** What the page is about is on the first screen: a drawing with queues, and the controls below it. */
const checkFirstScreen = async (page) => {
  const bottom = async (id) => {
    const { y, height } = await page.locator(id).boundingBox();
    return y + height;
  };
  assert.ok(await bottom("#drawing") <= 700, `the drawing ends at ${await bottom("#drawing")} px`);
  for (const id of ["#forward", "#load", "#rules"]) {
    const { y } = await page.locator(id).boundingBox();
    assert.ok(y >= await bottom("#drawing"), `${id} stands below the drawing`);
  }
  assert.ok(await bottom("#live") <= 900, "the step in words is on the screen");
};

/** Each load opens on a step with packets in the queues, a packet on the link, and moves. */
const checkOpening = async (page) => {
  for (const load of ["sets", "crossing", "heavy", "idle"]) {
    await page.selectOption("#load", load);
    assert.notEqual((await count(page)).split(" ")[0], "0", `${load} opens on a step`);
    assert.ok(await page.locator("#drawing .flow").count() > 2, `${load}: packets in the drawing`);
    assert.ok(await page.locator("#moves li").count() > 0, `${load}: moves`);
  }
};

/** Regression: the largest lag was that of the step before. */
const checkLags = async (page) => {
  await page.keyboard.press("Home");
  let behind = 0;
  for (let step = 1; step <= 28; step += 1) {
    await page.keyboard.press("ArrowRight");
    const lags = await page.$$eval("#flows tbody tr", (rows) => rows.map((row) => [8, 9].map((place) => Number(row.cells[place].textContent))));
    for (const [lag, largest] of lags) assert.ok(largest >= lag, `step ${step}: a lag of ${lag}, the largest ${largest}`);
    behind = Math.max(behind, ...lags.map(([lag]) => lag));
  }
  assert.ok(behind > 1000, "some flow falls behind");
};

/** On a telephone, too, the first screen has the step in words: what is sent, and why. */
const checkAnswer = async (page) => {
  const { y, height } = await page.locator("#live > :first-child").boundingBox();
  assert.ok(y >= 0 && y + height <= 700, `the step in words ends at ${y + height} px`);
  assert.match(await page.locator("#live").textContent(), /\d/, "with its figures");
};

await open("first-screen", {}, checkFirstScreen);
await open("answer", {}, checkAnswer);
await open("answer-narrow", { viewport: { width: 360, height: 740 } }, checkAnswer);
await open("opening", {}, checkOpening);
await open("lags", {}, checkLags);
await open("light", {}, checkSteps);
await open("focus", {}, checkFocus);

await open("moves", { hash: "#load=sets&step=21" }, async (page) => {
  const text = await page.locator("#moves").textContent();
  assert.match(text, /V is 3328, its old F 0, and F of group 9 above, the lowest in ER, is 3072\. S = 3072/);
  assert.match(text, /S = max\(min\(V, F_b\), F\)/);
  assert.match(await page.locator("#moves a").first().getAttribute("href"), /groups\.rs#L\d+$/);
  await page.locator("#moves summary").first().click();
  assert.match(await page.locator("#moves pre").first().textContent(), /fn earliest_start/);
  assert.match(await page.locator("#groups").textContent(), /EB/);
});

await open("rules", { hash: "#load=crossing&step=28" }, async (page) => {
  assert.equal(await page.locator("#live .bad").count(), 0, "ours keeps the order");
  for (const rule of ["as-printed", "linux"]) {
    await page.locator(`input[value="${rule}"]`).check();
    assert.match(await page.locator("#live").textContent(), /Broken: Theorem 6/, rule);
    assert.equal(await count(page), "28 of 30", "the step stays");
  }
  assert.match(page.url(), /rule=linux/);
  await page.locator('input[value="shipped"]').check();
  assert.equal(await page.locator("#live .bad").count(), 0);
});

await open("question", { hash: "#load=sets&step=13&ask=1" }, async (page) => {
  assert.ok(await page.locator("#question").isVisible());
  assert.deepEqual(await page.locator("#answers button").allTextContents(), ["A", "B", "X"]);
  await page.keyboard.press("ArrowRight");
  assert.equal(await count(page), "13 of 28", "a step ahead waits for the answer");
  assert.equal(await page.evaluate(() => document.activeElement.textContent), "A", "and the focus goes to the answers");
  await page.locator("#answers button", { hasText: "X" }).click();
  assert.match(await page.locator("#live").textContent(), /Not X: flow A\. Group 8 is the first bit set in ER/);
  assert.equal(await count(page), "14 of 28");
  await page.locator("#answers button", { hasText: "B" }).press("Enter");
  assert.match(await page.locator("#live").textContent(), /Right: flow B\./);
});

await open("address", { hash: "#load=heavy&step=30&follow=5&speed=5" }, async (page) => {
  assert.equal(await page.locator("#load").inputValue(), "heavy");
  assert.equal(await count(page), "30 of 64");
  assert.ok(await page.locator("#drawing .followed, #timeline .followed").count() > 0, "the packet is outlined");
  assert.match(await page.locator("#followed").textContent(), /Packet H6 .* fluid server ends at/);
  await page.locator("#play").click();
  await page.waitForFunction(() => document.getElementById("count").textContent === "33 of 64");
  await page.locator("#play").click();
  const before = await shown(page);
  const copy = page.url();
  await page.goto("about:blank");
  await page.goto(copy);
  await page.waitForSelector("#app:not([hidden])");
  assert.equal(await shown(page), before, "the address leads back to the same state");
});

await open("own-load", {}, async (page) => {
  await page.locator("summary", { hasText: "Write arrivals" }).click();
  await page.locator("#text").fill("flow P weight 3\nflow Q\nP 1000 x 2\nR 5");
  await page.locator("#run").click();
  assert.match(await page.locator("#error").textContent(), /line 4: no flow 'R' above/);
  await page.locator("#text").fill("flow P weight 3\nflow Q\nP 1000 x 2\nQ 500 at 1ms");
  await page.locator("#run").click();
  assert.equal(await page.locator("#error").textContent(), "");
  assert.equal(await count(page), "0 of 6");
  assert.match(page.url(), /text=flow/);
  await page.locator('input[value="linux"]').click();
  assert.match(await page.locator("#error").textContent(), /flow P: share 3 \/ 4; the listings need/);
  await page.keyboard.press("End");
});

for (const scheme of ["light", "dark"]) {
  await open(`narrow-${scheme}`, { hash: "#load=sets&step=21&follow=3", colorScheme: scheme, viewport: { width: 360, height: 740 } }, async (page) => {
    const [card, text] = await page.evaluate(() => {
      const style = getComputedStyle(document.body);
      return [style.backgroundColor, style.color].map((colour) => colour.match(/\d+/g).slice(0, 3).reduce((sum, part) => sum + Number(part), 0));
    });
    assert.equal(card < text, scheme === "dark", `${scheme}: background ${card}, text ${text}`);
    const small = await page.evaluate(() => [...document.querySelectorAll("button, select")].filter((control) => control.getBoundingClientRect().right > innerWidth).length);
    assert.equal(small, 0, "each control is on the screen");
  });
}

const animations = (page) => page.evaluate(() => document.getAnimations().length);
await open("motion", { reducedMotion: "no-preference" }, async (page) => {
  await page.keyboard.press("ArrowRight");
  assert.ok(await animations(page) > 0, "a step fades in");
});
await open("still", { reducedMotion: "reduce" }, async (page) => {
  await page.keyboard.press("ArrowRight");
  assert.equal(await animations(page), 0, "no motion where none is wanted");
});

for (const [name, width] of [["plain", 1280], ["plain-narrow", 360]]) {
  await open(name, { javaScriptEnabled: false, viewport: { width, height: 800 } }, async (page) => {
    // Ten of the arrivals only lengthen a queue.
    assert.equal(await page.locator("figure").count(), 19, "a drawing of each state");
    const newcomer = page.locator("figure", { hasText: "packet D1 of flow D, 2048 bytes, arrives" });
    assert.match(await newcomer.locator("ol").textContent(), /S = 3072 \(F of that group/);
    assert.match(await newcomer.locator("svg").getAttribute("aria-label"), /ER: group 9, 13; IR: empty; EB: group 8/);
    assert.ok(!await page.locator("#app").isVisible());
  });
}

await browser.close();
console.log("the QFQ page: steps, back, keyboard, rules, question, address, 360 pixels, dark, reduced motion and without JavaScript: all well");
