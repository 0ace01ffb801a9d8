// For tests of the scaler door: a whole yard in memory behind a real socket, and workers and
// clients that send what the test says, as frames or as messages.

import { scaler } from "@yardmaster/dialects";
import { Dealer } from "@yardmaster/zmtp";
import { Tap } from "../door-kit/tap.js";
import type { MakeRouter } from "../door-kit/zmq.js";
import { ScalerDoor } from "../doors/scaler.js";
import type { DoorConfig } from "../registry/doors.js";
import { DoorYard } from "./door-yard.js";
import { type MemoryRuntimeOptions, until } from "./memory-runtime.js";

export interface ScalerYardOptions extends MemoryRuntimeOptions {
  readonly config?: Partial<DoorConfig<"scaler">>;
  readonly makeRouter?: MakeRouter;
  readonly tap?: Tap;
  readonly recoveryMs?: number;
}

export class ScalerYard extends DoorYard {
  readonly door: ScalerDoor;
  readonly #peers: ScalerPeer[] = [];
  address = "";

  constructor({ config, makeRouter, tap = new Tap(), recoveryMs, ...options }: ScalerYardOptions = {}) {
    super("scaler", options);
    this.door = new ScalerDoor({
      port: this.port,
      config: {
        listen: { host: "127.0.0.1", port: 0 },
        ...{ workerTimeoutSeconds: 60, clientTimeoutSeconds: 600, perWorkerQueueSize: 1000 },
        ...{ protected: true, objectBytes: 1_000_000, largestObjectBytes: 10_000_000, queue: "scaler" },
        ...config,
      },
      payloadBytesMax: options.payloadBytesMax ?? 1_000_000,
      peersMax: 1000,
      log: () => {},
      tap,
      ...(makeRouter && { makeRouter }),
      ...(recoveryMs !== undefined && { recoveryMs }),
    });
    this.attach(this.door);
  }

  async open(): Promise<this> {
    await this.runtime.start();
    const { scaler: addresses } = await this.runtime.openDoors();
    this.address = addresses?.listen ?? "";
    return this;
  }

  async close(): Promise<void> {
    await Promise.all(this.#peers.map((peer) => peer.close()));
    await this.runtime.stop(0);
  }

  /** Ends like a crash; the engine has what was committed. */
  async kill(): Promise<void> {
    this.runtime.kill();
    await this.door.close();
    await Promise.all(this.#peers.map((peer) => peer.close()));
  }

  async peer(identity: string): Promise<ScalerPeer> {
    const peer = new ScalerPeer(identity);
    this.#peers.push(peer);
    peer.connect(this.address);
    await peer.joined;
    return peer;
  }

  async client(identity: string): Promise<TestClient> {
    const peer = await this.peer(identity);
    const client = new TestClient(peer);
    client.beat();
    await client.next("client-heartbeat-echo");
    return client;
  }

  async worker(identity: string, wire: scaler.ScalerWire = "r"): Promise<TestWorker> {
    const peer = await this.peer(identity);
    const worker = new TestWorker(peer, wire);
    worker.beat();
    await worker.next("heartbeat-echo");
    return worker;
  }
}

export class ScalerPeer {
  readonly socket: Dealer;
  readonly id: Buffer;
  readonly joined: Promise<void>;
  readonly heard: Buffer[][] = [];
  /** Returns true for a message that it has handled, which then is not listed as received. */
  takes: (frames: Buffer[]) => boolean = () => false;

  constructor(identity: string) {
    this.id = Buffer.from(identity);
    let join = () => {};
    this.joined = new Promise((resolve) => {
      join = resolve;
    });
    this.socket = new Dealer({
      identity,
      onPeer: () => join(),
      onMessage: (_peer, frames) => {
        const own = frames.map((frame) => Buffer.from(frame));
        if (!this.takes(own)) this.heard.push(own);
      },
    });
  }

  connect(address: string): void {
    this.socket.connect(`tcp://${address}`);
  }

  say(...frames: (string | Buffer)[]): void {
    this.sayAll(frames);
  }

  /** For messages of more frames than a call may have arguments. */
  sayAll(frames: readonly (string | Buffer)[]): void {
    this.socket.send(frames.map((frame) => Buffer.from(frame as string)));
  }

  /** The next message, received already or in the future. */
  next(): Promise<Buffer[]> {
    return until(() => this.heard.shift());
  }

  close(): Promise<void> {
    return this.socket.close({ lingerMs: 0 });
  }
}

const bytes = (given: string | Buffer) => Buffer.from(given as string);

/** The next message of this type; others are skipped. */
async function nextOf<Message extends { type: string }, Type extends Message["type"]>(
  peer: ScalerPeer,
  read: (frames: Buffer[]) => scaler.Reading<Message>,
  type: Type,
): Promise<Extract<Message, { type: Type }>> {
  return until(() => {
    const at = peer.heard.findIndex((frames) => {
      const reading = read(frames);
      if (!reading.ok) throw new Error(`the door said what cannot be read: ${reading.fault}`);
      return reading.message.type === type;
    });
    if (at < 0) return undefined;
    const [frames] = peer.heard.splice(at, 1);
    const reading = read(frames as Buffer[]);
    return reading.ok ? (reading.message as Extract<Message, { type: Type }>) : undefined;
  });
}

export class TestClient {
  readonly peer: ScalerPeer;

  constructor(peer: ScalerPeer) {
    this.peer = peer;
  }

  get id(): Buffer {
    return this.peer.id;
  }

  say(message: scaler.ClientMessage): void {
    this.peer.sayAll(scaler.writeFromClient(message));
  }

  beat(): void {
    this.say({ type: "client-heartbeat", cpu: 0, rssBytes: 0n, latencyUs: 0 });
  }

  create(objects: Readonly<Record<string, string | Buffer>>): void {
    const ids = Object.keys(objects).map(bytes);
    this.say({
      ...{ type: "object-create", source: this.id, ids, names: ids.map((id) => bytes(`name of ${id}`)) },
      ...{ bytes: Object.values(objects).map(bytes), hasSplitCounts: false },
    });
  }

  remove(...ids: string[]): void {
    this.say({ type: "object-delete", source: this.id, ids: ids.map(bytes), hasSplitCounts: false });
  }

  task(id: string, { args = [], priority = 0 }: { args?: string[]; priority?: number } = {}): void {
    this.say(this.taskMessage(id, { args, priority }));
  }

  taskMessage(
    id: string,
    { args = [], from = [], priority = 0 }: { args?: string[]; from?: string[]; priority?: number } = {},
  ): scaler.TaskMessage {
    const named = args.map((arg) => ({ kind: "R" as const, id: bytes(arg) }));
    const taken = from.map((task) => ({ kind: "T" as const, id: bytes(task) }));
    return {
      ...{ type: "task", task: bytes(id), source: this.id, metadata: scaler.taskMetadata(priority) },
      ...{ function: bytes("f"), arguments: [...named, ...taken] },
    };
  }

  graph(id: string, targets: string[], nodes: Readonly<Record<string, string[]>>): void {
    const messages = Object.entries(nodes).map(([task, from]) => this.taskMessage(task, { from }));
    this.say({
      ...{ type: "graph", graph: bytes(id), source: this.id },
      ...{ targets: targets.map(bytes), nodes: messages },
    });
  }

  cancel(id: string): void {
    this.say({ type: "task-cancel", task: bytes(id), flags: { force: false, retrieveTaskObject: false } });
  }

  async fetch(...ids: (string | Buffer)[]): Promise<string[]> {
    this.say({ type: "object-request", ids: ids.map(bytes) });
    // Skips messages that are sent unrequested after a restart.
    for (;;) {
      const answer = await this.next("object-answer");
      if (answer.ids.join() === ids.map(bytes).join()) return answer.bytes.map(String);
    }
  }

  next<Type extends scaler.ToClient["type"]>(type: Type): Promise<Extract<scaler.ToClient, { type: Type }>> {
    return nextOf<scaler.ToClient, Type>(this.peer, scaler.readAtClient, type);
  }

  /**
   * The next outcome in brief: the task, the status and the number of results. Heartbeats confirm
   * that it arrived.
   */
  async told(): Promise<string> {
    const { task, status, results } = await this.next("task-result");
    for (let count = 0; count < 2; count++) this.beat();
    return `${task} ${status}${results.length > 0 ? ` ${results.join(" ")}` : ""}`;
  }
}

export class TestWorker {
  readonly peer: ScalerPeer;
  readonly wire: scaler.ScalerWire;
  readonly #given = new Set<string>();

  constructor(peer: ScalerPeer, wire: scaler.ScalerWire) {
    this.peer = peer;
    this.wire = wire;
    peer.takes = (frames) => this.#takes(frames);
  }

  /** Like real workers, it answers a forced TC for a task that it never had. */
  #takes([type, id, flags]: Buffer[]): boolean {
    if (String(type) === "TK") this.#given.add(String(id));
    const isForced = String(type) === "TC" && flags?.[0] !== 0;
    if (id === undefined || !isForced || this.#given.has(String(id))) return false;
    this.result(id, this.wire === "r" ? "N" : "C");
    return true;
  }

  say(message: scaler.WorkerMessage): void {
    this.peer.say(...scaler.writeFromWorker(message, this.wire));
  }

  beat(queuedTasks = 0): void {
    this.say({
      ...{ type: "heartbeat", wire: this.wire, agentCpu: 10, agentRssBytes: 1n, freeRssBytes: 2n },
      ...{ queuedTasks, latencyUs: 3, hasTaskLock: false, processors: [] },
    });
  }

  create(source: Buffer | string, objects: Readonly<Record<string, string | Buffer>>): void {
    const ids = Object.keys(objects).map(bytes);
    this.say({
      ...{ type: "object-create", source: bytes(source), ids, names: ids.map(() => bytes("<res>")) },
      ...{ bytes: Object.values(objects).map(bytes), hasSplitCounts: this.wire === "d-split" },
    });
  }

  result(task: Buffer | string, status: scaler.TaskStatus, ...results: (string | Buffer)[]): void {
    this.say({
      ...{ type: "task-result", task: bytes(task), status },
      ...{ metadata: Buffer.alloc(0), results: results.map(bytes) },
    });
  }

  /** Completes the next task with a result object named after it. */
  async work(result = "done"): Promise<string> {
    const { task, source } = await this.next("task");
    this.create(source, { [`r-${task}`]: result });
    this.result(task, "S", `r-${task}`);
    return String(task);
  }

  async nextTask(): Promise<string> {
    return String((await this.next("task")).task);
  }

  next<Type extends scaler.ToWorker["type"]>(type: Type): Promise<Extract<scaler.ToWorker, { type: Type }>> {
    const read = (frames: Buffer[]) => scaler.readAtWorker(frames, this.wire);
    return nextOf<scaler.ToWorker, Type>(this.peer, read, type);
  }
}
