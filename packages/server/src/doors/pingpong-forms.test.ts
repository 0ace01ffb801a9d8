// The two forms of the pingpong door: how jobs are named, what a worker of the original program
// sends while working, and workers that use the form for which the door is not configured.

import assert from "node:assert/strict";
import { afterEach, describe, test } from "node:test";
import { PingpongYard, type PingpongYardOptions } from "../testing/pingpong-yard.js";

let yard: PingpongYard;
async function openYard(options: PingpongYardOptions = {}): Promise<PingpongYard> {
  yard = await new PingpongYard(options).open();
  return yard;
}
afterEach(() => yard.close());

describe("the pingpong door: its two forms", { timeout: 20_000 }, () => {
  test("in program form a job has a name of its own, and its result comes back with it", async () => {
    await openYard({ config: { form: "program" } });
    const worker = await yard.readyWorker("w");
    const client = await yard.client("client-1");
    const names = new Set<string>();
    for (const number of [1, 2]) {
      client.say("", `job ${number}`);
      const [empty, job, name = "", ...rest] = await worker.next();
      assert.deepEqual([empty, job, ...rest], ["", `job ${number}`, "", ""]);
      assert.notEqual(name, "");
      names.add(name);
      worker.say("", "JOB COMPLETE", name, "", `result ${number}`);
      assert.deepEqual(await client.next(), ["", `result ${number}`]);
    }
    assert.equal(names.size, 2);
  });

  test("in program form a worker that says READY at work has its job once, and answers the one that asked", async () => {
    await openYard({ config: { form: "program" } });
    const worker = await yard.readyWorker("w");
    const client = await yard.client();
    client.say("c1", "", "job 1");
    client.say("c2", "", "job 2");
    const [, , first = ""] = await worker.next();
    for (const word of ["PING", "PING", "READY", "PING"]) {
      worker.say("", word);
      assert.deepEqual(await worker.next(), ["", "PONG"]);
    }
    worker.say("", "JOB COMPLETE", first, "", "result 1");
    assert.deepEqual(await client.next(), ["c1", "", "result 1"]);
    const [, job, second = ""] = await worker.next();
    assert.equal(job, "job 2");
    worker.say("", "JOB COMPLETE", first, "", "result 1 again");
    worker.say("", "JOB COMPLETE", second, "", "result 2");
    assert.deepEqual(await client.next(), ["c2", "", "result 2"]);
    assert.equal(yard.door.faults.count("unexpected_result"), 1);
  });

  test("a worker of the other form is counted and logged, in either form", async () => {
    await openYard({ config: { form: "program" } });
    const documentWorker = await yard.readyWorker("w");
    const client = await yard.client();
    client.say("", "job 1");
    await documentWorker.next();
    documentWorker.say("", "result 1");
    const heir = await yard.worker("heir");
    heir.say("", "READY");
    const [, job, name = ""] = await heir.next();
    assert.equal(job, "job 1");
    assert.deepEqual(client.heard, []);
    heir.say("", "JOB COMPLETE", name, "", "result of the heir");
    assert.deepEqual(await client.next(), ["", "result of the heir"]);
    assert.equal(yard.door.faults.count("other_form"), 1);
    assert.match(yard.logged.join(), /other_form .*doors\.pingpong\.form: program/);
  });

  test("in document form a worker that ignores its job and goes on pinging is logged", async () => {
    await openYard();
    const worker = await yard.readyWorker("w");
    const client = await yard.client();
    client.say("", "job 1");
    await worker.next();
    for (let count = 0; count < 3; count += 1) {
      worker.say("", "PING");
      assert.deepEqual(await worker.next(), ["", "PONG"]);
    }
    assert.equal(yard.door.faults.count("pings_at_work"), 1);
    assert.match(yard.logged.join(), /pings_at_work .*set doors\.pingpong\.form: program/);
  });
});
