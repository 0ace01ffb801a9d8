// What the page sees of peers of every dialect, with a real dispatcher: how long each worker may be
// silent, and messages with their bytes, fields, side and task.

import assert from "node:assert/strict";
import { resolve } from "node:path";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { connect, work } from "@yardmaster/sdk";
import { patience, waitMs } from "../patience.js";
import { type ServedYard, serveYard } from "./served-yard.js";

let yard: ServedYard;
before(async () => {
  yard = await serveYard({
    doors: {
      pingpong: { workerExpireSeconds: 20 },
      scaler: { workerTimeoutSeconds: 40 },
      udp: {},
      pulse: {},
    },
  });
});
after(async () => {
  await yard.stop();
});

interface ShownWorker {
  readonly id: string;
  readonly door: string;
  readonly limitMs: number | null;
  readonly silentAt: string | null;
}

async function get<Answer>(path: string): Promise<Answer> {
  return (await fetch(`${yard.url}${path}`)).json() as Promise<Answer>;
}

test("each worker says how long it may be silent by its dialect's rule", patience, async () => {
  const { doors } = yard;
  const limits: readonly [string, string, number | null][] = [
    ["pingpong", `pingpong://${doors.pingpong?.workers}`, 20_000],
    ["udp", `udp://${doors.udp?.client_address}`, 60_000],
    ["scaler", `scaler://${doors.scaler?.listen}`, 40_000],
    ["pulse", `pulse:${resolve(yard.folder, doors.pulse?.dir ?? "")}`, null],
  ];
  for (const [door, url, limitMs] of limits) {
    const worker = await work(url, {}, (payload) => payload);
    try {
      let shown: ShownWorker | undefined;
      while (shown === undefined || shown.limitMs === null) {
        const { items } = await get<{ items: ShownWorker[] }>("/v1/workers");
        shown = items.find((one) => one.door === door);
        await sleep(20);
      }
      // A pulse worker announces its limit; the others have it from the configuration.
      if (limitMs !== null) assert.equal(shown.limitMs, limitMs, door);
      else assert.ok(shown.limitMs > 0, door);
      assert.ok(Date.parse(shown.silentAt ?? "") > Date.now() - 60_000, door);
    } finally {
      await worker.stop();
    }
  }
});

interface Message {
  readonly door: string;
  readonly direction: string;
  readonly side: string | null;
  readonly type: string;
  readonly bytes: number;
  readonly task: string | null;
  readonly data: string | null;
  readonly fields: readonly { name: string; at: number; bytes: number; value: string | null }[];
}

/** Messages of a door while `act` runs, until one matches. */
async function messagesUntil(
  door: string,
  act: () => Promise<unknown>,
  isLast: (message: Message) => boolean,
) {
  const stop = new AbortController();
  // Once it is answered, the dispatcher listens.
  const response = await fetch(`${yard.url}/v1/wire?door=${door}`, { signal: stop.signal });
  const acting = act();
  const seen: Message[] = [];
  let text = "";
  for await (const chunk of response.body ?? []) {
    text += Buffer.from(chunk as Uint8Array).toString();
    const blocks = text.split("\n\n");
    text = blocks.pop() ?? "";
    for (const block of blocks) {
      const json = /^event: message\ndata: (.*)$/m.exec(block)?.[1];
      if (json !== undefined) seen.push(JSON.parse(json) as Message);
    }
    if (seen.some(isLast)) break;
  }
  stop.abort();
  await acting;
  return seen;
}

for (const [door, urls] of [
  [
    "pingpong",
    () => [`pingpong://${yard.doors.pingpong?.workers}`, `pingpong://${yard.doors.pingpong?.clients}`],
  ],
  ["scaler", () => [`scaler://${yard.doors.scaler?.listen}`, `scaler://${yard.doors.scaler?.listen}`]],
  ["udp", () => [`udp://${yard.doors.udp?.client_address}`, `udp://${yard.doors.udp?.client_address}`]],
] as const) {
  test(`messages of ${door} have bytes, fields, a side and a task`, patience, async () => {
    const [workers = "", clients = ""] = urls();
    const worker = await work(workers, {}, (payload) => payload);
    const client = await connect(clients);
    try {
      const isAnswer = ({ task, side, direction }: Message) =>
        task !== null && side === "worker" && direction === "in";
      const seen = await messagesUntil(door, () => client.call({ frame: 1 }, { waitMs }), isAnswer);
      const answered = seen.find(isAnswer);
      assert.ok(answered?.task);
      // The same task was sent to the worker before.
      const given = seen.find(
        ({ task, side, direction }) => task === answered.task && side === "worker" && direction === "out",
      );
      assert.ok(
        given,
        JSON.stringify(seen.map(({ type, side, direction, task }) => [type, side, direction, task])),
      );
      const data = Buffer.from(given.data ?? "", "base64");
      assert.equal(data.length, Math.min(4096, given.bytes));
      assert.ok(given.fields.length > 0);
      for (const { at, bytes, value } of given.fields)
        if (value !== null) assert.equal(data.toString("utf8", at, at + bytes), value);
      assert.ok(seen.some(({ side }) => side === "client"));
    } finally {
      await client.close();
      await worker.stop();
    }
  });
}
