// The whole dispatcher with its pingpong door, as `yardmaster serve` runs it: a broker under test.

import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { closedDoors, createLog, loadConfig, serve } from "@yardmaster/server";
import { onOrder, readArgs, report } from "./child.js";

/**
 * With `data`, the embedded engine in that folder, plus http and udp; with `postgres`, that
 * database; otherwise only the memory engine.
 */
const { data, postgres, durability, hasAccess } = readArgs<{
  data?: string;
  /** The URL of a database. */
  postgres?: string;
  durability?: "fsync" | "memory";
  /** Peers are a principal with rights for some queues. */
  hasAccess?: boolean;
}>();
const principals = { bench: { rights: { submit: ["ping*"], work: ["ping*"] } } };
const config = {
  ...engineSettings(),
  ...(hasAccess && { access: { principals } }),
  doors: {
    ...closedDoors,
    http: data === undefined ? false : { listen: "127.0.0.1:0" },
    udp: data === undefined ? false : { client_address: { port: 0 }, queue: "pingpong" },
    pingpong: {
      clients: "127.0.0.1:0",
      workers: "127.0.0.1:0",
      workerExpireSeconds: 600,
      ...(hasAccess && { anonymous: "bench" }),
    },
  },
};

function engineSettings() {
  if (postgres !== undefined) return { engine: "postgres", postgres: { url: postgres } };
  return data === undefined ? { engine: "memory" } : { engine: "embedded", data, durability };
}

const folder = mkdtempSync(join(tmpdir(), "yard-bench-"));
writeFileSync(join(folder, "yardmaster.json"), JSON.stringify(config));
const startedAt = performance.now();
const yard = await serve({ config: loadConfig({ folder }), log: createLog("error") });
const startMs = performance.now() - startedAt;
let before = process.cpuUsage();
onOrder(({ end }) => {
  if (end === true) process.exit(0);
  const { user, system } = process.cpuUsage(before);
  before = process.cpuUsage();
  report({ cpuMicros: user + system, residentBytes: process.memoryUsage().rss });
});
const { http, udp, pingpong } = yard.doors;
report({
  front: `tcp://${pingpong?.clients}`,
  back: `tcp://${pingpong?.workers}`,
  http: `http://${http?.listen}`,
  udp: udp?.client_address,
  startMs,
});
