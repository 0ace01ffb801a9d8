/// <reference lib="dom" />
// Every view, button and key of the page against a real dispatcher with real workers.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Browser, Locator, Page } from "playwright-core";
import { patience } from "../patience.js";
import { type BusyYard, busyYard } from "./busy-yard.js";
import { goTo, openPage, seriousFaults, startBrowser, withoutChromium } from "./chromium.js";

/**
 * The second click must come within 4 s, which a busy machine may need for the first. Then it is
 * repeated.
 */
async function clickTwice(first: Locator, second: Locator): Promise<void> {
  const isConfirmed = () =>
    second.click({ timeout: 3_500 }).then(
      () => true,
      () => false,
    );
  do await first.click();
  while (!(await isConfirmed()));
}

describe("the page and a real dispatcher", { ...patience, skip: withoutChromium }, () => {
  let browser: Browser;
  let yard: BusyYard;
  let page: Page;
  let faults: string[];
  let failedId = "";

  before(async () => {
    [browser, yard] = await Promise.all([startBrowser(), busyYard()]);
    ({ page, faults } = await openPage(browser, yard.url, {
      permissions: ["clipboard-write", "clipboard-read"],
    }));
  });
  after(async () => {
    await browser?.close();
    await yard?.stop();
    assert.deepEqual(faults, []);
  });

  test("first run shows lines to paste, and ticks them off", async () => {
    await page.getByRole("heading", { name: "The yard is open, and empty." }).waitFor();
    await page.getByText("Tasks are kept in memory only", { exact: false }).waitFor();
    await page.locator(".first-demo").getByText("npx yardmaster demo").waitFor();
    await page.getByRole("button", { name: "TypeScript" }).click();
    await page.getByText('import { connect } from "@yardmaster/sdk"').waitFor();
    await page.getByRole("button", { name: "curl", exact: true }).click();
    await yard.submit("nobody", "first");
    await page.getByText(/Task 1 is here\. It waits: No worker serves queue nobody/).waitFor();
    await page.setViewportSize({ width: 390, height: 810 });
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 390);
    await page.setViewportSize({ width: 1440, height: 960 });
  });

  test("the overview says what is wrong and how to mend it, with figures and the yard", async () => {
    await Promise.all(["a", "b", "c"].map((payload) => yard.submit("thumbs", payload)));
    failedId = await yard.submit("thumbs", "fail");
    await page
      .getByText("tasks wait and no worker serves the queue", { exact: false })
      .or(page.getByText("task waits and no worker", { exact: false }))
      .first()
      .waitFor();
    await page.getByRole("button", { name: "Start a worker…" }).click();
    const dialog = page.getByRole("dialog", { name: "Start a worker for nobody" });
    await dialog.getByText(`yardmaster work ${yard.url} --queue nobody`, { exact: false }).waitFor();
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    await page.getByRole("link", { name: /^Waiting/ }).waitFor();
    const drawing = page.getByRole("group", { name: "Queues as tracks" });
    await drawing.getByText("thumbs", { exact: true }).waitFor();
    await drawing.getByText("no worker serves it").waitFor();
    await page.keyboard.press("v");
    await page.getByRole("region", { name: "The yard, now" }).getByRole("table").waitFor();
    await page.keyboard.press("v");
    await page.getByRole("link", { name: /^Waiting/ }).click();
    await page.getByText("state", { exact: true }).first().waitFor();
    assert.match(page.url(), /#\/tasks\?q=state%3Awaiting/);
  });

  test("keys go to every view, and to the palette and the help", async () => {
    const heads = {
      s: "Stream",
      t: "Tasks",
      f: "Failures",
      w: "Workers",
      q: "Queues",
      r: "Wire",
      n: "Try it",
      o: "Overview",
    };
    for (const [key, name] of Object.entries(heads)) {
      await page.keyboard.press("g");
      await page.keyboard.press(key);
      await page.waitForFunction((title) => document.title.startsWith(title), name);
    }
    await page.keyboard.press("/");
    await page.getByRole("combobox").fill("thumbs");
    await page
      .getByRole("option", { name: /thumbs/ })
      .first()
      .waitFor();
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => location.hash === "#/queues/thumbs");
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox").fill("1");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Task 1" }).waitFor();
    await page.keyboard.press("?");
    const help = page.getByRole("dialog", { name: "Keys" });
    await help.getByLabel("Single-key shortcuts").uncheck();
    await page.keyboard.press("Escape");
    await page.keyboard.press("g");
    await page.keyboard.press("t");
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox").fill("workers");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => document.title.startsWith("Workers"));
    await page.evaluate(() => localStorage.clear());
  });

  test("the stream draws attempts, pauses, zooms, follows, and has a table", async () => {
    await goTo(page, "#/stream");
    const drawing = page.getByRole("application");
    await drawing.waitFor();
    await Promise.all(Array.from({ length: 20 }, (_, at) => yard.submit("thumbs", `s${at}`)));
    await page.waitForFunction(() => {
      const canvas = document.querySelector<HTMLCanvasElement>(".stream-canvas canvas");
      const pixels = canvas?.getContext("2d")?.getImageData(0, 0, canvas.width, canvas.height).data ?? [];
      const colours = new Set<number>();
      for (let at = 0; at < pixels.length; at += 4)
        if (pixels[at + 3] === 255)
          colours.add(((pixels[at] ?? 0) << 16) + ((pixels[at + 1] ?? 0) << 8) + (pixels[at + 2] ?? 0));
      return colours.size >= 3;
    });
    await page.getByRole("button", { name: /^Pause/ }).click();
    await page.getByRole("button", { name: /^Back to now/ }).waitFor();
    await page.keyboard.press("0");
    await page.keyboard.press("-");
    await page.waitForFunction(() => location.hash.includes("window=300"));
    await drawing.focus();
    await page.keyboard.press("ArrowLeft");
    await page
      .locator(".stream-card")
      .getByText(/Attempt 1 on/)
      .waitFor();
    await page.keyboard.press("f");
    await page.getByText("follows").waitFor();
    await page.getByRole("button", { name: "Follow no task" }).click();
    await page.keyboard.press("b");
    await page.getByText("its worker was heard, to the second").waitFor();
    assert.match(page.url(), /beats=shown/);
    await page.keyboard.press("v");
    await page.getByRole("region", { name: "Attempts in this window" }).getByRole("link").first().click();
    await page.getByRole("heading", { name: /^Task \d+/ }).waitFor();
  });

  test("a task tells its story, shows its bytes, and is retried and cancelled", async () => {
    await goTo(page, `#/task/${failedId}`);
    await page.locator(".task-sentence").getByText("Failed", { exact: true }).waitFor();
    await page.getByRole("region", { name: "payload" }).getByText("fail", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Compact" }).click();
    await page.getByText(/Attempt 1 on .+ failed after/).waitFor();
    await page.getByRole("button", { name: /^Full story/ }).click();
    await page.getByRole("cell", { name: "Submitted, and kept in memory only." }).waitFor();
    await page.keyboard.press("y");
    await page.getByText("Copied the curl line.").waitFor();
    assert.match(
      await page.evaluate(() => navigator.clipboard.readText()),
      new RegExp(`/v1/tasks/${failedId}'`),
    );
    await page.getByRole("button", { name: /^Retry/ }).click();
    // The hash of the failed task's own page has a query by now, so only its path is compared.
    await page.waitForFunction((id) => location.hash.split("?")[0] !== `#/task/${id}`, failedId);
    await page.getByRole("link", { name: `retries ${failedId}` }).waitFor();
    await goTo(page, "#/task/1");
    await clickTwice(
      page.getByRole("button", { name: "Cancel task…" }),
      page.getByRole("button", { name: "Cancel it" }),
    );
    await page.locator(".task-sentence").getByText("Cancelled", { exact: true }).waitFor();
    await goTo(page, "#/task/999999");
    await page.getByRole("heading", { name: "There is no task 999999." }).waitFor();
  });

  test("a task names its group and schedule, and the tasks before and after it", async () => {
    const first = await Promise.all(["a", "b", "c", "d", "e"].map((each) => yard.submit("nobody", each)));
    const held = await yard.submit("nobody", "held", { group: "<b>night</b>", after: first });
    const last = await yard.submit("nobody", "last", { after: [held] });
    await goTo(page, `#/task/${held}`);
    const head = page.locator(".task-head");
    await head.getByText("group <b>night</b>").waitFor();
    await head.getByText("and 1 more", { exact: true }).waitFor();
    await head.getByRole("link", { name: `waiting ${first[3]}` }).waitFor();
    await head.getByRole("link", { name: `waiting ${last}` }).waitFor();
    assert.deepEqual(await seriousFaults(page), []);
    await page.setViewportSize({ width: 390, height: 810 });
    await head.getByText("group <b>night</b>").waitFor();
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 390);
    await page.setViewportSize({ width: 1440, height: 960 });
    await yard.post(`/v1/tasks/${first[0]}:cancel`);
    await head.getByRole("link", { name: `cancelled ${first[0]}` }).waitFor();
    // Nothing depends on it any more.
    await head.getByRole("link", { name: last }).waitFor({ state: "detached" });
    await fetch(`${yard.url}/v1/schedules/nightly`, {
      method: "PUT",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ every: "1h", queue: "nobody", payload: "tick" }),
    });
    const run = (await (await yard.post("/v1/schedules/nightly:run-now")).json()) as { task: string };
    await goTo(page, `#/task/${run.task}`);
    await head.getByText("schedule nightly").waitFor();
  });

  test("a retry that is answered late does not leave the page opened meanwhile", async () => {
    const isRetry = (url: URL) => url.pathname.endsWith(":retry");
    let answer: () => void = () => undefined;
    const leave = new Promise<void>((resolve) => {
      answer = resolve;
    });
    await page.route(isRetry, async (route) => {
      await leave;
      await route.continue();
    });
    await goTo(page, `#/task/${failedId}`);
    await page.getByRole("button", { name: /^Retry/ }).click();
    await goTo(page, "#/task/999999");
    await page.getByRole("heading", { name: "There is no task 999999." }).waitFor();
    const answered = page.waitForResponse((response) => isRetry(new URL(response.url())));
    answer();
    const { id } = (await (await answered).json()) as { id: string };
    await page.getByText(`Task ${id} was submitted with the same payload`).waitFor();
    assert.equal(await page.evaluate(() => location.hash), "#/task/999999");
    await page.unroute(isRetry);
  });

  test("tasks are found by chips, chosen, and acted on together", async () => {
    await Promise.all(["x", "y", "z"].map((payload) => yard.submit("parked", payload)));
    await goTo(page, "#/tasks?q=queue:parked");
    const rows = page.getByRole("region", { name: "Tasks that match" }).locator("tbody tr");
    await page.waitForFunction(() => document.querySelectorAll(".tasks-table tbody tr").length === 3);
    const field = page.getByRole("textbox", { name: "Filter tasks" });
    await field.fill("state:brocken ");
    await field.press("Enter");
    await page
      .getByRole("alert")
      .getByText(/expected one of waiting/)
      .waitFor();
    // All that match would be all there are.
    await field.press("Escape");
    await page
      .locator("main h1")
      .first()
      .evaluate(() => (document.activeElement as HTMLElement).blur());
    await page.keyboard.press("a");
    await page.getByText("Correct or remove the marked filter first", { exact: false }).waitFor();
    assert.equal(await page.getByRole("region", { name: "Chosen tasks" }).count(), 0);
    const reloaded = page.waitForResponse((response) => response.url().includes("/v1/tasks?queue=parked"));
    await page.getByRole("button", { name: "Remove state:brocken" }).click();
    await reloaded;
    await page.waitForFunction(() => document.querySelectorAll(".tasks-table tbody tr").length === 3);
    await yard.submit("parked", "new");
    await page.getByRole("button", { name: "1 new" }).click();
    await page.waitForFunction(() => document.querySelectorAll(".tasks-table tbody tr").length === 4);
    await page.keyboard.press("j");
    await page.keyboard.press("x");
    await page.getByText("1 task chosen").waitFor();
    await page.keyboard.press("Escape");
    await page.keyboard.press("a");
    await page.getByRole("button", { name: /^Cancel 4…/ }).waitFor();
    assert.equal(await page.getByRole("button", { name: /^Retry 4…/ }).count(), 0);
    await page.keyboard.press("C");
    await page.getByRole("button", { name: /^Cancel 4 tasks$/ }).click();
    await page.getByText("4 of 4 done").waitFor();
    await page.getByRole("dialog").getByRole("button", { name: "Close" }).click();
    await rows.first().getByRole("img", { name: "cancelled" }).waitFor();
    await goTo(page, "#/tasks?q=queue:parked%20state:failed");
    await page.getByText("No task matches. 4 match without state:failed.").waitFor();
    await page.getByRole("button", { name: "Remove state:failed", exact: true }).last().click();
    await rows.first().waitFor();
    await goTo(page, "#/tasks?q=queue:parked%20state:cancelled%20since:1h%20until:1h");
    await page.getByText("No task matches. 4 match without until:1h.").waitFor();
    await goTo(page, "#/tasks?q=queue:parked%20door:udp%20nothing-says-this");
    await page.getByText("No task matches.", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Remove nothing-says-this", exact: true }).waitFor();
  });

  test("failures of one kind are one line, with what the last one said", async () => {
    await Promise.all(["fail 1", "fail 22", "fail 333"].map((payload) => yard.submit("thumbs", payload)));
    await goTo(page, "#/failures");
    await page.getByRole("heading", { name: /failed in the last hour, for 1 reason/ }).waitFor();
    await page.getByText(/The last one said/).waitFor();
    await page.getByRole("button", { name: "24 h" }).click();
    await page.getByRole("heading", { name: /failed in 24 h/ }).waitFor();
    await page.getByRole("link", { name: "Retry them…" }).click();
    await page.getByRole("heading", { name: /^Retry \d tasks\?$/ }).waitFor();
    await page.getByRole("button", { name: "Not now" }).click();
    await goTo(page, "#/failures");
    await page.getByRole("link", { name: /^See the \d tasks/ }).click();
    await page.waitForFunction(() => document.querySelectorAll(".tasks-table tbody tr").length >= 4);
  });

  test("queues are paused with Undo, drained, and plotted", async () => {
    await goTo(page, "#/queues/thumbs");
    const row = page.getByRole("row", { name: /thumbs/ }).first();
    const undo = page.getByRole("button", { name: "Undo" }).first();
    const isUndone = () =>
      undo.click({ timeout: 5_000 }).then(
        () => true,
        () => false,
      );
    // A note disappears after 6 s, so a busy machine may miss it.
    for (;;) {
      await row.getByRole("button", { name: "Pause" }).click();
      await row.getByRole("img", { name: "paused" }).waitFor();
      if (await isUndone()) break;
      await row.getByRole("button", { name: "Resume" }).click();
      await row.getByRole("img", { name: "clear" }).waitFor();
    }
    await row.getByRole("img", { name: "clear" }).waitFor();
    await page.locator(".uplot canvas").first().waitFor();
    await page.getByRole("img", { name: /The newest tasks of thumbs/ }).waitFor();
    await page.getByRole("button", { name: "1 h", exact: true }).click();
    await page.keyboard.press("p");
    await row.getByRole("img", { name: "paused" }).waitFor();
    await page.keyboard.press("p");
    await row.getByRole("img", { name: "clear" }).waitFor();
    const menu = row.getByRole("button", { name: "More for thumbs" });
    const isShut = () => menu.and(page.locator("[aria-expanded=false]")).waitFor();
    await menu.click();
    await page.locator(".menu .floating").waitFor();
    await page.keyboard.press("Escape");
    await isShut();
    // The menu of the last row is not cut off by the table.
    await page
      .locator(".queues-table tbody tr")
      .last()
      .getByRole("button", { name: /^More for/ })
      .click();
    await page.locator(".menu .floating").waitFor();
    assert.ok(
      await page.locator("section.scroll-x").evaluate((table) => table.scrollHeight <= table.clientHeight),
    );
    await page.keyboard.press("Escape");
    await menu.click();
    await page.getByRole("heading", { name: "Waiting" }).click();
    await isShut();
    await menu.click();
    await clickTwice(
      page.getByRole("button", { name: "Drain: accept nothing more" }),
      page.getByRole("button", { name: /^Drain it/ }),
    );
    await page.getByText("thumbs accepts no more tasks", { exact: false }).waitFor();
    await row.getByRole("button", { name: "Resume" }).click();
    await row.getByRole("img", { name: "clear" }).waitFor();
    await page.getByRole("textbox", { name: "Filter queues" }).fill("zzz");
    await page.getByText("No queue's name has “zzz”.").waitFor();
  });

  test("the wire shows messages with fields and bytes, and follows a task", async () => {
    // Without a filter, rows pass faster than a test can click.
    await goTo(page, "#/wire?type=submitTask");
    const row = page.locator(".wire-table tbody tr").first();
    const isThere = () =>
      row.waitFor({ timeout: 1_000 }).then(
        () => true,
        () => false,
      );
    do await yard.submit("thumbs", "wired");
    while (!(await isThere()));
    await row.click();
    await page.getByRole("heading", { name: "Decoded" }).waitFor();
    const link = page.getByRole("link", { name: /^Open task \d+/ });
    const id = /\d+/.exec((await link.textContent()) ?? "")?.[0] ?? "";
    await page.getByRole("button", { name: "Remove type:submitTask" }).click();
    await page.getByRole("textbox", { name: "Filter messages" }).fill(id);
    await page.keyboard.press("Enter");
    await page.waitForFunction((task) => location.hash.includes(`task=${task}`), id);
    await page.getByRole("button", { name: `Remove task:${id}` }).click();
    await page.getByRole("button", { name: "All", exact: true }).click();
    await page.waitForFunction(() => location.hash.includes("beats=all"));
  });

  test("try it submits a task, shows its life, and puts a refusal at its field", async () => {
    await goTo(page, "#/try?queue=thumbs");
    await page.getByRole("textbox", { name: "payload" }).fill("from the page");
    await page.getByRole("button", { name: /^More:/ }).click();
    await page.getByRole("textbox", { name: "delay" }).fill("soon");
    await page.getByRole("button", { name: /^Submit/ }).click();
    await page
      .getByRole("alert")
      .getByText(/a duration such as/)
      .waitFor();
    await page.getByRole("textbox", { name: "delay" }).fill("");
    await page.getByRole("textbox", { name: "payload" }).press("Control+Enter");
    await page.getByRole("link", { name: /^Task \d+ is done/ }).waitFor();
    await page.getByText('"from the page"').first().waitFor();
    await page.getByRole("button", { name: "SDK" }).click();
    await page.getByText("client.submit(", { exact: false }).waitFor();
  });

  test("no view is wider than its window, and orders can be reached at any width", async () => {
    for (const width of [1440, 1210, 900, 390]) {
      await page.setViewportSize({ width, height: 810 });
      for (const view of ["", "stream", "tasks", "failures", "workers", "queues", "wire", "try", "task/1"]) {
        await goTo(page, `#/${view}`);
        await page.locator("main").getByText(/\S/).first().waitFor();
        const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        assert.ok(wide <= 0, `${view} at ${width} px is ${wide} px too wide`);
        if (view !== "workers" && view !== "queues") continue;
        const order = page.getByRole("button", { name: view === "workers" ? "Drain" : "Pause", exact: true });
        const box = await order.first().boundingBox();
        assert.ok(box && box.x + box.width <= width, `${view} at ${width} px: ${JSON.stringify(box)}`);
      }
    }
    // On a phone one thing of a list is a page, with a way back.
    await goTo(page, "#/queues");
    await page.locator(".queues-table").getByRole("link", { name: "thumbs" }).click();
    await page.getByRole("heading", { name: "Train graph" }).waitFor();
    assert.equal(await page.locator(".queues-table").count(), 0);
    await page.getByRole("button", { name: "Back" }).click();
    await page.locator(".queues-table").waitFor();
    assert.equal(await page.locator(".queue-detail").count(), 0);
    await page.setViewportSize({ width: 1440, height: 960 });
  });

  test("no view is wider than its window before it has measured itself", async () => {
    const context = await browser.newContext({ viewport: { width: 1210, height: 810 } });
    // A busy browser reports sizes late. This one never does.
    await context.addInitScript(() => {
      window.ResizeObserver = class {
        observe() {}
        unobserve() {}
        disconnect() {}
      };
    });
    const unmeasured = await context.newPage();
    await unmeasured.goto(yard.url);
    for (const width of [1440, 1210]) {
      await unmeasured.setViewportSize({ width, height: 810 });
      for (const view of ["", "stream", "workers", "queues/thumbs", "wire", "task/1"]) {
        await goTo(unmeasured, `#/${view}`);
        await unmeasured.locator("main").getByText(/\S/).first().waitFor();
        const wide = await unmeasured.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        assert.ok(wide <= 0, `${view} at ${width} px is ${wide} px too wide`);
      }
    }
    await context.close();
  });

  test("workers of every dialect are listed, filtered and drained", async () => {
    await goTo(page, "#/workers");
    const table = page.getByRole("region", { name: "Workers" });
    for (const door of ["http", "pingpong", "pulse", "udp", "monique", "scaler"])
      await table.getByText(door, { exact: true }).waitFor();
    await page.getByRole("button", { name: "flat" }).click();
    await page.getByRole("textbox", { name: "Filter workers" }).fill("udp/");
    await page.waitForFunction(() => document.querySelectorAll(".workers-table tbody tr").length === 1);
    await clickTwice(
      table.getByRole("button", { name: "Drain", exact: true }),
      table.getByRole("button", { name: /^Drain it/ }),
    );
    await page.getByText(/is being drained/).waitFor();
  });
});
