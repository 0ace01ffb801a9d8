/// <reference lib="dom" />
// The look and size of the page: every view in both themes and on a phone, saved as pictures in a
// folder (PAGE_SHOTS, or one under the system's temporary folder). axe must find nothing serious.
// Sizes and first paint are printed.

import assert from "node:assert/strict";
import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import type { Browser } from "playwright-core";
import { measured, patience } from "../patience.js";
import { goTo, openPage, seriousFaults, startBrowser, withoutChromium } from "./chromium.js";
import { type PictureWorker, pictureWorkers } from "./picture-workers.js";
import { PictureYard } from "./picture-yard.js";

const folder = process.env.PAGE_SHOTS ?? join(tmpdir(), "yardmaster-page");

/** For each view, the text to wait for before it is captured. */
const views: readonly (readonly [name: string, hash: string, ready: string])[] = [
  ["overview", "", ".yard-drawing, .yard-rows"],
  ["stream", "stream", ".stream-canvas canvas"],
  ["task", "task/776907", ".ladder svg"],
  ["tasks", "tasks?q=state:failed", ".tasks-table tbody tr"],
  ["failures", "failures/k3", ".kind-detail"],
  ["workers", "workers", ".workers-table tbody tr"],
  ["queues", "queues/render", ".queue-detail"],
  ["wire", "wire", ".wire-table tbody tr"],
  ["try", "try?queue=thumbs", ".try textarea"],
];

describe("the looks of the page", { ...patience, skip: withoutChromium }, () => {
  let browser: Browser;
  let yard: PictureYard;
  before(async () => {
    mkdirSync(folder, { recursive: true });
    [browser, yard] = await Promise.all([startBrowser(), new PictureYard().open()]);
  });
  after(async () => {
    await browser?.close();
    await yard?.close();
  });

  for (const colorScheme of ["dark", "light"] as const) {
    test(`every view in ${colorScheme}: a picture, and nothing serious for axe`, async (t) => {
      const { page, faults } = await openPage(browser, yard.base, { colorScheme });
      const serious: string[] = [];
      for (const [name, hash, ready] of views) {
        await goTo(page, `#/${hash}`);
        await page.locator(ready).first().waitFor();
        await page.screenshot({ path: join(folder, `${name}-${colorScheme}.png`) });
        serious.push(...(await seriousFaults(page)).map((fault) => `${name}: ${fault}`));
      }
      t.diagnostic(`pictures are in ${folder}`);
      assert.deepEqual(serious, []);
      assert.deepEqual(faults, []);
      await page.context().close();
    });
  }

  test("every view on a phone: a picture, no sideways scroll, nothing serious for axe, and its tabs", async () => {
    const serious: string[] = [];
    const { page, faults } = await openPage(browser, yard.base, {
      viewport: { width: 390, height: 810 },
      colorScheme: "dark",
      hasTouch: true,
    });
    for (const [name, hash, ready] of views) {
      await goTo(page, `#/${hash}`);
      await page.locator(ready).first().waitFor();
      await page.screenshot({ path: join(folder, `${name}-phone.png`) });
      const isWide = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
      assert.equal(isWide, false, `${name} scrolls sideways`);
      serious.push(...(await seriousFaults(page)).map((fault) => `${name}: ${fault}`));
    }
    assert.deepEqual(serious, []);
    // The page of a task has its buttons in place of the tabs.
    await goTo(page, "#/tasks");
    await page.getByRole("navigation").getByRole("button", { name: "More" }).click();
    await page.getByRole("link", { name: "Workers" }).last().click();
    await page.waitForFunction(() => document.title.startsWith("Workers"));
    assert.deepEqual(faults, []);
    await page.context().close();
  });

  test("script, style and first paint keep their budgets", async (t) => {
    const assets = fileURLToPath(new URL("../../../packages/server/assets/page/assets/", import.meta.url));
    const sizes = readdirSync(assets)
      .filter((name) => /\.(js|css)$/.test(name))
      .map((name) => ({ name, bytes: gzipSync(readFileSync(join(assets, name))).length }));
    const sum = (pattern: RegExp) =>
      sizes.filter(({ name }) => pattern.test(name)).reduce((total, { bytes }) => total + bytes, 0);
    const { page } = await openPage(browser, yard.base);
    await page.locator(".yard-drawing").waitFor();
    const loaded = await page.evaluate(() =>
      performance.getEntriesByType("resource").map(({ name }) => name.split("/").at(-1) ?? ""),
    );
    const shell = sizes
      .filter(({ name }) => name.endsWith(".js") && loaded.includes(name))
      .reduce((total, { bytes }) => total + bytes, 0);
    const paint = await page.evaluate(
      () => performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? Number.NaN,
    );
    t.diagnostic(
      `script ${sum(/\.js$/)} B gzip in all, ${shell} B for the overview; style ${sum(/\.css$/)} B`,
    );
    assert.ok(sum(/\.js$/) <= 150_000 && shell <= 60_000 && sum(/\.css$/) <= 15_000);
    measured(t, "first paint", paint, 1_000);
    await page.context().close();
  });

  test("the stream of 1,024 workers is bands, and a frame is cheap", async (t) => {
    const workers: PictureWorker[] = Array.from({ length: 1_024 }, (_, at) => {
      const like = pictureWorkers()[at % 24] as PictureWorker;
      return {
        ...like,
        id: `${like.door}/many-${at}`,
        slots: 1,
        meanMs: 200,
        share: 0.95,
        queues: like.queues.length > 0 ? like.queues : ["render"],
      };
    });
    const crowd = await new PictureYard({ workers, isSampled: true }).open();
    try {
      const { page, faults } = await openPage(browser, `${crowd.base}/#/stream`, { colorScheme: "dark" });
      await page.waitForFunction(
        () => ((globalThis as { streamFrameTimes?: number[] }).streamFrameTimes?.length ?? 0) > 120,
      );
      const times = (
        await page.evaluate(
          () => (globalThis as { streamFrameTimes?: number[] }).streamFrameTimes?.slice(-90) ?? [],
        )
      ).sort((a, b) => a - b);
      await page.screenshot({ path: join(folder, "stream-1024-dark.png") });
      assert.match((await page.locator(".stream-foot .right").textContent()) ?? "", /attempts/);
      assert.ok((await page.locator(".stream-busy .stream-share").count()) <= 40);
      measured(t, "a frame of the stream at p95", times[Math.floor(times.length * 0.95)] ?? Number.NaN, 8);
      assert.deepEqual(faults, []);
      await page.context().close();
    } finally {
      await crowd.close();
    }
  });
});
