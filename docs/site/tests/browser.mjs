// Browser test of the documentation site: node browser.mjs target/site. Exits 1 on any failure.
//
// From file://, in headless Chromium: no request to another place, no error, searches
// find the pages that help, diagrams are drawn, a narrow page does not scroll sideways.

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

// The browser's driver is that of the report's tests.
const require = createRequire(new URL("../../../crates/roundelay-report/package.json", import.meta.url));
const { chromium } = require("playwright-core");
const FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"];

const site = resolve(process.argv[2]);
const address = (path) => pathToFileURL(`${site}/${path}`).href;
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: FLAGS });
try {
  for (const colorScheme of ["light", "dark"]) {
    const page = await browser.newPage({ colorScheme, viewport: { width: 1200, height: 900 } });
    const problems = [];
    page.on("request", (request) => /^(file|data|blob):/.test(request.url()) || problems.push(`requests ${request.url()}`));
    page.on("pageerror", (error) => problems.push(`error: ${error.message}`));

    await page.goto(address("index.html"));
    const scheme = await page.evaluate(() => document.body.getAttribute("data-md-color-scheme"));
    assert.equal(scheme, colorScheme === "dark" ? "slate" : "default");
    // What one wants to do leads to the page that says how.
    const searches = { qfq: "qfq", bufferbloat: "docs/guides/", nftables: "docs/import", install: "docs/install", "change the rate": "docs/live" };
    for (const [words, wanted] of Object.entries(searches)) {
      await page.goto(address("index.html"));
      await page.fill("input[data-md-component=search-query]", words);
      await page.waitForSelector(".md-search-result__item a", { state: "attached", timeout: 30000 });
      const found = await page.$$eval(".md-search-result__item a", (links) => links.map((link) => link.href));
      assert.ok(found.slice(0, 3).some((link) => link.includes(wanted)), `${words}: ${found}`);
    }

    for (const path of ["ARCHITECTURE.html", "docs/schedulers/fq_codel.html"]) {
      await page.goto(address(path));
      // Diagrams are drawn into closed shadow trees: their element has a height.
      await page.waitForFunction(() => {
        const all = [...document.querySelectorAll("div.mermaid")];
        return all.length > 0 && all.every((each) => each.getBoundingClientRect().height > 50);
      }, null, { timeout: 30000 });
    }
    await page.goto(address("docs/concepts/virtual-time.html"));
    const drawn = await page.$$eval("article img", (images) => images.every((image) => image.complete && image.naturalWidth > 0));
    assert.ok(drawn, "the drawing is loaded");

    await page.setViewportSize({ width: 360, height: 740 });
    for (const path of ["index.html", "docs/tutorial.html", "docs/schedulers/index.html", "reference/scenario.html"]) {
      await page.goto(address(path));
      const width = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(width <= 360, `${path} is ${width} pixels wide`);
    }
    assert.deepEqual(problems, []);
    await page.close();
  }
  console.log("search, diagrams and drawings work from file://");
} finally {
  await browser.close();
}
