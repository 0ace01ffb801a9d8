// Our client and worker sessions against a scheduler that sends any message at any time. Nothing
// throws, and the rules for what the sessions may send always hold.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Instant, Moment } from "@yardmaster/core";
import fc from "fast-check";
import { defaultScalerClientSettings, ScalerClientSession, type ScalerWaiter } from "./client-session.js";
import type { ScalerWire, TaskStatus, ToClient, ToWorker } from "./messages.js";
import { keyOf } from "./objects.js";
import { readAtClient, readAtWorker, writeFromClient, writeFromWorker } from "./peer-codec.js";
import { taskMetadata } from "./structs.js";
import { defaultScalerWorkerSettings } from "./worker-host.js";
import { ScalerWorkerSession } from "./worker-session.js";

/** Only a few names, so that random messages refer to things that exist. */
const name = fc.constantFrom("a", "b", "c", "d").map((text) => Buffer.from(text));
const names = fc.array(name, { minLength: 1, maxLength: 4 });
const someBytes = fc.uint8Array({ maxLength: 8 }).map((bytes) => Buffer.from(bytes));
const flag = fc.boolean();

const task = fc
  .record({
    task: name,
    function: name,
    given: fc.array(name, { maxLength: 3 }),
    priority: fc.integer({ min: -2, max: 2 }),
  })
  .map(
    ({ task, function: called, given, priority }): ToWorker => ({
      ...{
        type: "task",
        task,
        source: Buffer.from("me"),
        metadata: taskMetadata(priority),
        function: called,
      },
      arguments: given.map((id) => ({ kind: "R", id })),
    }),
  );
const answer = fc
  .record({ ids: names, bytes: fc.array(someBytes, { maxLength: 4 }), isFound: flag })
  .map(({ ids, bytes, isFound }) => {
    const found = bytes.slice(0, isFound ? ids.length : 0);
    const kind = isFound ? ("content" as const) : ("not-found" as const);
    return { type: "object-answer" as const, kind, ids, names: found, bytes: found, hasSplitCounts: false };
  });

const toWorker: fc.Arbitrary<ToWorker> = fc.oneof(
  { weight: 4, arbitrary: task },
  { weight: 4, arbitrary: answer },
  fc.record({ task: name, force: flag }).map(
    ({ task, force }): ToWorker => ({
      ...{ type: "task-cancel", task, flags: { force, retrieveTaskObject: false } },
    }),
  ),
  fc.nat({ max: 5 }).map((count): ToWorker => ({ type: "balance-request", count })),
  names.map(
    (ids): ToWorker => ({ type: "object-delete", source: Buffer.from("w"), ids, hasSplitCounts: false }),
  ),
  fc.constant<ToWorker>({ type: "heartbeat-echo" }),
);

type WorkerStep =
  | { readonly do: "receive"; readonly message: ToWorker }
  | { readonly do: "answer what was asked"; readonly found: number }
  | { readonly do: "finish" | "fail"; readonly nth: number }
  | { readonly do: "pass"; readonly ms: number }
  | { readonly do: "connect" | "disconnect" };

const workerStep: fc.Arbitrary<WorkerStep> = fc.oneof(
  { weight: 6, arbitrary: toWorker.map((message) => ({ do: "receive" as const, message })) },
  {
    weight: 4,
    arbitrary: fc.nat({ max: 4 }).map((found) => ({ do: "answer what was asked" as const, found })),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constantFrom("finish" as const, "fail" as const),
      nth: fc.nat({ max: 3 }),
    }),
  },
  fc.nat({ max: 90_000 }).map((ms) => ({ do: "pass" as const, ms })),
  fc.constantFrom<WorkerStep>({ do: "connect" }, { do: "disconnect" }),
);

const wires: readonly ScalerWire[] = ["r", "r-packed", "d", "d-packed", "d-split"];

test("a worker: it answers each task once, and runs no more than it may", () => {
  const concurrency = 2;
  fc.assert(
    fc.property(fc.constantFrom(...wires), fc.array(workerStep, { maxLength: 60 }), (wire, steps) => {
      const now = { instant: 0 as Instant, wall: 0 };
      const running = new Map<number, { task: string; priority: number }>();
      const aborted = new Set<number>();
      const asked: Buffer[][] = [];
      let given = 0;
      let answered = 0;
      const session = new ScalerWorkerSession(
        Buffer.from("w"),
        { ...defaultScalerWorkerSettings, wire, concurrency, objectBytesMax: 400 },
        {
          send: (message) => {
            writeFromWorker(message, wire);
            if (message.type === "object-request") asked.push([...message.ids]);
            if (message.type === "balance-response") answered += message.tasks.length;
            if (message.type === "task-result" && message.status !== "C" && message.status !== "N")
              answered += 1;
          },
          run: ({ run, task: id, priority, arguments: all }) => {
            assert.ok(!running.has(run) && all.every(Buffer.isBuffer));
            const others = [...running.values()];
            assert.ok(!others.some((other) => other.task === keyOf(id)), "a task runs twice");
            const isFree = running.size + aborted.size < concurrency;
            assert.ok(
              isFree || others.every((other) => priority < other.priority),
              "no room, and not urgent",
            );
            running.set(run, { task: keyOf(id), priority });
          },
          abort: (run) => {
            assert.ok(running.delete(run));
            aborted.add(run);
          },
          reconnect: () => session.connected(now as Moment),
          ended: () => assert.fail("nobody told it to go"),
          resources: () => ({ pid: 1, cpu: 1, rssBytes: 1n, freeRssBytes: 1n }),
          unique: () => Buffer.alloc(16),
        },
      );
      session.connected(now as Moment);
      for (const step of steps) {
        if (step.do === "receive") {
          if (step.message.type === "task") given += 1;
          session.receive(step.message, now as Moment);
        } else if (step.do === "answer what was asked") {
          const ids = asked.shift();
          if (ids === undefined) continue;
          const found = ids.slice(0, step.found);
          const kind = "content";
          const message = {
            type: "object-answer",
            kind,
            ids,
            names: found,
            bytes: found,
            hasSplitCounts: false,
          } as const;
          session.receive(message, now as Moment);
        } else if (step.do === "finish" || step.do === "fail") {
          const run = [...running.keys(), ...aborted][step.nth];
          if (run === undefined) continue;
          running.delete(run);
          aborted.delete(run);
          if (step.do === "finish") session.finish(run, Buffer.from("result"), now as Moment);
          else session.fail(run, "no", now as Moment);
        } else if (step.do === "pass") {
          now.instant = (now.instant + step.ms) as Instant;
          session.handleTimeout(now as Moment);
        } else if (step.do === "connect") session.connected(now as Moment);
        else {
          session.disconnected(now as Moment);
          asked.length = 0;
        }
        assert.equal(session.running, running.size);
        assert.ok(answered + session.running + session.queued <= given);
      }
    }),
    { numRuns: 1_000 },
  );
});

const toClient: fc.Arbitrary<ToClient> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc
      .record({
        task: name,
        status: fc.constantFrom<TaskStatus>(...("SFCNKWIRX".split("") as TaskStatus[])),
        results: fc.array(name, { maxLength: 2 }),
      })
      .map((result): ToClient => ({ type: "task-result", metadata: Buffer.alloc(0), ...result })),
  },
  { weight: 3, arbitrary: answer },
  fc.constant<ToClient>({ type: "client-heartbeat-echo" }),
  flag.map((isAccepted): ToClient => ({ type: "shutdown-response", isAccepted })),
);

type ClientStep =
  | { readonly do: "receive"; readonly message: ToClient }
  | { readonly do: "submit" | "cancel"; readonly id: Buffer }
  | { readonly do: "pass"; readonly ms: number }
  | { readonly do: "graph" | "connect" | "disconnect" };

const clientStep: fc.Arbitrary<ClientStep> = fc.oneof(
  { weight: 5, arbitrary: toClient.map((message) => ({ do: "receive" as const, message })) },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constantFrom("submit" as const, "cancel" as const), id: name }),
  },
  fc.nat({ max: 90_000 }).map((ms) => ({ do: "pass" as const, ms })),
  fc.constantFrom<ClientStep>({ do: "graph" }, { do: "connect" }, { do: "disconnect" }),
);

test("a client: whoever waits is told once at most, and nothing is kept for a task that is over", () => {
  fc.assert(
    fc.property(fc.array(clientStep, { maxLength: 60 }), (steps) => {
      const now = { instant: 0 as Instant, wall: 0 };
      const open = new Set<string>();
      const session = new ScalerClientSession(
        Buffer.from("me"),
        Buffer.from("json"),
        defaultScalerClientSettings,
        {
          send: (message) => void writeFromClient(message),
          reconnect: () => session.connected(now as Moment),
          resources: () => ({ cpu: 1, rssBytes: 1n }),
        },
      );
      const waiter = (id: Buffer): ScalerWaiter => {
        open.add(keyOf(id));
        const told = () => assert.ok(open.delete(keyOf(id)), "told twice");
        return { done: told, failed: told };
      };
      const request = (id: Buffer) => ({
        task: id,
        function: session.objects.hold("f", Buffer.from("f")),
        arguments: [{ kind: "R" as const, id: session.objects.hold("x", id) }],
        priority: 0,
      });
      for (const step of steps) {
        if (step.do === "receive") session.receive(step.message, now as Moment);
        else if (step.do === "submit") {
          if (!open.has(keyOf(step.id))) session.submit(request(step.id), waiter(step.id));
        } else if (step.do === "cancel") session.cancel(step.id, now as Moment);
        else if (step.do === "pass") {
          now.instant = (now.instant + step.ms) as Instant;
          session.handleTimeout(now as Moment);
        } else if (step.do === "graph") {
          const ids = ["c", "d", "g"].map((text) => Buffer.from(text)) as [Buffer, Buffer, Buffer];
          if (ids.some((id) => open.has(keyOf(id)))) continue;
          const [first, second, graph] = ids;
          const nodes = [request(first), request(second)];
          session.submitGraph({ graph, nodes, targets: [[second, waiter(second)]] }, waiter(graph));
        } else if (step.do === "connect") session.connected(now as Moment);
        else session.disconnected();
        assert.equal(session.waiting, open.size);
      }
      // Everything unfinished ends here, and so everything held must be released.
      session.connected(now as Moment);
      for (const id of ["a", "b", "c", "d", "g"]) session.cancel(Buffer.from(id), now as Moment);
      for (const key of [...open]) {
        const end = { type: "task-result", status: "C", metadata: Buffer.alloc(0), results: [] } as const;
        session.receive({ ...end, task: Buffer.from(key) }, now as Moment);
        for (const id of ["a", "b", "c", "d"]) {
          const none = { kind: "content", names: [], bytes: [], hasSplitCounts: false } as const;
          session.receive({ type: "object-answer", ids: [Buffer.from(id)], ...none }, now as Moment);
        }
      }
      assert.deepEqual([session.waiting, open.size], [0, 0]);
      now.instant = (now.instant + 1_000) as Instant;
      session.handleTimeout(now as Moment);
      assert.equal(session.objects.size, 2, "the serializer's two");
    }),
    { numRuns: 1_000 },
  );
});

test("any frames are a message or a fault to either end", () => {
  const type = fc.constantFrom("HE", "TK", "TC", "TR", "OI", "OA", "BQ", "DP", "CS", "CR", "CE", "HB", "??");
  const frames = fc.tuple(
    type.map((text) => Buffer.from(text)),
    fc.array(someBytes, { maxLength: 8 }),
  );
  fc.assert(
    fc.property(frames, fc.constantFrom(...wires), ([first, rest], wire) => {
      for (const reading of [readAtWorker([first, ...rest], wire), readAtClient([first, ...rest])]) {
        assert.equal(typeof (reading.ok ? reading.message.type : reading.fault), "string");
      }
    }),
    { numRuns: 2_000 },
  );
});
