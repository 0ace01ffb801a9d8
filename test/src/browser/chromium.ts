/// <reference lib="dom" />
// The system's Chromium for tests of the page. It is started once per test file, and its pages
// record what went wrong in them.

import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { waitMs } from "../patience.js";

const places = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
const executablePath = process.env.CHROMIUM ?? places.find((place) => existsSync(place));

/** For the `skip` option of tests: the reason why these tests cannot run here, or false. */
export const withoutChromium: string | false = executablePath === undefined ? missing() : false;

function missing(): string {
  const reason = "no Chromium is installed here";
  if (process.env.YARD_REQUIRE_INTEROP === "1") throw new Error(`YARD_REQUIRE_INTEROP is set, but ${reason}`);
  return reason;
}

export function startBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: executablePath ?? "", args: ["--no-sandbox"] });
}

/** A page with a record of what must never happen in it: errors, policy violations, dialogs. */
export interface WatchedPage {
  readonly page: Page;
  readonly faults: string[];
}

export async function openPage(
  browser: Browser,
  address: string,
  options: BrowserContextOptions = {},
): Promise<WatchedPage> {
  const context = await browser.newContext({ viewport: { width: 1440, height: 960 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(waitMs);
  const faults: string[] = [];
  page.on("pageerror", (error) => faults.push(`error: ${error.message}`));
  page.on("dialog", (dialog) => {
    faults.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on("console", (message) => {
    if (/Content Security Policy|Refused to/i.test(message.text())) faults.push(message.text());
  });
  await page.goto(address);
  return { page, faults };
}

/** Opens a view in the current page. */
export async function goTo(page: Page, hash: string): Promise<void> {
  await page.evaluate((text) => {
    location.hash = text;
  }, hash);
}

const axe = createRequire(import.meta.url).resolve("axe-core/axe.min.js");

interface AxeResult {
  readonly violations: readonly {
    id: string;
    impact: string;
    nodes: readonly { html: string; failureSummary: string }[];
  }[];
}

/** What axe finds serious in the page as it is now. */
export async function seriousFaults(page: Page): Promise<string[]> {
  await page.evaluate(readFileSync(axe, "utf8"));
  const { violations } = (await page.evaluate(
    "axe.run(document, { resultTypes: ['violations'] })",
  )) as AxeResult;
  return violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(
      ({ id, nodes }) =>
        `${id}: ${nodes
          .slice(0, 3)
          .map(({ html, failureSummary }) => `${html.slice(0, 160)} ${failureSummary.split("\n")[1] ?? ""}`)
          .join(" | ")}`,
    );
}
