/// <reference lib="dom" />
// Hostile strings that must never run in the page, and states of the page that only show when
// something is wrong: a token, a path below a proxy, and a dispatcher that goes away.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, before, describe, test } from "node:test";
import type { Browser } from "playwright-core";
import { serveYard } from "../end-to-end/served-yard.js";
import { patience } from "../patience.js";
import { goTo, openPage, startBrowser, withoutChromium } from "./chromium.js";
import { SubPathProxy } from "./sub-path-proxy.js";

const markup = `<img src=x onerror="window.ran=1"><script>window.ran=1</script>`;
const hostile = `${markup}\u202etxt.exe\u0007\u200b`;

describe("the page when something is wrong", { ...patience, skip: withoutChromium }, () => {
  let browser: Browser;
  before(async () => {
    browser = await startBrowser();
  });
  after(() => browser?.close());

  test("names, payloads, errors and media types are shown, and never run", async () => {
    const yard = await serveYard({ engine: "memory" });
    const ask = (path: string, init: RequestInit = {}) =>
      fetch(`${yard.url}${path}`, { method: "POST", ...init });
    const { page, faults } = await openPage(browser, yard.url);
    try {
      const worker = encodeURIComponent(`${markup} "'&`);
      const ids: string[] = [];
      for (const [body, type] of [
        [markup, "text/html"],
        [`<svg xmlns="http://www.w3.org/2000/svg" onload="window.ran=1"/>`, "image/svg+xml"],
        [JSON.stringify({ [hostile]: hostile, __proto__: { a: 1 } }), "application/json"],
      ]) {
        const key = encodeURIComponent(`${markup}${ids.length}`);
        const task = await (
          await ask(`/v1/queues/q/tasks?key=${key}`, {
            body: body ?? "",
            headers: { "Content-Type": type ?? "" },
          })
        ).json();
        ids.push((task as { id: string }).id);
      }
      const claim = await (await ask(`/v1/queues/q:claim?worker=${worker}&max=3`)).json();
      for (const { task, attempt, token } of (
        claim as { attempts: { task: string; attempt: number; token: string }[] }
      ).attempts) {
        await ask(`/v1/tasks/${task}/attempts/${attempt}:fail`, {
          headers: { "Yard-Token": token, "Content-Type": "application/json" },
          body: JSON.stringify({ code: "<b>bad</b>", message: hostile }),
        });
      }
      for (const id of ids) {
        await goTo(page, `#/task/${id}`);
        await page.getByRole("heading", { name: `Task ${id}` }).waitFor();
        await page.getByRole("region", { name: "payload" }).locator("pre, .tree").waitFor();
        await page.getByText("onerror", { exact: false }).first().waitFor();
      }
      for (const view of [
        "",
        "tasks",
        "failures",
        "workers",
        "stream",
        "wire",
        "queues",
        `tasks?q=${encodeURIComponent(hostile)}`,
        `task/${encodeURIComponent(hostile)}`,
      ]) {
        await goTo(page, `#/${view}`);
        await page.locator("main").getByText(/\S/).first().waitFor();
      }
      await goTo(page, `#/task/${ids[2]}`);
      await page.getByText("⟨202E⟩", { exact: false }).first().waitFor();
      assert.equal(await page.evaluate(() => (window as { ran?: number }).ran), undefined);
      assert.equal(await page.locator("main img, main script, main b b").count(), 0);
      assert.deepEqual(faults, []);
    } finally {
      await page.context().close();
      await yard.stop();
    }
  });

  test("below a path and with a token: signed out, refused, signed in, kept, signed out", async () => {
    const yard = await serveYard({ engine: "memory", doors: { http: { token: "a-token-of-a-test" } } });
    const proxy = await new SubPathProxy(yard.url, "/yard").open();
    const { page, faults } = await openPage(browser, proxy.address);
    try {
      await page.getByRole("heading", { name: "This yard asks for a token" }).waitFor();
      await page.getByLabel("Token").fill("wrong");
      await page.getByRole("button", { name: "Open" }).click();
      await page.getByText("This token is not valid", { exact: false }).waitFor();
      await page.getByLabel("Token").fill("a-token-of-a-test");
      await page.getByLabel("Keep it in this browser until I sign out").check();
      await page.getByRole("button", { name: "Open" }).click();
      await page.getByRole("heading", { name: "The yard is open, and empty." }).waitFor();
      await page.getByText(`${proxy.address}v1/queues/render/tasks`, { exact: false }).first().waitFor();
      await page.reload();
      await page.getByRole("heading", { name: "The yard is open, and empty." }).waitFor();
      await goTo(page, "#/try?queue=q");
      await page.getByRole("button", { name: /^Submit/ }).click();
      await page.getByRole("link", { name: /^Task 1 is waiting/ }).waitFor();
      for (const view of ["stream", "tasks", "workers", "queues", "failures", "wire", "task/1"]) {
        await goTo(page, `#/${view}`);
        await page.locator("main").getByText(/\S/).first().waitFor();
      }
      await page.keyboard.press("Control+k");
      await page.getByRole("combobox").fill("sign out");
      await page.keyboard.press("Enter");
      await page.getByRole("heading", { name: "This yard asks for a token" }).waitFor();
      await page.reload();
      await page.getByRole("heading", { name: "This yard asks for a token" }).waitFor();
      assert.deepEqual(faults, []);
    } finally {
      await page.context().close();
      await proxy.close();
      await yard.stop();
    }
  });

  test("a reader without rights sees no orders, and no views that are not for it", async () => {
    const token = "a-token-of-a-reader";
    const sha256 = createHash("sha256").update(token).digest("hex");
    const reader = { tokens: [{ sha256 }], rights: { read: ["render"] } };
    const boss = { tokens: [{ env: "BOSS_TOKEN" }], rights: { submit: ["*"] } };
    const launch = { env: { BOSS_TOKEN: "a-token-of-the-boss" } };
    const yard = await serveYard({ engine: "memory", access: { principals: { reader, boss } } }, launch);
    for (const queue of ["render", "secret"]) {
      const headers = { Authorization: "Bearer a-token-of-the-boss" };
      await fetch(`${yard.url}/v1/queues/${queue}/tasks`, { method: "POST", headers, body: "x" });
    }
    const { page, faults } = await openPage(browser, `${yard.url}/`);
    try {
      await page.getByLabel("Token").fill(token);
      await page.getByRole("button", { name: "Open" }).click();
      await goTo(page, "#/queues");
      await page.locator("main").getByText("render").first().waitFor();
      await page.getByRole("link", { name: "Wire" }).waitFor({ state: "detached" });
      assert.equal(await page.getByRole("link", { name: "Try it" }).count(), 0);
      assert.equal(await page.getByRole("button", { name: "Pause" }).count(), 0);
      assert.equal(await page.locator("main").getByText("secret").count(), 0);
      await goTo(page, "#/task/1");
      await page.getByRole("heading", { name: "Task 1" }).waitFor();
      assert.equal(await page.getByRole("button", { name: /^Cancel task/ }).count(), 0);
      await page.locator(".chip", { hasText: "submitted by boss" }).waitFor();
      await goTo(page, "#/task/2");
      await page.getByRole("heading", { name: "There is no task 2." }).waitFor();
      assert.deepEqual(
        faults.filter((fault) => !/40[34]/.test(fault)),
        [],
      );
    } finally {
      await page.context().close();
      await yard.stop();
    }
  });

  test("a dispatcher that goes away: a banner, the last state, buttons off, and it comes back", async () => {
    const yard = await serveYard({ engine: "memory" });
    const proxy = await new SubPathProxy(yard.url, "/y").open();
    const { page, faults } = await openPage(browser, proxy.address);
    try {
      await fetch(`${yard.url}/v1/queues/kept/tasks`, { method: "POST", body: "x" });
      await goTo(page, "#/queues");
      const row = page.getByRole("row", { name: /kept/ });
      await row.waitFor();
      proxy.down();
      await page.getByText("The dispatcher does not answer.").waitFor();
      await page.getByText(/Disconnected for/).waitFor();
      assert.ok(await row.getByRole("button", { name: "Pause" }).isDisabled());
      await page.getByRole("button", { name: "Try now" }).click();
      proxy.up();
      await page
        .getByRole("button", { name: "Try now" })
        .click({ timeout: 5_000 })
        .catch(() => undefined);
      await page.getByText("The dispatcher does not answer.").waitFor({ state: "detached" });
      await page.waitForFunction(
        () => !document.querySelector<HTMLButtonElement>(".queues-table .button")?.disabled,
      );
      assert.deepEqual(faults, []);
    } finally {
      await page.context().close();
      await proxy.close();
      await yard.stop();
    }
  });
});
