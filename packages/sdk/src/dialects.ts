// The table of dialects: for each URL scheme, its client and its worker. A new dialect is a new
// entry.

import { readAddresses, type YardAddress, type YardUrls } from "./address.js";
import type { ConnectOptions, YardClient } from "./client.js";
import { ArgumentError, UnsupportedError } from "./errors.js";
import { HttpClient } from "./http/client.js";
import { HttpWorker } from "./http/worker.js";
import { connectMonique, workMonique } from "./monique/dialect.js";
import { checkTimes, connectOptions, refuseUnknownOptions, workOptions } from "./options.js";
import { connectPingpong, workPingpong } from "./pingpong/dialect.js";
import { workPulse } from "./pulse/dialect.js";
import { connectScaler, workScaler } from "./scaler/dialect.js";
import { type JobMap, JobQueue, type QueueDefinition, type TypedClient } from "./typed.js";
import { connectUdp, workUdp } from "./udp/dialect.js";
import type { RunningWorker, WorkHandler, WorkOptions } from "./worker.js";

/** What a scheme of URLs means to a client and to a worker. */
export interface DialectEntry {
  /** Default port. */
  readonly port?: number;
  /** An example URL. */
  readonly example: string;
  /** True if a worker names the queue that it serves; otherwise the door has only one. */
  readonly hasQueues: boolean;
  /** True if it is spoken over ZeroMQ, whose credentials are PLAIN and CURVE. */
  readonly isZmq?: boolean;
  /** Absent if the dialect has no clients. */
  readonly connect?: (address: YardAddress, options: ConnectOptions) => YardClient | Promise<YardClient>;
  readonly work: (
    address: YardAddress,
    options: WorkOptions,
    handler: WorkHandler,
  ) => RunningWorker | Promise<RunningWorker>;
}

const http: DialectEntry = {
  port: 7420,
  example: "http://127.0.0.1:7420",
  hasQueues: true,
  connect: (address, options) => new HttpClient(address, options),
  work: (address, options, handler) => new HttpWorker(address, options, handler),
};

/** Every dialect by the scheme of its URLs. */
export const dialectTable: Readonly<Record<string, DialectEntry>> = {
  http,
  https: { ...http, port: 443, example: "https://yard.example" },
  pingpong: {
    example: "pingpong://127.0.0.1:5562",
    hasQueues: false,
    isZmq: true,
    connect: connectPingpong,
    work: workPingpong,
  },
  udp: { port: 5555, example: "udp://127.0.0.1:5555", hasQueues: false, connect: connectUdp, work: workUdp },
  monique: {
    port: 9000,
    example: "monique://127.0.0.1:9000?out=9001&worker=10000",
    hasQueues: true,
    isZmq: true,
    connect: connectMonique,
    work: workMonique,
  },
  pulse: { example: "pulse:/run/controller", hasQueues: false, work: workPulse },
  scaler: {
    port: 8516,
    example: "scaler://127.0.0.1:8516",
    hasQueues: false,
    isZmq: true,
    connect: connectScaler,
    work: workScaler,
  },
};
// Any word may be looked up as a scheme, including `constructor`, so the table inherits nothing.
Object.setPrototypeOf(dialectTable, null);

/**
 * Connects to the dispatcher at a URL, whose scheme selects the dialect. Of several http URLs,
 * requests go to the dispatcher that owns the yard.
 */
export function connect(url: YardUrls, options?: ConnectOptions): Promise<YardClient>;
/** The same with typed payloads and results by queue: `connect<Jobs>(url)`. */
export function connect<Jobs extends JobMap<Jobs>>(
  url: YardUrls,
  options?: ConnectOptions,
): Promise<TypedClient<Jobs>>;
export async function connect(url: YardUrls, options: ConnectOptions = {}): Promise<never> {
  const { address, entry } = entryOf(url);
  refuseUnknownOptions("connect", options, connectOptions);
  checkTimes({ submitDelayMs: options.submitDelayMs });
  if (!entry.connect) {
    throw new UnsupportedError(
      address.scheme,
      "submit tasks",
      "it has workers only; use the http door for it",
    );
  }
  refuseCredentials(address, entry, options);
  // The overloads say what it is.
  return (await entry.connect(address, options)) as never;
}

/**
 * Runs a worker for the dispatcher at a URL, whose scheme selects the dialect, until it is stopped.
 * Of several http URLs, it works for the dispatcher that owns the yard.
 */
export async function work(
  url: YardUrls,
  options: WorkOptions,
  handler: WorkHandler,
): Promise<RunningWorker> {
  const { address, entry } = entryOf(url);
  refuseUnknownOptions("work", options, workOptions);
  const { concurrency = 1, queue, queues, leaseMs, timeoutMs } = options;
  checkTimes({ leaseMs, timeoutMs });
  if (typeof handler !== "function")
    throw new ArgumentError("bad_argument", `handler: expected a function, found ${typeof handler}`);
  if (!Number.isInteger(concurrency) || concurrency < 1) {
    throw new ArgumentError(
      "bad_argument",
      `concurrency: expected a whole number from 1, found ${concurrency}`,
    );
  }
  if (queues !== undefined && address.scheme !== "http" && address.scheme !== "https")
    throw new UnsupportedError(address.scheme, "serve several queues");
  if (queue !== undefined && !entry.hasQueues) {
    const advice = `its door has one, set by doors.${address.scheme}.queue of the dispatcher`;
    throw new UnsupportedError(address.scheme, "choose a queue", advice);
  }
  refuseCredentials(address, entry, options);
  return entry.work(address, options, handler);
}

/**
 * A queue as a value that clients and workers share: its name, the types of its payloads and
 * results, and validators for them.
 */
export function defineQueue<Payload = unknown, Result = unknown>(
  name: string,
  definition: QueueDefinition<Payload, Result> = {},
): JobQueue<Payload, Result> {
  return new JobQueue(name, definition, work);
}

/** Credentials that are not shown would give a false sense of security. */
function refuseCredentials(
  { scheme }: YardAddress,
  { isZmq = false }: DialectEntry,
  { security }: Pick<ConnectOptions, "security">,
): void {
  if (security === undefined || isZmq) return;
  throw new UnsupportedError(scheme, "authenticate with PLAIN or CURVE", "these are of ZeroMQ's dialects");
}

function entryOf(urls: YardUrls) {
  const address = readAddresses(urls, dialectTable);
  return { address, entry: dialectTable[address.scheme] as DialectEntry };
}
