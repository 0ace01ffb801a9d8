// The SDK with a real dispatcher in its own process: one interface over the dialects, as far as
// each supports it.

import assert from "node:assert/strict";
import { resolve } from "node:path";
import { after, before, describe, test } from "node:test";
import {
  ArgumentError,
  Body,
  connect,
  type InterruptedError,
  RefusedError,
  type StreamEvent,
  TaskEndedError,
  UnreachableError,
  UnsupportedError,
  type WorkContext,
  work,
  type YardClient,
  YardError,
} from "@yardmaster/sdk";
import { Inbox } from "../interop/inbox.js";
import { patience, waitMs } from "../patience.js";
import { type ServedYard, serveYard } from "./served-yard.js";

let yard: ServedYard;
let http: YardClient;
before(async () => {
  const queue = "shared";
  yard = await serveYard({
    doors: {
      pingpong: { queue },
      udp: { queue },
      pulse: { queue },
      scaler: { queue, function: "scaler" },
      monique: { controllers: { shared: 0 } },
    },
    queues: { tiny: { maxWaiting: 2 } },
  });
  http = await connect(yard.url);
});
after(async () => {
  await http.close();
  await yard.stop();
});

/** The URL and the queue for workers of each dialect. */
function workerUrls(): Record<string, { url: string; queue?: string }> {
  return {
    http: { url: yard.url, queue: "shared" },
    pingpong: { url: `pingpong://${yard.doors.pingpong?.workers}` },
    udp: { url: `udp://${yard.doors.udp?.client_address}` },
    monique: { url: moniqueUrl(), queue: "shared" },
    scaler: { url: scalerUrl() },
    pulse: { url: `pulse:${resolve(yard.folder, yard.doors.pulse?.dir ?? "")}` },
  };
}

function clientUrls(): Record<string, { url: string; queue?: string }> {
  return {
    http: { url: yard.url, queue: "shared" },
    pingpong: { url: `pingpong://${yard.doors.pingpong?.clients}` },
    udp: { url: `udp://${yard.doors.udp?.client_address}` },
    monique: { url: moniqueUrl(), queue: "shared" },
    scaler: { url: scalerUrl() },
  };
}

function scalerUrl(): string {
  return `scaler://${yard.doors.scaler?.listen}`;
}

function moniqueUrl(): string {
  const { in: to, out, techIn, techOut, "controllers.shared": worker } = yard.doors.monique ?? {};
  const port = (address: string | undefined) => address?.split(":").at(-1);
  const query = `out=${port(out)}&techIn=${port(techIn)}&techOut=${port(techOut)}&worker=${port(worker)}`;
  return `monique://${to}?${query}`;
}

const queueOf = ({ queue }: { queue?: string }) => (queue === undefined ? {} : { queue });

/** Resolves with the reason when the handler's signal fires. */
function interrupted({ signal }: WorkContext): Promise<InterruptedError> {
  return new Promise((resolve) => {
    signal.addEventListener("abort", () => resolve(signal.reason as InterruptedError), { once: true });
  });
}

describe("the SDK over every dialect", patience, () => {
  for (const dialect of ["http", "pingpong", "udp", "pulse", "monique", "scaler"]) {
    test(`a ${dialect} worker answers clients of every dialect, and stops`, async () => {
      const { url, ...its } = workerUrls()[dialect] as { url: string };
      const worker = await work(url, { ...its, concurrency: 2 }, (payload, context) => {
        assert.equal(context.dialect, dialect);
        return { got: payload.text().length > 0 };
      });
      for (const [name, client] of Object.entries(clientUrls())) {
        const asking = await connect(client.url);
        const submitted = await asking.submit({ x: 1 }, queueOf(client));
        assert.equal(submitted.isAcknowledged, asking.acknowledges, name);
        assert.deepEqual((await asking.result(submitted)).json(), { got: true }, name);
        const many: unknown[] = [];
        for await (const { id, error } of asking.submitMany(
          [{ payload: { y: 1 } }, { payload: { y: 2 } }],
          queueOf(client),
        )) {
          assert.equal(error, undefined);
          many.push((await asking.result(String(id))).json());
        }
        assert.deepEqual(many, [{ got: true }, { got: true }], name);
        await asking.close();
      }
      await worker.stop();
      await worker.ended;
    });
  }

  test("what a dialect cannot do is a typed error that says so", async () => {
    for (const [name, { url, queue }] of Object.entries(clientUrls())) {
      if (name === "http") continue;
      const client = await connect(url);
      const refused = (operation: RegExp) => (fault: unknown) => {
        assert.ok(fault instanceof UnsupportedError);
        assert.deepEqual([fault.code, fault.dialect], ["unsupported", name]);
        assert.match(fault.message, operation);
        return true;
      };
      await assert.rejects(
        client.cancel("1"),
        refused(/cannot cancel task 1, which this client did not submit/),
      );
      await assert.rejects(client.tasks().next(), refused(/cannot list tasks/));
      await assert.rejects(client.events().next(), refused(/cannot tell what happens/));
      await assert.rejects(client.workers(), refused(/cannot list workers/));
      await assert.rejects(client.submit("x", { key: "k" }), refused(/cannot give a task a key/));
      if (queue === undefined) {
        const named = client.submit("x", { queue: "q" });
        await assert.rejects(named, refused(/cannot name a queue; its door has one/));
      }
      const submitted = await client.submit("x", queue === undefined ? {} : { queue });
      if (name === "scaler") {
        await client.cancel(submitted);
        await assert.rejects(client.result(submitted), { state: "cancelled" });
      } else
        await assert.rejects(client.cancel(submitted), refused(/cannot cancel a task; use the http door/));
      await assert.rejects(
        client.result("1"),
        refused(/cannot ask for task 1, which this client did not submit/),
      );
      await client.close();
    }
  });

  test("a failure is told in each dialect's way", async () => {
    const worker = await work(yard.url, { queue: "shared" }, () => {
      throw new YardError("bad_frame", "no such frame");
    });
    for (const [name, client] of Object.entries(clientUrls())) {
      const asking = await connect(client.url);
      await assert.rejects(asking.call("x", queueOf(client)), (fault) => {
        assert.ok(fault instanceof TaskEndedError, `${name}: ${fault}`);
        assert.equal(fault.state, "failed");
        return true;
      });
      await asking.close();
    }
    await worker.stop();
  });
});

describe("the http client", patience, () => {
  test("submits, reads, lists, cancels and retries", async () => {
    const { id } = await http.submit(new Body(Buffer.from([0, 1, 2]), "image/x-raw"), {
      queue: "looked-at",
      priority: 3,
      key: "k",
      delayMs: 60_000,
    });
    const task = await http.task(id);
    assert.deepEqual(
      [task.state, task.priority, task.key, task.contentType, task.why?.code],
      ["waiting", 3, "k", "image/x-raw", "delayed"],
    );
    assert.deepEqual([...(await http.payload(id)).bytes], [0, 1, 2]);
    const listed: string[] = [];
    for await (const one of http.tasks({ queue: "looked-at" })) listed.push(one.id);
    assert.deepEqual(listed, [id]);
    await assert.rejects(http.result(id, { waitMs: 50 }), { code: "still_open" });
    await assert.rejects(http.result(id, { signal: AbortSignal.timeout(50) }), { name: "TimeoutError" });
    assert.equal((await http.cancel(id))?.state, "cancelled");
    await assert.rejects(http.result(id), { name: "TaskEndedError", state: "cancelled" });
    await assert.rejects(
      http.cancel(id),
      (fault) => fault instanceof RefusedError && fault.status === 409 && fault.code === "wrong_state",
    );
    const again = await http.retry(id);
    assert.notEqual(again.id, id);
    await http.cancel(again.id);
  });

  test("submits many with bounded memory, and says which were refused", async () => {
    function* items() {
      for (let index = 0; index < 3_000; index += 1)
        yield { payload: `item ${index}`, ...(index === 1_500 ? { key: "\n" } : {}) };
    }
    const refused: number[] = [];
    const ids = new Set<string>();
    for await (const item of http.submitMany(items(), { queue: "many", batch: 500 })) {
      if (item.error) refused.push(item.index);
      else ids.add(item.id);
    }
    assert.deepEqual(refused, [1_500]);
    assert.equal(ids.size, 2_999);
  });

  test("waits for room where a queue is full", async () => {
    const accepted: number[] = [];
    const submitting = (async () => {
      for await (const { index } of http.submitMany(
        [1, 2, 3, 4, 5].map((payload) => ({ payload })),
        { queue: "tiny" },
      ))
        accepted.push(index);
    })();
    const seen = new Inbox<unknown>();
    const worker = await work(yard.url, { queue: "tiny" }, (payload) => {
      seen.put(payload.json());
      return "";
    });
    await submitting;
    assert.deepEqual(accepted, [0, 1, 2, 3, 4]);
    for (let index = 0; index < 5; index += 1) await seen.next();
    await worker.stop();
  });

  test("tells what happens, from a snapshot on", async () => {
    const stop = new AbortController();
    const events: StreamEvent[] = [];
    let submitted: string | undefined;
    for await (const event of http.events({ signal: stop.signal })) {
      events.push(event);
      submitted ??= (await http.submit("x", { queue: "followed" })).id;
      if (event.type === "task" && (event.data as { id: string }).id === submitted) stop.abort();
    }
    assert.equal(events[0]?.type, "snapshot");
    const { queue } = (events.at(-1)?.data ?? {}) as { queue?: string };
    assert.equal(queue, "followed");
  });

  test("orders queues and lists what there is", async () => {
    await assert.rejects(http.orderQueue("ordered", "pause"), { code: "not_found", status: 404 });
    assert.equal((await http.orderQueue("ordered", "pause", { create: true })).paused, true);
    assert.ok((await http.queues()).some(({ name, paused }) => name === "ordered" && paused));
    assert.equal((await http.orderQueue("ordered", "resume")).paused, false);
    assert.deepEqual(await http.doors(), yard.doors);
  });

  test("reports a missing dispatcher, an unknown queue and a wrong name", async () => {
    const nobody = await connect("http://127.0.0.1:1");
    await assert.rejects(
      nobody.queues(),
      (fault) => fault instanceof UnreachableError && fault.code === "unreachable",
    );
    await nobody.close();
    await assert.rejects(http.submit("x"), (fault) => fault instanceof ArgumentError);
    await assert.rejects(http.submit("x", { queue: "a b" }), { code: "bad_request", status: 400 });
    await assert.rejects(http.submit("x", { queue: "../doors" }), { status: 400 });
  });
});

describe("the http worker's signal", patience, () => {
  /** A task, and a worker whose handler only waits for its signal. */
  async function held(queue: string, options: object) {
    const begun = new Inbox<WorkContext>();
    const reasons = new Inbox<InterruptedError>();
    const worker = await work(yard.url, { queue, ...options }, async (_payload, context) => {
      begun.put(context);
      const reason = await interrupted(context);
      reasons.put(reason);
      throw reason;
    });
    const { id } = await http.submit("x", { queue });
    return { worker, id, context: await begun.next(), reasons };
  }

  test("fires on cancel, and the worker goes on with the next", async () => {
    const { worker, id, context, reasons } = await held("signal-cancel", { leaseMs: 30_000 });
    await http.cancel(id);
    // A heartbeat notices it at once; otherwise the next one would.
    await context.beat();
    assert.equal((await reasons.next()).code, "cancelled");
    await worker.stop({ graceMs: 0 });
  });

  test("fires on a lost lease: without beats the task goes to another", async () => {
    const lost = new Inbox<InterruptedError>();
    const contexts = new Inbox<WorkContext>();
    const slow = await work(
      yard.url,
      { queue: "signal-lost", leaseMs: 200, beats: "manual" },
      async (_payload, context) => {
        contexts.put(context);
        lost.put(await interrupted(context));
        return "too late";
      },
    );
    const { id } = await http.submit("x", { queue: "signal-lost", attempts: 5 });
    const context = await contexts.next();
    const other = await work(yard.url, { queue: "signal-lost" }, () => "by another");
    assert.equal((await http.result(id)).text(), "by another");
    await context.beat();
    assert.equal((await lost.next()).code, "lost");
    await Promise.all([slow.stop(), other.stop()]);
    assert.match(JSON.stringify((await http.task(id)).story), /lost: lease_over/);
  });

  // A heartbeat is due every third of it. Other work on the machine may delay it.
  const beatenMs = 1_500;

  test("beats by itself: a handler that takes longer than its lease keeps it", async () => {
    const worker = await work(yard.url, { queue: "beating", leaseMs: beatenMs }, async () => {
      await new Promise((resolve) => setTimeout(resolve, 2 * beatenMs));
      return "kept";
    });
    const { id } = await http.submit("x", { queue: "beating", attempts: 1 });
    assert.equal((await http.result(id)).text(), "kept");
    await worker.stop();
  });

  test("fires when it stops and the time of grace is over; the task is another's at once", async () => {
    const { worker, id, reasons } = await held("signal-stop", { leaseMs: 60_000, name: "quitter" });
    const stopped = worker.stop({ graceMs: 50 });
    assert.equal((await reasons.next()).code, "stopping");
    await stopped;
    const other = await work(yard.url, { queue: "signal-stop" }, () => "by another");
    assert.equal((await http.result(id, { waitMs })).text(), "by another");
    await other.stop();
    const story = JSON.stringify((await http.task(id)).story);
    assert.match(story, /returned: goodbye/);
    assert.doesNotMatch(story, /lost/);
    // It said goodbye, so it is neither present nor lost.
    const workers = await (await fetch(`${yard.url}/v1/workers`)).text();
    assert.doesNotMatch(workers, /http\/quitter/);
    const next = await http.submit("x", { queue: "signal-stop" });
    assert.equal((await http.task(next.id)).why?.message, "No worker serves queue signal-stop.");
  });

  test("fires at the time limit, which fails the attempt even if nobody listens", async () => {
    const worker = await work(yard.url, { queue: "limited", timeoutMs: 50 }, () => new Promise(() => {}));
    await assert.rejects(http.call("x", { queue: "limited" }), { code: "time_limit", state: "failed" });
    await worker.stop();
  });

  test("drained by the dispatcher it finishes, and ends by itself", async () => {
    const begun = new Inbox<() => void>();
    const worker = await work(
      yard.url,
      { queue: "drained", name: "bob" },
      () => new Promise<string>((resolve) => begun.put(() => resolve("finished"))),
    );
    const { id } = await http.submit("x", { queue: "drained" });
    const finish = await begun.next();
    await http.drainWorker("http/bob");
    finish();
    await worker.ended;
    assert.equal((await http.result(id)).text(), "finished");
  });

  test("a dispatcher that is away is tried again; a refusal that stays ends it", async () => {
    const faults = new Inbox<YardError>();
    const waiting = await work(
      "http://127.0.0.1:1",
      { queue: "q", onError: (fault) => faults.put(fault as YardError) },
      () => "",
    );
    assert.equal((await faults.next()).code, "unreachable");
    await waiting.stop();
    const refused = await work(yard.url, { queue: "a b" }, () => "");
    await assert.rejects(refused.ended, { code: "bad_request" });
  });
});
