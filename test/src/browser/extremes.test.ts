/// <reference lib="dom" />
// The page where there is much of something, or the world is not as expected: huge payloads,
// thousands of queues and workers, a wrong clock, a token that is revoked, many pages at once.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { serveYard } from "../end-to-end/served-yard.js";
import { patience, waitMs } from "../patience.js";
import { goTo, openPage, startBrowser, withoutChromium } from "./chromium.js";

/** What the design allows a page. */
const nodesMax = 3_000;
const nodesOf = (page: Page) => page.evaluate(() => document.querySelectorAll("*").length);

/** Calls `work` for 0 to `times` - 1, a few at once. */
async function manyTimes(times: number, work: (at: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const one = async () => {
    for (let at = next++; at < times; at = next++) await work(at);
  };
  await Promise.all(Array.from({ length: 16 }, one));
}

describe("the page at its limits", { ...patience, skip: withoutChromium }, () => {
  let browser: Browser;
  before(async () => {
    browser = await startBrowser();
  });
  after(() => browser?.close());

  test("of a payload of 100 MB only the beginning is fetched", async () => {
    const yard = await serveYard({ engine: "memory" });
    const payload = Buffer.alloc(100_000_000, "0123456789");
    await fetch(`${yard.url}/v1/queues/q/tasks`, { method: "POST", body: payload });
    const { page, faults } = await openPage(browser, `${yard.url}/#/task/1`);
    const network = await page.context().newCDPSession(page);
    let received = 0;
    network.on("Network.dataReceived", ({ dataLength }) => {
      received += dataLength;
    });
    await network.send("Network.enable");
    try {
      const card = page.getByRole("region", { name: "payload" });
      await card.getByRole("button", { name: "Show the first 64 KB" }).click();
      await card.getByText("0123456789", { exact: false }).first().waitFor();
      assert.ok(received < 20_000_000, `${received} bytes came`);
      assert.deepEqual(faults, []);
    } finally {
      await page.context().close();
      await yard.stop();
    }
  });

  test("10,000 queues: troubled ones first, a filter finds the rest, and the page stays small", async () => {
    // Queues that are configured do not count towards the share of one address.
    const queues = Object.fromEntries(Array.from({ length: 10_000 }, (_, at) => [`queue-${at}`, {}]));
    const yard = await serveYard({ engine: "memory", queues });
    await manyTimes(10_000, (at) =>
      fetch(`${yard.url}/v1/queues/queue-${at}/tasks`, { method: "POST", body: "x" }).then((response) =>
        response.text(),
      ),
    );
    const { page, faults } = await openPage(browser, `${yard.url}/#/queues`);
    try {
      await page.getByRole("heading", { name: "10,000 queues", exact: false }).waitFor();
      assert.ok((await nodesOf(page)) <= nodesMax, `queues: ${await nodesOf(page)} elements`);
      await page.getByRole("textbox", { name: "Filter queues" }).fill("queue-9876");
      await page.getByRole("row", { name: /queue-9876/ }).waitFor();
      for (const [view, ready] of [
        ["", ".yard-drawing"],
        ["tasks", ".tasks-table tbody tr"],
        ["failures", "h1"],
      ]) {
        await goTo(page, `#/${view}`);
        await page
          .locator(ready as string)
          .first()
          .waitFor();
        assert.ok((await nodesOf(page)) <= nodesMax, `${view}: ${await nodesOf(page)} elements`);
      }
      assert.deepEqual(faults, []);
    } finally {
      await page.context().close();
      await yard.stop();
    }
  });

  test("10,000 workers: groups with counts, bands in the stream, and the page stays small", async () => {
    const yard = await serveYard({ engine: "memory" });
    await manyTimes(10_000, (at) =>
      fetch(`${yard.url}/v1/queues/q:claim?worker=w-${at}&lease=1h`, { method: "POST" }).then((response) =>
        response.text(),
      ),
    );
    const { page, faults } = await openPage(browser, `${yard.url}/#/workers`);
    try {
      await page.getByRole("heading", { name: "10,000 workers", exact: false }).waitFor();
      assert.ok((await nodesOf(page)) <= nodesMax, `workers: ${await nodesOf(page)} elements`);
      await page.getByRole("textbox", { name: "Filter workers" }).fill("w-9876");
      await page.getByRole("row", { name: /w-9876/ }).waitFor();
      await goTo(page, "#/stream");
      await page.locator(".stream-canvas canvas").first().waitFor();
      assert.ok((await page.locator(".stream-busy .stream-share").count()) <= 40);
      assert.ok((await nodesOf(page)) <= nodesMax, `stream: ${await nodesOf(page)} elements`);
      assert.deepEqual(faults, []);
    } finally {
      await page.context().close();
      await yard.stop();
    }
  });

  test("a clock an hour behind: the page says so, and ages are by the dispatcher's", async () => {
    const yard = await serveYard({ engine: "memory" });
    for (const payload of ["x", "y"])
      await fetch(`${yard.url}/v1/queues/q/tasks`, { method: "POST", body: payload });
    const context = await browser.newContext();
    await context.addInitScript(() => {
      const { now } = Date;
      Date.now = () => now() - 3_600_000;
    });
    const page = await context.newPage();
    try {
      await page.goto(`${yard.url}/#/queues`);
      await page
        .getByText(/This computer's clock is (59 min|1 h).* behind; ages are by the dispatcher's/)
        .waitFor();
      const age = await page
        .getByRole("row", { name: /no worker/ })
        .locator("td")
        .nth(5)
        .textContent();
      assert.doesNotMatch(age ?? "", /h/);
    } finally {
      await context.close();
      await yard.stop();
    }
  });

  test("a token that is revoked while the page is open asks for another", async () => {
    const of = (name: string) => ({
      tokens: [{ sha256: createHash("sha256").update(`a-token-of-${name}`).digest("hex") }],
      rights: { read: ["*"] },
    });
    const yard = await serveYard({ engine: "memory", access: { principals: { ann: of("ann") } } });
    const { page, faults } = await openPage(browser, yard.url);
    try {
      await page.getByLabel("Token").fill("a-token-of-ann");
      await page.getByRole("button", { name: "Open" }).click();
      await goTo(page, "#/stream");
      await page.getByRole("heading", { name: "No worker is here." }).waitFor();
      const file = join(yard.folder, "yardmaster.json");
      const config = JSON.parse(readFileSync(file, "utf8"));
      writeFileSync(file, JSON.stringify({ ...config, access: { principals: { ben: of("ben") } } }));
      yard.process.kill("SIGHUP");
      await page.getByText("This token is not valid, or no longer. Sign in again.").waitFor();
      await page.getByLabel("Token").fill("a-token-of-ben");
      await page.getByRole("button", { name: "Open" }).click();
      await page.getByRole("heading", { name: "No worker is here." }).waitFor();
      assert.deepEqual(
        faults.filter((fault) => !/401/.test(fault)),
        [],
      );
    } finally {
      await page.context().close();
      await yard.stop();
    }
  });

  test("50 pages of one browser: each loads, and each sees what happens later", async (t) => {
    const yard = await serveYard({ engine: "memory" });
    const submit = (queue: string) =>
      fetch(`${yard.url}/v1/queues/${queue}/tasks`, { method: "POST", body: "x" }).then((response) =>
        response.text(),
      );
    await submit("first");
    const context = await browser.newContext();
    context.setDefaultTimeout(waitMs);
    const faults: string[] = [];
    const pages: Page[] = [];
    try {
      for (let at = 0; at < 50; at++) {
        const page = await context.newPage();
        page.on("pageerror", (error) => faults.push(`page ${at}: ${error.message}`));
        await page.goto(`${yard.url}/#/queues`);
        await page.getByRole("row", { name: /first/ }).waitFor();
        pages.push(page);
      }
      const startedAt = performance.now();
      await submit("second");
      await Promise.all(pages.map((page) => page.getByRole("row", { name: /second/ }).waitFor()));
      t.diagnostic(`the last page saw it after ${(performance.now() - startedAt).toFixed(0)} ms`);
      assert.deepEqual(faults, []);
    } finally {
      await context.close();
      await yard.stop();
    }
  });
});
