// Keeps the page open under load and prints its heap after a collection, once a minute. The second
// half of the run must not use over 10 % more than the first: `npm run page-soak -- --minutes 60`.
// Needs Chromium.
import { setTimeout as pause } from "node:timers/promises";
import { parseArgs } from "node:util";
import { goTo, openPage, startBrowser, withoutChromium } from "../test/dist/browser/chromium.js";
import { PictureYard } from "../test/dist/browser/picture-yard.js";

if (withoutChromium) {
  console.error(withoutChromium);
  process.exit(1);
}
const { values } = parseArgs({ options: { minutes: { type: "string", default: "60" } } });
const minutes = Number(values.minutes);
const yard = await new PictureYard().open();
const browser = await startBrowser();
const { page, faults } = await openPage(browser, yard.base);
const session = await page.context().newCDPSession(page);
const views = ["stream", "", "tasks", "workers", "queues", "wire", "failures"];
const heaps = [];
for (let minute = 0; minute < minutes; minute += 1) {
  await goTo(page, `#/${views[minute % views.length]}`);
  await pause(30_000);
  await goTo(page, "#/stream");
  await pause(30_000);
  await session.send("HeapProfiler.collectGarbage");
  const { usedSize } = await session.send("Runtime.getHeapUsage");
  heaps.push(usedSize);
  console.log(`minute ${minute + 1}: ${(usedSize / 1e6).toFixed(1)} MB`);
}
await browser.close();
await yard.close();
// The ring of attempts and the history of 15 min fill up first.
const settled = heaps.slice(Math.min(20, Math.floor(heaps.length / 3)));
const half = Math.floor(settled.length / 2);
const most = (part) => Math.max(...part);
if (faults.length > 0) console.error(faults.join("\n"));
const hasGrown = half > 0 && most(settled.slice(half)) > 1.1 * most(settled.slice(0, half));
if (hasGrown) console.error("the heap grows");
process.exit(hasGrown || faults.length > 0 ? 1 : 0);
