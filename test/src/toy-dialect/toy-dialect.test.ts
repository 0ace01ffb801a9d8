// The toy dialect of docs/adding-a-dialect.md, in each place where a dialect takes part: the
// configuration, a served yard with a client and a worker of the SDK, another dialect's door, the
// doctor's list, and the simulator. Nothing of the core, the runtime or the registry knows it.

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import type { YardEvent } from "@yardmaster/core";
import { connect, dialectTable, TaskEndedError, work } from "@yardmaster/sdk";
import { closedDoors, createLog, doorList, loadConfig, type Port, placesOf, serve } from "@yardmaster/server";
import { patience } from "../patience.js";
import { runSeed } from "../simulation/scenario.js";
import type { SideOptions } from "../simulation/side.js";
import type { Process } from "../simulation/world.js";
import { decode, encode } from "./codec.js";
import { toyDeclaration } from "./door.js";
import { ToySide } from "./population.js";
import { toyEntry } from "./sdk-end.js";

// The two lines that a real dialect adds, to registry/doors.ts and to the SDK's dialects.ts.
const doors = [...doorList, toyDeclaration];
Object.assign(dialectTable, { toy: toyEntry });

const folder = mkdtempSync(join(tmpdir(), "yard-toy-"));
after(() => rmSync(folder, { recursive: true, force: true }));

function config(toy: object) {
  const file = join(folder, "yardmaster.json");
  writeFileSync(
    file,
    JSON.stringify({ engine: "memory", doors: { ...closedDoors, http: { listen: "127.0.0.1:0" }, toy } }),
  );
  return loadConfig({ folder, file, doors });
}

async function served() {
  const yard = await serve({
    config: config({ listen: "127.0.0.1:0" }),
    log: createLog("fatal"),
    declarations: doors,
  });
  return { yard, toy: `toy://${yard.doors.toy?.listen}`, http: `http://${yard.doors.http?.listen}` };
}

test("its bytes are read back, and anything else is no message", () => {
  const message = { verb: "run", id: "7.1", body: Buffer.from([0, 255]) } as const;
  assert.deepEqual(decode(encode(message)), message);
  const [verb, id, body] = encode(message) as [Buffer, Buffer, Buffer];
  for (const frames of [[], [verb], [verb, id], [verb, id, body, body], [Buffer.from("jump"), id, body]])
    assert.equal(decode(frames), undefined);
});

test("its settings are checked, have defaults, and name the port that the doctor looks at", () => {
  assert.deepEqual(
    placesOf(config({}), doors).filter(([door]) => door === "toy"),
    [["toy", { kind: "tcp", key: "listen", host: "127.0.0.1", port: 5599 }]],
  );
  assert.throws(() => config({ quue: "x" }), /doors\.toy\.quue: unknown key; did you mean queue\?/);
});

test("a client and a worker of the SDK speak it", patience, async () => {
  const { yard, toy } = await served();
  const worker = await work(toy, { concurrency: 2 }, (payload) => {
    if (payload.text() === "bad") throw new Error("no");
    return payload.text().toUpperCase();
  });
  const client = await connect(toy);
  const [good, bad] = await Promise.all([client.submit("abc"), client.submit("bad")]);
  assert.equal((await client.result(good.id)).text(), "ABC");
  await assert.rejects(
    client.result(bad.id),
    (fault) => fault instanceof TaskEndedError && /no/.test(fault.message),
  );
  await client.close();
  await worker.stop();
  await yard.stop();
});

test("its worker runs a task that was submitted over http", patience, async () => {
  const { yard, toy, http } = await served();
  const worker = await work(toy, {}, (payload) => payload.text().toUpperCase());
  const client = await connect(http);
  const { id } = await client.submit("over the bridge", { queue: "toy" });
  assert.equal((await client.result(id)).text(), "OVER THE BRIDGE");
  await client.close();
  await worker.stop();
  await yard.stop();
});

test("in the simulator it keeps the promise", patience, async () => {
  let accepted = 0;
  for (let seed = 1; seed <= 40; seed += 1) {
    const report = await runSeed({ seed, population: "pingpong", makeSide: (given) => new ToySide(given) });
    assert.equal(report.violation, undefined, `seed ${seed}`);
    accepted += report.accepted;
  }
  assert.ok(accepted > 200, `${accepted} tasks`);
});

for (const type of ["worker-left", "outcome-undelivered"] as const) {
  test(`in the simulator a door that never posts ${type} is noticed`, patience, async () => {
    class BrokenSide extends ToySide {
      override makeDoor(port: Port, process: Process) {
        const post = (event: YardEvent) => event.type === type || port.post(event);
        return super.makeDoor(Object.create(port, { post: { value: post } }), process);
      }
    }
    const makeSide = (given: SideOptions) => new BrokenSide(given);
    let violation: string | undefined;
    for (let seed = 1; seed <= 100 && violation === undefined; seed += 1)
      ({ violation } = await runSeed({ seed, population: "pingpong", makeSide }));
    assert.ok(violation !== undefined);
  });
}

test("it is short", () => {
  const files = ["codec", "peer-sessions", "door-peer", "door", "sdk-end"];
  const lines = files.flatMap((name) =>
    readFileSync(new URL(`../../src/toy-dialect/${name}.ts`, import.meta.url), "utf8")
      .split("\n")
      .filter((line) => line.trim() !== "" && !/^\s*(?:\/\/|\/\*|\*)/.test(line)),
  );
  assert.ok(lines.length < 300, `${lines.length} lines of code`);
});
