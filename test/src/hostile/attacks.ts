// The attacks of hostile peers. Each attack is one peer or one address, without credentials.
// `scale` makes it smaller for tests. An attack ends when it has sent everything; its connections
// stay open until its process ends.

import { createSocket } from "node:dgram";
import type { Socket } from "node:net";
import { MORE } from "@yardmaster/zmtp";
import type { urlsOf } from "./load-target.js";
import { httpRequest, openDealer, openMute, openSocket, writeAll, zmqMessage } from "./raw-clients.js";
import { pause } from "./service.js";

export interface Target {
  readonly urls: ReturnType<typeof urlsOf>;
  /** Addresses of each door, from the ready line. */
  readonly doors: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** How long a submitted task may wait, such as `30s`; without a limit if absent. */
  readonly expires?: string;
}

/** Resolves with the number of bytes sent. */
export type Attack = (target: Target, scale: number) => Promise<number>;

const MB = 1_000_000;

/** Endless messages of one-byte frames. */
const frames: Attack = async ({ doors }, scale) => {
  const connections = 22;
  const count = Math.ceil(990_000 * scale);
  const frame = Buffer.from([MORE, 1, 65]);
  const chunk = Buffer.alloc(frame.length * 10_000, frame);
  const address = doors.scaler?.listen ?? "";
  let sent = 0;
  await Promise.all(
    Array.from({ length: connections }, async () => {
      const socket = await openDealer(address);
      for (let left = count; left > 0; left -= 10_000) {
        if (!(await writeAll(socket, chunk))) return;
        sent += chunk.length;
      }
    }),
  );
  return sent;
};

/** Frames announced as large, sent without their last byte, and never finished. */
const unfinished: Attack = async ({ doors }, scale) => {
  const size = Math.ceil(200 * MB * scale);
  const head = Buffer.alloc(9);
  head[0] = 2;
  head.writeBigUInt64BE(BigInt(size), 1);
  const chunk = Buffer.alloc(64 * 1024);
  let sent = 0;
  const addresses = [doors.pingpong?.clients, doors.pingpong?.workers, doors.scaler?.listen];
  await Promise.all(
    [...addresses, ...addresses].map(async (address) => {
      const socket = await openDealer(address ?? "");
      await writeAll(socket, head);
      for (let left = size - 1; left > 0; left -= chunk.length) {
        if (!(await writeAll(socket, chunk.subarray(0, Math.min(left, chunk.length))))) return;
        sent += chunk.length;
      }
    }),
  );
  return sent;
};

/** One batch item whose payload is a very large JSON value made of very small ones. */
const jsonBomb: Attack = async ({ urls }, scale) => {
  const size = Math.ceil(150 * MB * scale);
  const socket = await openSocket(urls.http);
  const head = Buffer.from('{"payload":[{}');
  const tail = Buffer.from("]}");
  const unit = ",{}";
  const units = Buffer.alloc(unit.length * 20_000, unit);
  const chunks = Math.floor(size / units.length);
  const length = head.length + tail.length + chunks * units.length;
  const { host } = new URL(urls.http);
  socket.write(
    `POST /v1/queues/bomb/tasks:batch HTTP/1.1\r\nHost: ${host}\r\nContent-Type: application/x-ndjson\r\nContent-Length: ${length}\r\n\r\n`,
  );
  socket.resume();
  await writeAll(socket, head);
  for (let chunk = 0; chunk < chunks; chunk += 1) if (!(await writeAll(socket, units))) return 0;
  await writeAll(socket, tail);
  await firstAnswer(socket);
  return length;
};

/** Large answers, requested at once over a few connections and never read. */
const pipelined: Attack = async ({ urls }, scale) => {
  await submitBatch(urls.http, "pipelined", Math.ceil(1000 * Math.min(1, scale * 4)), "x".repeat(100));
  const { host } = new URL(urls.http);
  const count = Math.ceil(1000 * scale);
  let sent = 0;
  for (const path of ["/v1/tasks?limit=1000", "/openapi.json"]) {
    const socket = await openMute(urls.http);
    const requests = httpRequest("GET", path, host).repeat(count);
    sent += requests.length;
    socket.write(requests);
  }
  await pause(5_000 * Math.max(scale, 0.5));
  return sent;
};

/** Many listeners that request the event stream and never read it, while the snapshot is large. */
const muteListeners: Attack = async ({ urls }, scale) => {
  const { host } = new URL(urls.http);
  const queues = Math.ceil(2000 * Math.min(1, 2 * scale));
  const talker = await openSocket(urls.http);
  talker.resume();
  for (let queue = 0; queue < queues; queue += 1) {
    const path = `/v1/queues/q-${"x".repeat(100)}-${queue}:claim?worker=${"w".repeat(100)}-${queue}&lease=1h`;
    if (!(await writeAll(talker, Buffer.from(httpRequest("POST", path, host, ""))))) break;
  }
  await pause(2_000);
  let sent = 0;
  const listeners = Math.ceil(1500 * scale);
  for (let listener = 0; listener < listeners; listener += 1) {
    const socket = await openMute(urls.http);
    const request = httpRequest("GET", "/v1/events", host);
    sent += request.length;
    socket.write(request);
  }
  await pause(5_000 * Math.max(scale, 0.5));
  return sent;
};

/** One object, named very often in one request. */
const objectRequest: Attack = async ({ doors }, scale) => {
  const identity = "hostile-reader";
  const socket = await openDealer(doors.scaler?.listen ?? "", identity);
  socket.pause();
  const counts = Buffer.alloc(12);
  counts.writeUInt32LE(1, 0);
  counts.writeUInt32LE(1, 4);
  counts.writeUInt32LE(1, 8);
  const object = Buffer.alloc(8_000, "o");
  const create = zmqMessage(["OI", "C", identity, counts, "object", "name", object]);
  const names = new Array<string>(Math.ceil(250_000 * scale)).fill("object");
  const ask = zmqMessage(["OR", "A", ...names]);
  const asks = zmqMessage(["OR", ...names]);
  await writeAll(socket, Buffer.concat([create, asks, ask]));
  await pause(5_000 * Math.max(scale, 0.5));
  return create.length + asks.length + ask.length;
};

/** Tasks whose arguments are objects that were never created. */
const unknownObjects: Attack = async ({ doors }, scale) => {
  const identity = "hostile-client";
  const socket = await openDealer(doors.scaler?.listen ?? "", identity);
  socket.resume();
  const perTask = 10_000;
  const tasks = Math.ceil(420 * scale);
  let sent = 0;
  let next = 0;
  for (let task = 0; task < tasks; task += 1) {
    const frames: (string | Buffer)[] = ["TK", `task-${task}`, identity, Buffer.alloc(0), "f"];
    for (let each = 0; each < perTask; each += 1) frames.push("R", (next++).toString(36));
    const message = zmqMessage(frames);
    sent += message.length;
    if (!(await writeAll(socket, message))) break;
  }
  await pause(5_000 * Math.max(scale, 0.5));
  return sent;
};

/**
 * One graph with as many tasks as a message can hold, all of which could run at once. Their objects
 * do not exist.
 */
const graph: Attack = async ({ doors }, scale) => {
  const identity = "hostile-grapher";
  const socket = await openDealer(doors.scaler?.listen ?? "", identity);
  socket.resume();
  const nodes = Math.ceil(140_000 * scale);
  const count = (value: number) => Buffer.from(Uint32Array.of(value).buffer);
  const frames: (string | Buffer)[] = ["GT", `graph-${process.pid}`, identity, count(0)];
  for (let node = 0; node < nodes; node += 1)
    frames.push(count(6), `${process.pid}-${node}`, identity, "", "f", "R", "argument");
  const message = zmqMessage(frames);
  await writeAll(socket, message);
  await pause(5_000 * Math.max(scale, 0.5));
  return message.length;
};

/** The largest message of each type that scaler reads: as many short frames as it may have. */
const manyFrames: Attack = async ({ doors }, scale) => {
  const identity = `hostile-${process.pid}`;
  const socket = await openDealer(doors.scaler?.listen ?? "", identity);
  socket.resume();
  const total = Math.ceil(980_000 * scale);
  const names = Array.from({ length: total }, (_, index) => index.toString(36));
  const counts = (...values: number[]) => Buffer.from(Uint32Array.from(values).buffer);
  const kept = names.slice(0, Math.floor(total / 3));
  const messages: (string | Buffer)[][] = [
    ["OI", "C", identity, counts(kept.length, kept.length, kept.length), ...kept, ...kept, ...kept],
    ["OR", "A", ...names],
    ["OI", "D", identity, counts(names.length, 0, 0), ...names],
    ["TK", "task", identity, "", "f", ...names.flatMap((name) => ["R", name]).slice(-total)],
    ["BR", ...names],
    ["TR", "task", "S", "", ...names],
    ["ZZ", ...names],
    ["CS", "D"],
  ];
  let sent = 0;
  for (const frames of messages) {
    const message = zmqMessage(frames);
    sent += message.length;
    if (!(await writeAll(socket, message))) break;
  }
  await pause(5_000 * Math.max(scale, 0.5));
  return sent;
};

/** Claims, each under a different name, with the longest lease. */
const claims: Attack = async ({ urls }, scale) => {
  const count = Math.ceil(100_000 * scale);
  return pipelineRequests(
    urls.http,
    count,
    (index) => `/v1/queues/hostile-claims:claim?worker=w-${index}&lease=24h`,
  );
};

/** Orders to queues that are not in use. */
const pauses: Attack = async ({ urls }, scale) => {
  const count = Math.ceil(10_000 * scale);
  return pipelineRequests(urls.http, count, (index) => `/v1/queues/invented-${index}:pause`);
};

/** Tasks in many queues, each within the limits of its queue. */
const tasks: Attack = async ({ urls, expires }, scale) => {
  const payload = "t".repeat(2_000);
  let sent = 0;
  for (let queue = 0; queue < Math.ceil(1_000 * scale); queue += 1) {
    const status = await submitBatch(urls.http, `filled-${queue % 100}`, 1_000, payload, expires);
    if (status === 0) break;
    sent += 1_000 * payload.length;
  }
  return sent;
};

/** Connections that send nothing, or half of their first message. */
const halfOpen: Attack = async ({ doors, urls }, scale) => {
  const addresses = [
    ...[doors.pingpong?.clients, doors.pingpong?.workers, doors.scaler?.listen],
    ...[doors.monique?.in, doors.monique?.out],
    urls.http,
  ];
  for (let round = 0; round < Math.ceil(300 * scale); round += 1) {
    for (const address of addresses) {
      const socket = await openSocket(address ?? "");
      socket.write(address === urls.http ? "GET / HTTP/1.1\r\nHost" : Buffer.from([0xff, 0, 0, 0]));
    }
  }
  await pause(3_000 * Math.max(scale, 0.3));
  return 0;
};

/**
 * Datagrams from many ports: calculators that never accept work, one task per port sent again and
 * again, and deep nesting. It submits few tasks, because they would delay those of the load in the
 * door's only queue; `tasks` covers that.
 */
const datagrams: Attack = async ({ doors }, scale) => {
  const [host = "127.0.0.1", port] = (doors.udp?.client_address ?? "").split(":");
  let sent = 0;
  const sockets = Array.from({ length: 50 }, () => createSocket("udp4"));
  for (let round = 0; round < Math.ceil(20_000 * scale); round += 1) {
    for (const socket of sockets) {
      const datagram = Buffer.from(datagramOf(round));
      socket.send(datagram, Number(port), host);
      sent += datagram.length;
    }
    await pause(5);
    if (round % 3 === 0 && sent > 40 * MB * scale) break;
  }
  return sent;
};

function datagramOf(round: number): string {
  const packet = { packet_type: 1, transmission_id: round };
  switch (round % 3) {
    case 0:
      return JSON.stringify({ method: "add_task", ...packet, params: { task_id: 1, text: "x".repeat(400) } });
    case 1:
      return JSON.stringify({ method: "heartbeat", ...packet, params: { status: "busy" } });
    default:
      return "[".repeat(1_000);
  }
}

export const attacks: Readonly<Record<string, Attack>> = {
  frames,
  unfinished,
  "json-bomb": jsonBomb,
  pipelined,
  "mute-listeners": muteListeners,
  "object-request": objectRequest,
  "unknown-objects": unknownObjects,
  graph,
  "many-frames": manyFrames,
  claims,
  pauses,
  tasks,
  "half-open": halfOpen,
  datagrams,
};

/**
 * Sends requests without a body over a few connections, as fast as they are answered. Returns the
 * bytes sent.
 */
async function pipelineRequests(
  url: string,
  count: number,
  pathOf: (index: number) => string,
): Promise<number> {
  const { host } = new URL(url);
  const connections = 4;
  let next = 0;
  let sent = 0;
  await Promise.all(
    Array.from({ length: connections }, async () => {
      const socket = await openSocket(url);
      socket.resume();
      while (next < count && !socket.destroyed) {
        let requests = "";
        for (let each = 0; each < 100 && next < count; each += 1)
          requests += httpRequest("POST", pathOf(next++), host, "");
        sent += requests.length;
        const answered = answersOf(socket, 100);
        if (!(await writeAll(socket, Buffer.from(requests)))) return;
        await Promise.race([answered, pause(5_000)]);
      }
    }),
  );
  return sent;
}

/** Resolves when this many answers have arrived, or the connection is closed. */
function answersOf(socket: Socket, count: number): Promise<void> {
  return new Promise((resolve) => {
    let left = count;
    const take = (chunk: Buffer) => {
      left -= chunk.toString("latin1").split("HTTP/1.1 ").length - 1;
      if (left > 0) return;
      socket.off("data", take);
      resolve();
    };
    socket.on("data", take);
    socket.once("close", resolve);
  });
}

/** Returns the status of the answer; 0 if there was none. */
async function submitBatch(
  url: string,
  queue: string,
  count: number,
  payload: string,
  expires?: string,
): Promise<number> {
  const line = `${JSON.stringify({ payload, expires })}\n`;
  try {
    const response = await fetch(`${url}/v1/queues/${queue}/tasks:batch`, {
      method: "POST",
      body: line.repeat(count),
    });
    await response.arrayBuffer();
    return response.status;
  } catch {
    return 0;
  }
}

async function firstAnswer(socket: Socket): Promise<void> {
  if (socket.destroyed) return;
  await Promise.race([
    new Promise((resolve) => socket.once("data", resolve)),
    new Promise((resolve) => socket.once("close", resolve)),
    pause(90_000),
  ]);
}
