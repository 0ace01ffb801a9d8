/// <reference lib="dom" />
// A yard with more queues than are listed, names as long as they may be, and workers that come and
// go: nothing may push other things away, hide them, or lead elsewhere.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { type ServedYard, serveYard } from "../end-to-end/served-yard.js";
import { patience } from "../patience.js";
import { goTo, openPage, startBrowser, withoutChromium } from "./chromium.js";

const longQueue = `a-${"very-".repeat(20)}long-name`;
const longWorker = `worker-on-${"a-host-".repeat(12)}with-a-name`;
const stuckQueues = 130;

describe("a crowded yard", { ...patience, skip: withoutChromium }, () => {
  let browser: Browser;
  let yard: ServedYard;
  let page: Page;
  let faults: string[];

  const post = async (path: string, body = "x") => {
    const response = await fetch(`${yard.url}${path}`, { method: "POST", body });
    assert.ok(response.ok, `${path}: ${response.status}`);
    return response.status === 204 ? {} : response.json();
  };
  /** Makes a worker fail a task of the queue. */
  const fail = async (queue: string, worker: string, message: string) => {
    await post(`/v1/queues/${queue}/tasks?failures=1`);
    const { attempts } = (await post(`/v1/queues/${queue}:claim?worker=${worker}`, "")) as {
      attempts: { task: string; attempt: number; token: string }[];
    };
    const [attempt] = attempts;
    assert.ok(attempt);
    const response = await fetch(`${yard.url}/v1/tasks/${attempt.task}/attempts/${attempt.attempt}:fail`, {
      method: "POST",
      headers: { "Yard-Token": attempt.token, "Content-Type": "application/json" },
      body: JSON.stringify({ code: "failed", message }),
    });
    assert.ok(response.ok, String(response.status));
  };

  before(async () => {
    [browser, yard] = await Promise.all([startBrowser(), serveYard({ engine: "memory" })]);
    for (let at = 0; at < stuckQueues; at += 1) await post(`/v1/queues/stuck-${at}/tasks`);
    await fail(longQueue, longWorker, "could not read 'a' at 17");
    await fail(longQueue, longWorker, "could not read 'b' at 18");
    await fail(longQueue, longWorker, "out of memory");
    await post(`/v1/queues/${longQueue}/tasks`);
    await post(`/v1/queues/${longQueue}:claim?worker=${longWorker}&lease=10m`, "");
    ({ page, faults } = await openPage(browser, yard.url));
  });
  after(async () => {
    await browser?.close();
    await yard?.stop();
    assert.deepEqual(faults, []);
  });

  test("a queue that is not among those in most trouble can be opened, and is seen", async () => {
    await goTo(page, `#/queues/${longQueue}`);
    const heading = page.locator(".queue-detail h2").getByText(longQueue, { exact: true });
    await heading.waitFor();
    const box = await heading.boundingBox();
    assert.ok(box !== null && box.y < 900, JSON.stringify(box));
  });

  test("the yard draws the queue that works, and counts problems that are not told", async () => {
    await goTo(page, "#/");
    const drawing = page.getByRole("group", { name: "Queues as tracks" });
    await drawing
      .locator(".yard-name")
      .getByText(/^a-very-very/)
      .waitFor();
    await page.getByText(/^At least 97 more:/).waitFor();
  });

  test("long names end in their own column, and buttons stay in the card", async () => {
    await goTo(page, "#/tasks?q=state:failed");
    await page.locator(".tasks-table tbody tr").nth(2).waitFor();
    const overlap = await page.locator(".tasks-table tbody tr .queue-name").evaluateAll(
      (names) =>
        names.filter((name) => {
          const cell = name.closest("td")?.getBoundingClientRect();
          return name.getBoundingClientRect().right > (cell?.right ?? 0);
        }).length,
    );
    assert.equal(overlap, 0);
    await goTo(page, "#/workers");
    const drain = page.getByRole("button", { name: "Drain" });
    await drain.waitFor();
    for (const width of [1440, 1024]) {
      await page.setViewportSize({ width, height: 900 });
      const [button, card] = await Promise.all([
        drain.boundingBox(),
        page.getByRole("region", { name: "Workers" }).boundingBox(),
      ]);
      assert.ok(button && card && button.x + button.width <= card.x + card.width, `${width} px`);
    }
    await page.setViewportSize({ width: 1440, height: 960 });
  });

  test("a kind of failure leads to its own tasks, not to all with the same code", async () => {
    await goTo(page, "#/failures");
    await page.getByRole("button", { name: /could not read/ }).click();
    await page.getByRole("link", { name: "See the 2 tasks" }).click();
    await page.waitForFunction(() => document.querySelectorAll(".tasks-table tbody tr").length === 2);
  });

  test("a worker that left has no row in the stream", async () => {
    await fetch(`${yard.url}/v1/queues/stuck-1:claim?worker=brief&lease=10m`, { method: "POST" });
    await goTo(page, "#/stream?window=30");
    const row = page.locator(".stream-name").getByText("brief", { exact: true });
    await row.waitFor();
    await fetch(`${yard.url}/v1/workers/http%2Fbrief:leave`, { method: "POST" });
    await row.waitFor({ state: "detached" });
    await page.locator(".stream-name").getByText("worker-on-a-host", { exact: false }).waitFor();
  });
});
