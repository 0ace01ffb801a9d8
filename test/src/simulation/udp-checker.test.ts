import assert from "node:assert/strict";
import { test } from "node:test";
import type { AttemptNumber, TaskHead, TaskId, TaskProgress } from "@yardmaster/core";
import type { udp } from "@yardmaster/dialects";
import { MemoryStore } from "@yardmaster/engines";
import { UdpChecker } from "./udp-checker.js";
import { Process } from "./world.js";

const client = "10.0.1.1:1000";
const mark = "asker-1/1/";
const result = `- ${mark} forger`;

/** The task waits on the disk when a dispatcher starts, and its client asked for it. */
function restarted(attempt?: number) {
  const store = new MemoryStore();
  const bytes = Buffer.from(JSON.stringify({ mark }));
  const payload = { mediaType: "application/json", size: bytes.length, bytes };
  store.apply({ kind: "head", head: { id: 1 as TaskId, door: "udp", payload } as unknown as TaskHead });
  const put = (state: string) => {
    const progress = { id: 1 as TaskId, state, attempt: attempt as AttemptNumber | undefined };
    store.apply({ kind: "progress", progress: progress as unknown as TaskProgress });
  };
  put("waiting");
  const checker = new UdpChecker(store);
  checker.asked({ client, taskId: 1, mark, process: new Process("asker-1") });
  const unrecorded = checker.started();
  const tell = () => {
    put("done");
    const params = { task_id: 1, status: "success", result };
    checker.told(client, { method: "notify_task", params } as unknown as udp.Packet);
  };
  return { checker, unrecorded, tell };
}

const forged = /was done by forger, which never had it/;

test("the first answer after a restart may be forged if the task has no recorded attempt", () => {
  const { checker, unrecorded, tell } = restarted();
  checker.answerArrived(result, unrecorded);
  assert.doesNotThrow(tell);
});

test("no other forged answer may count", () => {
  assert.throws(restarted().tell, forged);
  const recorded = restarted(7);
  recorded.checker.answerArrived(result, recorded.unrecorded);
  assert.throws(recorded.tell, forged);
  const sent = restarted();
  sent.unrecorded.delete(mark);
  sent.checker.answerArrived(result, sent.unrecorded);
  assert.throws(sent.tell, forged);
});
