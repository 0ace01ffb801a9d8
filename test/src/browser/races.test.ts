/// <reference lib="dom" />
// Answers that come late or in another order, and moves that overtake each other: the page must
// show what is newest, and act only where the person is.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, afterEach, before, describe, test } from "node:test";
import type { Browser, Page, Route } from "playwright-core";
import { type ServedYard, serveYard } from "../end-to-end/served-yard.js";
import { patience } from "../patience.js";
import { goTo, openPage, startBrowser, withoutChromium } from "./chromium.js";

const hashOf = (page: Page) => page.evaluate(() => location.hash);

/** Holds requests until it is opened; each is then answered as `answer` says. */
class Gate {
  readonly held: Route[] = [];
  #open: () => void = () => undefined;
  readonly #isOpen = new Promise<void>((resolve) => {
    this.#open = resolve;
  });
  #came: () => void = () => undefined;
  readonly came = new Promise<void>((resolve) => {
    this.#came = resolve;
  });

  /** The dispatcher answers at once, and the page hears of it when the gate opens. */
  readonly late = async (route: Route): Promise<void> => {
    const response = await route.fetch();
    this.#note(route);
    await this.#isOpen;
    await route.fulfill({ response }).catch(() => undefined);
  };

  /** The dispatcher hears of the request when the gate opens. */
  readonly slow = async (route: Route): Promise<void> => {
    this.#note(route);
    await this.#isOpen;
    await route.continue().catch(() => undefined);
  };

  open(): void {
    this.#open();
  }

  #note(route: Route): void {
    this.held.push(route);
    this.#came();
  }
}

describe("late answers and quick moves", { ...patience, skip: withoutChromium }, () => {
  let browser: Browser;
  let yard: ServedYard;
  let page: Page;
  let faults: string[];

  const submit = async (queue: string, body = "x"): Promise<string> => {
    const response = await fetch(`${yard.url}/v1/queues/${queue}/tasks`, { method: "POST", body });
    return ((await response.json()) as { id: string }).id;
  };

  before(async () => {
    [browser, yard] = await Promise.all([startBrowser(), serveYard({ engine: "memory" })]);
    await submit("parked");
    ({ page, faults } = await openPage(browser, yard.url));
  });
  afterEach(() => page.unrouteAll({ behavior: "ignoreErrors" }));
  after(async () => {
    await browser?.close();
    await yard?.stop();
    assert.deepEqual(faults, []);
  });

  test("a choice in a view that is being left does not bring it back", async () => {
    await goTo(page, "#/failures");
    await page.getByRole("button", { name: "24 h" }).waitFor();
    await page.evaluate(() => {
      location.hash = "#/workers";
      // The browser has moved, and reports it only after this.
      for (const button of document.querySelectorAll("button"))
        if (button.textContent === "24 h") button.click();
    });
    await page.waitForFunction(() => document.title.startsWith("Workers"));
    assert.equal(await hashOf(page), "#/workers");
  });

  test("words typed into one view's filter do not become another view's", async () => {
    await goTo(page, "#/tasks");
    await page.getByRole("textbox", { name: "Filter tasks" }).fill("half a word");
    await goTo(page, "#/workers");
    await page.waitForFunction(() => document.title.startsWith("Workers"));
    await page.getByRole("textbox", { name: "Filter workers" }).waitFor();
    assert.equal(await hashOf(page), "#/workers");
  });

  test("an old state of a task does not replace its last one", async () => {
    const id = await submit("parked");
    await goTo(page, `#/task/${id}`);
    await page.getByRole("button", { name: "Cancel task…" }).waitFor();
    const isState = (url: URL) => url.pathname === `/v1/tasks/${id}`;
    const gate = new Gate();
    await page.route(isState, gate.late, { times: 1 });
    await gate.came;
    await fetch(`${yard.url}/v1/tasks/${id}:cancel`, { method: "POST" });
    // The button asks for the state again, while the older answer is still on its way.
    await page.route(
      (url) => url.pathname === `/v1/tasks/${id}:cancel`,
      (route) => route.fulfill({ json: {} }),
    );
    // Both clicks in one go: the second must come within 4 s, which a busy machine may not manage.
    await page.getByRole("button", { name: "Cancel task…" }).evaluate(async (button: HTMLElement) => {
      button.click();
      while (button.textContent !== "Cancel it") await new Promise((resolve) => setTimeout(resolve, 10));
      button.click();
    });
    const sentence = page.locator(".task-sentence").getByText("Cancelled", { exact: true });
    await sentence.waitFor();
    const late = page.waitForResponse((response) => isState(new URL(response.url())));
    gate.open();
    await late;
    // Long enough for two of the page's own redraws.
    await page.waitForTimeout(800);
    assert.equal(await sentence.count(), 1);
  });

  test("a search that is stopped is no fault", async () => {
    const gate = new Gate();
    await page.route((url) => url.pathname === "/v1/tasks", gate.slow);
    await goTo(page, "#/tasks?q=queue:slow");
    await page.getByText("Still looking").waitFor();
    await page.getByRole("button", { name: "Stop", exact: true }).click();
    await page.getByText("Still looking").waitFor({ state: "detached" });
    await page.waitForTimeout(300);
    assert.equal(await page.getByText("Could not be loaded").count(), 0);
    gate.open();
  });

  test("Stop counts although the dispatcher has not named the action yet", async () => {
    await Promise.all([submit("many"), submit("many")]);
    await goTo(page, "#/tasks?q=queue:many");
    await page.waitForFunction(() => document.querySelectorAll(".tasks-table tbody tr").length === 2);
    await page.keyboard.press("a");
    await page.keyboard.press("C");
    const gate = new Gate();
    await page.route((url) => url.pathname === "/v1/tasks:cancel", gate.slow);
    await page.getByRole("button", { name: /^Cancel 2 tasks$/ }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Stop" }).click();
    const stopped = page.waitForRequest((request) => request.url().endsWith(":stop"));
    gate.open();
    await stopped;
    await page.getByRole("dialog").getByRole("button", { name: "Close" }).click();
  });

  test("a dialog keeps the keys, also when its buttons change", async () => {
    await submit("held");
    await goTo(page, "#/tasks?q=queue:held");
    await page.waitForFunction(() => document.querySelectorAll(".tasks-table tbody tr").length === 1);
    await page.keyboard.press("a");
    await page.keyboard.press("C");
    await page.getByRole("button", { name: /^Cancel 1 task$/ }).focus();
    await page.keyboard.press("g");
    await page.keyboard.press("w");
    await page.keyboard.press("Enter");
    await page.getByText("1 of 1 done").waitFor();
    await page.waitForFunction(() => document.activeElement?.closest("[role=dialog]") !== null);
    assert.equal(await hashOf(page), "#/tasks?q=queue:held");
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
  });

  test("tasks chosen under one filter are not chosen under the next", async () => {
    await goTo(page, "#/tasks?q=queue:held");
    await page.waitForFunction(() => document.querySelectorAll(".tasks-table tbody tr").length === 1);
    await page.keyboard.press("a");
    await page.getByRole("region", { name: "Chosen tasks" }).waitFor();
    await goTo(page, "#/tasks?q=queue:parked");
    await page.waitForFunction(() => document.querySelectorAll(".tasks-table tbody tr").length > 1);
    assert.equal(await page.getByRole("region", { name: "Chosen tasks" }).count(), 0);
  });

  test("a bulk action names the tasks it can act on, and says when there are none", async () => {
    const [ended] = await Promise.all([submit("mixed"), submit("mixed"), submit("mixed")]);
    await fetch(`${yard.url}/v1/tasks/${ended}:cancel`, { method: "POST" });
    await goTo(page, "#/tasks?q=queue:mixed");
    await page.waitForFunction(() => document.querySelectorAll(".tasks-table tbody tr").length === 3);
    await page.keyboard.press("a");
    await page.keyboard.press("R");
    await page.getByRole("button", { name: "Retry 1 task", exact: true }).waitFor();
    await page.keyboard.press("Escape");
    await goTo(page, "#/tasks?q=queue:mixed%20state:waiting");
    await page.waitForFunction(() => document.querySelectorAll(".tasks-table tbody tr").length === 2);
    await page.keyboard.press("a");
    await page.keyboard.press("R");
    await page.getByText("there is nothing to retry", { exact: false }).waitFor();
    await page.keyboard.press("Escape");
  });

  test("a filter on the wire shows its own messages, although the list was held", async () => {
    await goTo(page, "#/wire?type=submitTask");
    const row = page.locator(".wire-table tbody tr").first();
    const isThere = () =>
      row.waitFor({ timeout: 1_000 }).then(
        () => true,
        () => false,
      );
    do await submit("parked");
    while (!(await isThere()));
    await row.click();
    await page.getByRole("button", { name: "Go on" }).waitFor();
    await goTo(page, "#/wire?type=nothing");
    await page.getByText("Nothing has passed since").waitFor();
    await page.getByRole("button", { name: "Pause" }).waitFor();
  });

  test("two clicks on Submit are one task, and a late prefill leaves what was typed", async () => {
    const gate = new Gate();
    const isPrefill = (url: URL) => url.pathname === "/v1/tasks/1";
    await page.route(isPrefill, gate.slow);
    await goTo(page, "#/try?from=1");
    const queue = page
      .getByRole("combobox", { name: "queue" })
      .or(page.getByRole("textbox", { name: "queue" }));
    await queue.fill("typed");
    const filled = page.waitForResponse((response) => response.url().includes("/v1/tasks/1/payload"));
    gate.open();
    await filled;
    await page.waitForTimeout(200);
    assert.equal(await queue.inputValue(), "typed");
    const held = new Gate();
    await page.route((url) => url.pathname === "/v1/queues/typed/tasks", held.slow);
    const button = page.getByRole("button", { name: /^Submit/ });
    await button.click();
    await button.click();
    await held.came;
    await page.waitForTimeout(200);
    assert.equal(held.held.length, 1);
    held.open();
    await page.getByRole("link", { name: /^Task \d+ is waiting/ }).waitFor();
  });

  test("bytes that cannot be fetched are named in a note", async () => {
    const id = await submit("parked", "y".repeat(100_000));
    await goTo(page, `#/task/${id}`);
    await page.route(
      (url) => url.pathname.endsWith("/payload"),
      (route) => route.abort(),
    );
    await page.getByRole("button", { name: "Download" }).click();
    await page.getByText("The payload could not be loaded", { exact: false }).waitFor();
  });
});

describe("one reader after another", { ...patience, skip: withoutChromium }, () => {
  test("a refusal that comes before the first paint asks for the token", async () => {
    const browser = await startBrowser();
    const yard = await serveYard({ engine: "memory", doors: { http: { token: "a-token-of-a-test" } } });
    const context = await browser.newContext();
    // A browser that is slow to paint: what waits for the next frame runs after the answers.
    await context.addInitScript(() => {
      const plain = globalThis.setTimeout;
      globalThis.requestAnimationFrame = () => 0;
      globalThis.setTimeout = ((work: () => void, ms = 0) =>
        plain(work, ms <= 100 ? 3_000 : ms)) as typeof setTimeout;
    });
    const page = await context.newPage();
    try {
      await page.goto(yard.url);
      await page.getByLabel("Token").waitFor();
    } finally {
      await browser.close();
      await yard.stop();
    }
  });

  test("a late refusal of an earlier token, and the yard of the next reader", async () => {
    const browser = await startBrowser();
    const of = (name: string, queue: string) => ({
      tokens: [{ sha256: createHash("sha256").update(`a-token-of-${name}`).digest("hex") }],
      rights: { read: [queue], submit: [queue] },
    });
    const yard = await serveYard({
      engine: "memory",
      access: { principals: { ann: of("ann", "render"), ben: of("ben", "secret") } },
    });
    for (const [name, queue] of [
      ["ann", "render"],
      ["ben", "secret"],
    ])
      await fetch(`${yard.url}/v1/queues/${queue}/tasks`, {
        method: "POST",
        headers: { Authorization: `Bearer a-token-of-${name}` },
        body: "x",
      });
    const { page } = await openPage(browser, `${yard.url}/#/queues`);
    const signIn = async (token: string) => {
      await page.getByLabel("Token").fill(token);
      await page.getByRole("button", { name: "Open" }).click();
    };
    try {
      const gate = new Gate();
      await page.getByLabel("Token").waitFor();
      await page.route(
        (url) => url.pathname === "/v1/me",
        (route) =>
          route.request().headers().authorization?.includes("wrong") ? gate.late(route) : route.continue(),
      );
      await signIn("wrong");
      await gate.came;
      await page.getByText("This token is not valid", { exact: false }).waitFor();
      await signIn("a-token-of-ann");
      await page.getByRole("row", { name: /render/ }).waitFor();
      const refused = page.waitForResponse((response) => response.status() === 401);
      gate.open();
      await refused;
      await page.waitForTimeout(300);
      assert.equal(await page.getByLabel("Token").count(), 0);
      await page.keyboard.press("Control+k");
      await page.getByRole("combobox").fill("sign out");
      await page.keyboard.press("Enter");
      await signIn("a-token-of-ben");
      await page.getByRole("row", { name: /secret/ }).waitFor();
      assert.equal(await page.getByRole("row", { name: /render/ }).count(), 0);
    } finally {
      await browser.close();
      await yard.stop();
    }
  });
});
