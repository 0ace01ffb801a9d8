// `npm run crash -- [--kills N] [--engine NAME]`: kills a dispatcher under load N times and checks
// from outside that nothing was lost, invented or reported differently. Exits with 1 if anything
// was.

import { parseArgs } from "node:util";
import { crash } from "./run.js";

const { values } = parseArgs({
  options: { kills: { type: "string", default: "30" }, engine: { type: "string", default: "embedded" } },
});
process.setMaxListeners(0);
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(1));
const kills = Number(values.kills);
if (!Number.isSafeInteger(kills) || kills < 1) {
  console.error("--kills takes a whole number");
  process.exit(2);
}
/** More would hide the first ones. */
const faultsShown = 20;

/** The part of the engine's test server that is needed here. */
interface Server {
  readonly url: string;
  destroy(): Promise<void>;
}

async function startPostgres(): Promise<Server> {
  const place = new URL("../../../packages/engines/dist/postgres/testing/server.js", import.meta.url);
  const { TestServer } = (await import(place.href)) as { TestServer: { start(): Promise<Server> } };
  return await TestServer.start();
}

const startedAt = performance.now();
const server = values.engine === "postgres" ? await startPostgres() : undefined;
const { counts, toldTwice, readyMs, faults } = await crash({
  kills,
  engine: values.engine,
  url: server?.url,
  onKill: (kill, ledger) => {
    if (process.stderr.isTTY || kill % 25 === 0)
      process.stderr.write(
        `${process.stderr.isTTY ? "\r" : ""}${kill} of ${kills} kills, ${ledger.counts.accepted} tasks acknowledged${process.stderr.isTTY ? "" : "\n"}`,
      );
  },
});
if (process.stderr.isTTY) process.stderr.write("\n");
const { submitted, accepted, runs, told, seen } = counts;
console.log(
  `${kills} kills in ${((performance.now() - startedAt) / 1000).toFixed(0)} s: ${submitted} tasks submitted, ${accepted} acknowledged, ` +
    `${runs} runs, ${told} told (${toldTwice} of them more than once), ${seen} seen through http; ` +
    `ready after at most ${Math.max(...readyMs).toFixed(0)} ms; ${faults.length} faults`,
);
for (const fault of faults.slice(0, faultsShown)) console.log(`  ${fault}`);
if (faults.length > faultsShown) console.log(`  … and ${faults.length - faultsShown} more`);
await server?.destroy();
process.exit(faults.length > 0 ? 1 : 0);
