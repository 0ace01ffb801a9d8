// Peers that open connections until the process may open no more files. The dispatcher lives on,
// the other doors take new peers, and the flooded door does when the connections are closed.

import assert from "node:assert/strict";
import { once } from "node:events";
import { connect as dial, type Socket } from "node:net";
import { test } from "node:test";
import { connect, work } from "@yardmaster/sdk";
import { patience } from "../patience.js";
import { type ServedYard, serveYard } from "./served-yard.js";

const few = ["sh", "-c", 'ulimit -n 256; exec "$0" "$@"'];

function flood(listen: string, count: number): Socket[] {
  const [host = "", port] = listen.split(":");
  return Array.from({ length: count }, () =>
    dial(Number(port), host)
      .on("error", () => {})
      .resume(),
  );
}

async function submitOver(yard: ServedYard, payload: string): Promise<string> {
  const { clients, workers } = yard.doors.pingpong ?? {};
  const worker = await work(`pingpong://${workers}`, {}, (job) => job.text().toUpperCase());
  const client = await connect(`pingpong://${clients}`);
  try {
    return (await client.result((await client.submit(payload)).id)).text();
  } finally {
    await client.close();
    await worker.stop();
  }
}

for (const [door, key] of [
  ["http", "listen"],
  ["scaler", "listen"],
  ["monique", "in"],
] as const)
  test(`connections to ${door} up to the limit of open files stop nobody else`, patience, () =>
    surviveFlood(door, key),
  );

async function surviveFlood(door: string, key: string): Promise<void> {
  const yard = await serveYard({ doors: { pingpong: {}, scaler: {}, monique: {} } }, { within: few });
  const listen = yard.doors[door]?.[key] ?? "";
  const sockets = flood(listen, 400);
  try {
    const ends = sockets.map((socket) => once(socket, "close"));
    const connected = sockets.map((socket) => once(socket, "connect"));
    await Promise.allSettled(connected);
    // What there is no room for is closed at once.
    await Promise.race(ends);
    assert.equal(await submitOver(yard, "beside a flood"), "BESIDE A FLOOD");
    assert.equal(yard.process.exitCode, null);
    for (const socket of sockets) socket.destroy();
    await Promise.allSettled(ends);
    const metrics = await (await fetch(`${yard.url}/metrics`)).text();
    assert.match(metrics, /yardmaster_limits_reached_total\{limit="descriptors"\} \d/);
  } finally {
    for (const socket of sockets) socket.destroy();
    await yard.stop();
  }
}
