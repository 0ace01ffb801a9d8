// The payloads that a worker stream reads before it can write their lines.

import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import type { ServerResponse } from "node:http";
import { test } from "node:test";
import type { AttemptNumber, Body, TaskHead, WorkerId } from "@yardmaster/core";
import type { Assignment } from "./exchange.js";
import { WorkStream } from "./work-stream.js";

const size = 100_000;

function setUp() {
  const written: string[] = [];
  const response = Object.assign(new EventEmitter(), {
    destroyed: false,
    writableEnded: false,
    writableLength: 0,
    write(lines: string): void {
      written.push(lines);
      response.writableLength += lines.length;
    },
  });
  const reads = new Map<number, (body: Body) => void>();
  const stream = new WorkStream({
    response: response as unknown as ServerResponse,
    door: "http",
    namesQueue: false,
    traceparentOf: undefined,
    read: ({ attempt }) => new Promise((resolve) => reads.set(attempt, resolve)),
  });
  const finishRead = async (attempt: number) => {
    reads.get(attempt)?.({ mediaType: "text/plain", size, bytes: Buffer.alloc(size, "x") });
    await Promise.resolve();
    await Promise.resolve();
  };
  return { response, stream, reads, written, finishRead };
}

function assignmentOf(attempt: number): Assignment {
  const task = { id: attempt, door: "http", queue: "q", payload: { mediaType: "text/plain", size } };
  return {
    type: "assign",
    door: "http",
    worker: "http/w" as WorkerId,
    task: task as unknown as TaskHead,
    attempt: attempt as AttemptNumber,
  } as Assignment;
}

test("a worker that reads slowly has only as many payloads in memory as there is room for", async () => {
  const { response, stream, reads, finishRead } = setUp();
  for (let attempt = 1; attempt <= 100; attempt++) stream.push(assignmentOf(attempt));
  stream.flush();
  assert.equal(reads.size, 3);
  for (const attempt of [1, 2, 3]) await finishRead(attempt);
  assert.equal(reads.size, 3, "nothing is read before the worker has read");
  response.writableLength = 0;
  response.emit("drain");
  assert.equal(reads.size, 6);
});

test("an attempt that is withdrawn while its payload is read is not written", async () => {
  const { stream, written, finishRead } = setUp();
  stream.push(assignmentOf(1));
  stream.flush();
  assert.ok(stream.withdraw(1 as AttemptNumber));
  await finishRead(1);
  assert.deepEqual(written, []);
});

test("an attempt whose payload is read when the stream closes counts as unwritten", () => {
  const { stream } = setUp();
  stream.push(assignmentOf(1));
  stream.push(assignmentOf(2));
  stream.flush();
  assert.deepEqual(
    stream.takeUnwritten().map(({ attempt }) => attempt),
    [1, 2],
  );
});
