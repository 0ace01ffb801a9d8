import assert from "node:assert/strict";
import { test } from "node:test";
import type { Instant, Moment } from "@yardmaster/core";
import { WireFrames } from "../wire-frames.js";
import type { ScalerLine } from "./line.js";
import type { GraphMessage } from "./messages.js";
import { writeFromClient } from "./peer-codec.js";
import { ScalerScheduler } from "./scheduler.js";
import { taskMetadata } from "./structs.js";

/** More than a call may have arguments. */
const graphs = 130_000;

const settings = {
  ...{ door: "scaler", queue: "q", slots: 10, functionName: "f", isProtected: true, isRemembered: true },
  ...{ objectBytesMax: 2_000, largestObjectBytes: 1_000_000, idSecret: { first: 1, second: 2 } },
};

const line: ScalerLine = {
  ...{ session: undefined, identity: Buffer.from("client"), name: "client", address: "tcp://nowhere" },
  ...{ send: () => true, sendPacked: () => true, answer: () => {}, hold: () => {}, release: () => {} },
};

test("a client that leaves with very many small graphs has them cancelled, many in a turn", () => {
  const now = { instant: 1, wall: 1 } as Moment;
  const scheduler = new ScalerScheduler(settings, {
    post: () => {},
    now: () => now,
    fault: (kind) => assert.fail(kind),
    clientGone: () => {},
    searchEnded: () => {},
    readMemo: () => assert.fail("every object here is small"),
    isShortOfMemory: () => false,
  });
  const say = (...messages: Parameters<typeof writeFromClient>) =>
    scheduler.receive(line, WireFrames.of(writeFromClient(...messages).map((frame) => Buffer.from(frame))));
  scheduler.came(line);
  say({ type: "client-heartbeat", cpu: 0, rssBytes: 0n, latencyUs: 0 });
  const [source, f] = [line.identity, Buffer.from("f")];
  say({
    ...{ type: "object-create", source, ids: [f], names: [f], bytes: [f], hasSplitCounts: false },
  });
  for (let graph = 0; graph < graphs; graph++) say(graphOf(source, graph));
  say({ type: "client-disconnect", kind: "disconnect" });
  let turns = 0;
  for (; (scheduler.nextDeadline() ?? 1) === (0 as Instant); turns++) scheduler.handleTimeout(now);
  assert.ok(turns > 10 && turns < 1_000, `${turns} turns`);
});

function graphOf(source: Buffer, graph: number): GraphMessage {
  const task = Buffer.from(`task ${graph}`);
  const node = {
    ...{ type: "task" as const, task, source, metadata: taskMetadata(0) },
    ...{ function: Buffer.from("f"), arguments: [] },
  };
  return { type: "graph", source, graph: Buffer.from(`graph ${graph}`), targets: [task], nodes: [node] };
}
