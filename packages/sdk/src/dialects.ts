// The table of dialects: what a URL's scheme means to a client and to a worker. One more dialect is one more entry.

import { readAddress, type YardAddress } from "./address.js";
import type { ConnectOptions, YardClient } from "./client.js";
import { ArgumentError, UnsupportedError } from "./errors.js";
import { HttpClient } from "./http/client.js";
import { HttpWorker } from "./http/worker.js";
import { connectMonique, workMonique } from "./monique/dialect.js";
import { connectPingpong, workPingpong } from "./pingpong/dialect.js";
import { workPulse } from "./pulse/dialect.js";
import { connectScaler, workScaler } from "./scaler/dialect.js";
import { connectUdp, workUdp } from "./udp/dialect.js";
import type { RunningWorker, WorkHandler, WorkOptions } from "./worker.js";

export interface DialectEntry {
  /** Of a URL without one. */
  readonly port?: number;
  /** A URL as an example. */
  readonly example: string;
  /** A worker serves the queue that it names; elsewhere the door has one. */
  readonly hasQueues: boolean;
  /** Absent where the dialect has no clients. */
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

export const dialectTable: Readonly<Record<string, DialectEntry>> = {
  http,
  https: { ...http, port: 443, example: "https://yard.example" },
  pingpong: {
    example: "pingpong://127.0.0.1:5562",
    hasQueues: false,
    connect: connectPingpong,
    work: workPingpong,
  },
  udp: { port: 5555, example: "udp://127.0.0.1:5555", hasQueues: false, connect: connectUdp, work: workUdp },
  monique: {
    port: 9000,
    example: "monique://127.0.0.1:9000?out=9001&worker=10000",
    hasQueues: true,
    connect: connectMonique,
    work: workMonique,
  },
  pulse: { example: "pulse:/run/controller", hasQueues: false, work: workPulse },
  scaler: {
    port: 8516,
    example: "scaler://127.0.0.1:8516",
    hasQueues: false,
    connect: connectScaler,
    work: workScaler,
  },
};
// Any word may be looked up as a scheme, `constructor` among them: so the table inherits nothing.
Object.setPrototypeOf(dialectTable, null);

/** A client of the dispatcher at a URL, whose scheme picks the dialect. */
export async function connect(url: string, options: ConnectOptions = {}): Promise<YardClient> {
  const { address, entry } = entryOf(url);
  if (!entry.connect) {
    throw new UnsupportedError(
      address.scheme,
      "hand in tasks",
      "it has workers only; use the http door for it",
    );
  }
  return entry.connect(address, options);
}

/** Works for the dispatcher at a URL, whose scheme picks the dialect, until it is stopped. */
export async function work(url: string, options: WorkOptions, handler: WorkHandler): Promise<RunningWorker> {
  const { address, entry } = entryOf(url);
  const { concurrency = 1, queue } = options;
  if (!Number.isInteger(concurrency) || concurrency < 1) {
    throw new ArgumentError(
      "bad_argument",
      `concurrency: expected a whole number from 1, found ${concurrency}`,
    );
  }
  if (queue !== undefined && !entry.hasQueues) {
    const advice = `its door has one, set by doors.${address.scheme}.queue of the dispatcher`;
    throw new UnsupportedError(address.scheme, "choose a queue", advice);
  }
  return entry.work(address, options, handler);
}

function entryOf(url: string) {
  const address = readAddress(url, dialectTable);
  return { address, entry: dialectTable[address.scheme] as DialectEntry };
}
