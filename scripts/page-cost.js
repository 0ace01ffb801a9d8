// What one open page costs a dispatcher that runs 5,000 tasks/s: processor time a second with and
// without it, in alternating runs: `npm run page-cost -- --runs 10 --seconds 10`. The median
// difference must be at most 30 ms. Needs Chromium, Linux, and a machine with nothing else to do.
import { readFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { parseArgs } from "node:util";
import { connect, work } from "@yardmaster/sdk";
import { openPage, startBrowser, withoutChromium } from "../test/dist/browser/chromium.js";
import { serveYard } from "../test/dist/end-to-end/served-yard.js";

if (withoutChromium) {
  console.error(withoutChromium);
  process.exit(1);
}
const { values } = parseArgs({
  options: {
    runs: { type: "string", default: "10" },
    seconds: { type: "string", default: "10" },
    rate: { type: "string", default: "5000" },
    view: { type: "string", default: "stream" },
  },
});
const rate = Number(values.rate);
const seconds = Number(values.seconds);
const costMaxMs = 30;
/** How long a page may load before it is measured. */
const settleMs = 3_000;
/** Of Linux: the unit of processor time in /proc. */
const tickMs = 10;

const yard = await serveYard({ engine: "memory" });
process.once("exit", () => yard.process.kill());
const browser = await startBrowser();
const worker = await work(yard.url, { queue: "q", concurrency: 1_000 }, () => "done");
const client = await connect(yard.url);
let isOver = false;

/** Payloads at the rate, a few at a time. */
async function* payloads() {
  const startedAt = performance.now();
  for (let sent = 0; !isOver; ) {
    const due = ((performance.now() - startedAt) / 1_000) * rate;
    for (; sent < due; sent += 1) yield { payload: "x" };
    await pause(5);
  }
}
const load = (async () => {
  const handles = client.submitMany(payloads(), { queue: "q", batch: 100 });
  for await (const _ of handles);
})();

/** Processor time that the dispatcher has used, with all its threads. */
function usedMs() {
  const stat = readFileSync(`/proc/${yard.process.pid}/stat`, "utf8");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) * tickMs;
}

async function finished() {
  const { finished: counts, done } = await (await fetch(`${yard.url}/v1/figures`)).json();
  return counts?.done ?? done;
}

/** Processor time and tasks of one run, each a second. */
async function measure() {
  const before = { ms: usedMs(), done: await finished(), at: performance.now() };
  await pause(seconds * 1_000);
  const elapsed = (performance.now() - before.at) / 1_000;
  return { ms: (usedMs() - before.ms) / elapsed, tasks: ((await finished()) - before.done) / elapsed };
}

async function measureWithPage() {
  const { page } = await openPage(browser, `${yard.url}/#/${values.view}`);
  await pause(settleMs);
  const measured = await measure();
  await page.context().close();
  return measured;
}

await pause(settleMs);
const costs = [];
let slowest = Number.POSITIVE_INFINITY;
for (let run = 1; run <= Number(values.runs); run += 1) {
  // Each order as often as the other: what drifts cancels out.
  const isFirst = run % 2 === 0;
  const early = isFirst ? await measureWithPage() : undefined;
  const without = await measure();
  const withPage = early ?? (await measureWithPage());
  costs.push(withPage.ms - without.ms);
  slowest = Math.min(slowest, without.tasks, withPage.tasks);
  const words = [without, withPage].map(
    ({ ms, tasks }) => `${ms.toFixed(0)} ms/s at ${tasks.toFixed(0)} tasks/s`,
  );
  console.log(`run ${run}: without ${words[0]}, with a page ${words[1]}: ${costs.at(-1).toFixed(1)} ms more`);
}
isOver = true;
await load;
await client.close();
await worker.stop();
await browser.close();
await yard.stop();
const sorted = costs.toSorted((a, b) => a - b);
const middle = sorted.length / 2;
const median = (sorted[Math.ceil(middle) - 1] + sorted[Math.floor(middle)]) / 2;
console.log(`median ${median.toFixed(1)} ms more a second, allowed ${costMaxMs}`);
const isSlow = slowest < 0.9 * rate;
if (isSlow) console.error(`the load did not reach ${rate} tasks/s; a machine without other work is needed`);
process.exit(median > costMaxMs || isSlow ? 1 : 0);
