// `yardmaster bench`: measures the throughput of a running dispatcher from this machine.

import { randomBytes } from "node:crypto";
import {
  Body,
  connect,
  dialectTable,
  inOrder,
  type SubmitItem,
  work,
  type YardClient,
  YardError,
} from "@yardmaster/sdk";
import type { Command } from "commander";
import { count, counted, span, wholeNumber } from "../amounts.js";
import {
  CommandFault,
  defaultUrl,
  ending,
  type HttpFlags,
  httpCredentials,
  newCommand,
  print,
  printJson,
  using,
  warn,
  withJson,
  withToken,
} from "../command.js";
import { ifListening } from "../listener.js";
import { Progress } from "../progress.js";
import { exitCodeOf, hearSignals } from "../signals.js";

interface Flags extends HttpFlags {
  readonly json?: boolean;
  readonly count: number;
  readonly bytes: number;
  readonly concurrency: number;
  readonly work?: string;
  readonly queue?: string;
}

export function benchCommand(): Command {
  const command = newCommand("bench", "measure a dispatcher that is running", [
    { does: "ten thousand tasks over http", line: "yardmaster bench" },
    {
      does: "larger tasks, and more of them at once",
      line: "yardmaster bench --count 2000 --bytes 100000 --concurrency 256",
    },
    {
      does: "through another door, which has separate ports for clients and workers",
      line: "yardmaster bench pingpong://127.0.0.1:5562 --work pingpong://127.0.0.1:5563",
    },
  ])
    .description(
      `Measures a running dispatcher: submits tasks and runs them in this process, and
prints the rate and the latency. First it submits as fast as tasks are accepted,
and then runs them (if the door acknowledges tasks). After that it waits for each
task, with --concurrency tasks at once. Over http the tasks go to a new queue.
Other doors have one queue, which nothing else should use meanwhile. Ctrl-C ends
it, and cancels what waits in the new queue.`,
    )
    .argument("[url]", "where tasks are submitted", process.env.YARD_URL || defaultUrl)
    .option("-n, --count <number>", "number of tasks", wholeNumber(1, 10_000_000), 10_000)
    .option("--bytes <number>", "size of each payload", wholeNumber(0, 268_435_456), 100)
    .option("-c, --concurrency <number>", "tasks at once, and slots of the worker", wholeNumber(1, 1000), 64)
    .option("--work <url>", "URL of the door for the worker (default: the same as for submitting)")
    .option("-q, --queue <name>", "over http: this queue instead of a new one");
  return withJson(withToken(command), "print one JSON object").action(ending(bench));
}

interface Figures {
  tasks: number;
  payloadBytes: number;
  concurrency: number;
  submittedPerSecond?: number;
  doneOfThosePerSecond?: number;
  roundTripsPerSecond: number;
  latencyMs: { p50: number; p90: number; p99: number; max: number };
}

async function bench(url: string, flags: Flags): Promise<number> {
  return using(await connect(url, httpCredentials(flags)), async (client) => {
    const signals = hearSignals();
    const stopping = new AbortController();
    const queue = flags.queue ?? `bench-${randomBytes(4).toString("hex")}`;
    const measuring = ifListening(client, measured(client, url, flags, { queue, stop: stopping.signal }));
    const figures = await Promise.race([measuring, signals.first]);
    if (typeof figures === "string") {
      void signals.second.then((signal) => process.exit(exitCodeOf(signal)));
      stopping.abort();
      await measuring.catch(() => {});
      if (flags.queue === undefined && client.dialect === "http") await clear(client, queue);
      return exitCodeOf(figures);
    }
    if (flags.json) printJson(figures);
    else for (const line of linesOf(figures)) print(line);
    return 0;
  });
}

/** A queue of its own must not stay full of tasks that nobody will run. */
async function clear(client: YardClient, queue: string): Promise<void> {
  try {
    const { id } = await client.purge(queue);
    const { done } = await client.actionEnd(id);
    warn(`yardmaster bench: interrupted; ${counted(done, "task")} of queue ${queue} cancelled`);
  } catch (fault) {
    // Nothing was submitted yet, or all of it was run.
    if (!(fault instanceof YardError && fault.code === "not_found")) throw fault;
  }
}

interface Run {
  readonly queue: string;
  readonly stop: AbortSignal;
}

/** Rejects when it is stopped. */
async function measured(
  client: YardClient,
  url: string,
  flags: Flags,
  { queue: own, stop }: Run,
): Promise<Figures> {
  const queueFor = (scheme: string) => (dialectTable[scheme]?.hasQueues ? { queue: own } : {});
  const workUrl = flags.work ?? url;
  const figures: Figures = {
    tasks: flags.count,
    payloadBytes: flags.bytes,
    concurrency: flags.concurrency,
    roundTripsPerSecond: 0,
    latencyMs: { p50: 0, p90: 0, p99: 0, max: 0 },
  };
  const queue = queueFor(client.address.scheme);
  const worked = new Worked(flags.count);
  stop.addEventListener("abort", () => worked.fail(stop.reason));
  if (client.dialect === "http")
    figures.submittedPerSecond = await submitted(client, flags, { ...queue, stop });
  stop.throwIfAborted();
  const startedAt = performance.now();
  const worker = await work(
    workUrl,
    {
      ...queueFor(workUrl.split(":")[0] ?? ""),
      ...httpCredentials(flags),
      concurrency: flags.concurrency,
    },
    (payload) => {
      worked.add();
      return payload;
    },
  );
  worker.ended.catch((fault) => worked.fail(fault));
  try {
    if (figures.submittedPerSecond !== undefined) {
      await worked.all;
      figures.doneOfThosePerSecond = perSecond(flags.count, performance.now() - startedAt);
    }
    await roundTrips(client, flags, { ...queue, signal: stop }, figures);
  } finally {
    await worker.stop({ graceMs: 0 });
  }
  return figures;
}

/** Resolves when the given number of tasks has reached the worker. */
class Worked {
  readonly all: Promise<void>;
  readonly #progress = new Progress("tasks done");
  readonly #total: number;
  #number = 0;
  #resolve: () => void = () => {};
  fail: (fault: Error) => void = () => {};

  constructor(total: number) {
    this.#total = total;
    this.all = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.fail = reject;
    });
    this.all.catch(() => {});
  }

  add(): void {
    this.#number += 1;
    if (this.#number > this.#total) return;
    this.#progress.show(this.#number, this.#number / this.#total);
    if (this.#number < this.#total) return;
    this.#progress.clear();
    this.#resolve();
  }
}

function payloadOf({ bytes }: Flags): Body {
  return new Body(Buffer.alloc(bytes, "x"), "text/plain");
}

function* items(flags: Flags): Generator<SubmitItem> {
  const payload = payloadOf(flags);
  for (let index = 0; index < flags.count; index += 1) yield { payload };
}

async function submitted(client: YardClient, flags: Flags, queue: object): Promise<number> {
  const progress = new Progress("tasks submitted");
  let number = 0;
  for await (const { error } of client.submitMany(items(flags), queue)) {
    if (error) throw new CommandFault(`a task was refused: ${error.message}`, { cause: error });
    number += 1;
    progress.show(number, number / flags.count);
  }
  progress.clear();
  return perSecond(number, progress.elapsedMs);
}

async function roundTrips(client: YardClient, flags: Flags, queue: object, figures: Figures): Promise<void> {
  const progress = new Progress("round trips");
  const times: number[] = [];
  const outcomes = inOrder(items(flags), flags.concurrency, async ({ payload }) => {
    const startedAt = performance.now();
    const { body } = await client.call(payload, queue);
    times.push(performance.now() - startedAt);
    if (body.bytes.length !== flags.bytes && client.dialect !== "udp") {
      throw new YardError(
        "wrong_result",
        "a result differs from the payload of its task; does another worker serve this queue?",
      );
    }
  });
  for await (const _ of outcomes) progress.show(times.length, times.length / flags.count);
  progress.clear();
  figures.roundTripsPerSecond = perSecond(times.length, progress.elapsedMs);
  times.sort((a, b) => a - b);
  const at = (share: number) =>
    Number((times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? 0).toFixed(2));
  figures.latencyMs = { p50: at(0.5), p90: at(0.9), p99: at(0.99), max: at(1) };
}

function perSecond(number: number, ms: number): number {
  return Math.round((number / Math.max(ms, 0.001)) * 1000);
}

function linesOf(figures: Figures): string[] {
  const { tasks, payloadBytes, concurrency, submittedPerSecond, doneOfThosePerSecond, latencyMs } = figures;
  return [
    `${count(tasks)} tasks of ${count(payloadBytes)} bytes, ${concurrency} at once`,
    ...(submittedPerSecond === undefined
      ? []
      : [`  submitted    ${count(submittedPerSecond)}/s (in batches)`]),
    ...(doneOfThosePerSecond === undefined ? [] : [`  run          ${count(doneOfThosePerSecond)}/s`]),
    `  round trips  ${count(figures.roundTripsPerSecond)}/s`,
    `  latency      p50 ${span(latencyMs.p50)}  p90 ${span(latencyMs.p90)}  p99 ${span(latencyMs.p99)}  max ${span(latencyMs.max)}`,
  ];
}
