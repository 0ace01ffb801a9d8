// For tests of the udp door: a whole yard in memory behind a real socket, clients and calculators
// that send what the test says, and a door that the test controls.

import { createSocket, type Socket } from "node:dgram";
import { once } from "node:events";
import { type Body, type StoredTask, storyOf, type TaskId, type WorkerView } from "@yardmaster/core";
import type { Access } from "../access/access.js";
import type { MakeDatagramSocket } from "../door-kit/datagrams.js";
import type { Port } from "../door-kit/door.js";
import { Tap } from "../door-kit/tap.js";
import { UdpDoor } from "../doors/udp.js";
import type { DoorConfig } from "../registry/doors.js";
import type { Runtime } from "../runtime.js";
import { HandDoor } from "./hand-door.js";
import { type MemoryRuntimeOptions, memoryRuntime, until } from "./memory-runtime.js";

export interface UdpYardOptions extends MemoryRuntimeOptions {
  readonly config?: Partial<DoorConfig<"udp">>;
  readonly peersMax?: number;
  readonly tap?: Tap;
  readonly makeSocket?: MakeDatagramSocket;
  readonly access?: Access;
}

export type Json = Readonly<Record<string, unknown>>;

export class UdpYard {
  readonly runtime: Runtime;
  readonly door: UdpDoor;
  readonly hand: HandDoor;
  readonly logged: string[] = [];
  readonly #port: Port;
  readonly #peers: TestPeer[] = [];
  readonly #host: string;
  #doorPort = 0;

  constructor(given: UdpYardOptions = {}) {
    const { config, peersMax = 1000, tap = new Tap(), makeSocket, access, ...options } = given;
    this.runtime = memoryRuntime(options);
    this.#port = this.runtime.port("udp");
    this.#host = config?.client_address?.host ?? "127.0.0.1";
    this.door = new UdpDoor({
      port: this.#port,
      config: {
        client_address: { host: this.#host, port: 0 },
        timeout_task_placement: 60,
        timeout_task_execution: 3600,
        activity_poll_sec: 10,
        inactivity_timeout: 60,
        sends: 4,
        resendSeconds: 0.05,
        queue: "udp",
        ...config,
      },
      peersMax,
      log: (kind, peer) => this.logged.push(`${kind} ${peer}`),
      tap,
      ...(makeSocket === undefined ? {} : { makeSocket }),
      ...(access && { access }),
    });
    this.hand = new HandDoor(this.runtime.port("hand"));
    this.runtime.attach(this.door);
    this.runtime.attach(this.hand);
  }

  async open(): Promise<this> {
    await this.runtime.start();
    const { udp } = await this.runtime.openDoors();
    this.#doorPort = Number(udp?.client_address?.split(":").at(-1));
    return this;
  }

  async close(): Promise<void> {
    for (const peer of this.#peers) peer.close();
    await this.runtime.stop(0);
  }

  /** The door's port. */
  get doorPort(): number {
    return this.#doorPort;
  }

  workers(): Promise<readonly WorkerView[]> {
    return this.#port.reads.workers();
  }

  async peer(): Promise<TestPeer> {
    const peer = await new TestPeer(this.#host, this.#doorPort).open();
    this.#peers.push(peer);
    return peer;
  }

  /** A calculator that is known to be ready. */
  async calculator(status: string | number = "ready"): Promise<TestPeer> {
    const peer = await this.peer();
    peer.say("heartbeat", { status });
    await this.workerIs(peer, (worker) => worker.slots === 1);
    return peer;
  }

  workerIs(peer: TestPeer, isWanted: (worker: WorkerView) => boolean): Promise<WorkerView> {
    return until(async () => {
      const workers = await this.#port.reads.workers();
      return workers.find((worker) => worker.id === `udp/${peer.name}` && isWanted(worker));
    });
  }

  task(id: number, isWanted: (task: StoredTask) => boolean = () => true): Promise<StoredTask> {
    return until(async () => {
      const task = await this.#port.reads.task(id as TaskId);
      return task !== undefined && isWanted(task) ? task : undefined;
    });
  }

  finished(id: number): Promise<StoredTask> {
    return this.task(id, ({ progress }) => (progress?.settled ?? 0) > 0);
  }

  async story(id: number): Promise<string[]> {
    const { head, progress } = await this.task(id);
    return storyOf(head, progress).map(({ cause }) => cause);
  }

  async resultText(id: number): Promise<string> {
    const body: Body | undefined = await this.#port.reads.body(id as TaskId, "result");
    return Buffer.from(body?.bytes ?? []).toString();
  }

  why(id: number): string | undefined {
    return this.#port.reads.why(id as TaskId)?.code;
  }

  /** Resolves when this many faults of a kind were counted. */
  faults(kind: string, count: number): Promise<true> {
    return until(() => (this.door.faults.count(kind) >= count ? true : undefined));
  }
}

export class TestPeer {
  readonly #socket: Socket;
  readonly #host: string;
  readonly #port: number;
  readonly heard: Json[] = [];
  #last = 0;

  constructor(host: string, port: number) {
    this.#host = host;
    this.#port = port;
    this.#socket = createSocket(host.includes(":") ? "udp6" : "udp4");
    this.#socket.on("message", (bytes) => this.heard.push(JSON.parse(bytes.toString()) as Json));
  }

  async open(): Promise<this> {
    this.#socket.bind(0, this.#host);
    await once(this.#socket, "listening");
    return this;
  }

  get name(): string {
    return `${this.#host}:${this.#socket.address().port}`;
  }

  /** Sends a packet that needs no ack. */
  say(method: string, params: Json): void {
    this.raw(JSON.stringify({ method, params, packet_type: 0 }));
  }

  /** Sends a packet that needs an ack and returns its transmission number. */
  ask(method: string, params: Json, transmission = ++this.#last): number {
    this.raw(JSON.stringify({ method, params, packet_type: 1, transmission_id: transmission }));
    return transmission;
  }

  acknowledge(packet: Json, result?: Json): void {
    this.raw(JSON.stringify({ ...packet, packet_type: 2, ...(result && { result }) }));
  }

  raw(bytes: string | Buffer): void {
    this.#socket.send(bytes, this.#port, this.#host);
  }

  /** The next datagram of this kind; others are dropped. */
  next(method: string, type?: number): Promise<Json> {
    return until(() => {
      const index = this.heard.findIndex(
        (packet) => packet.method === method && (type === undefined || packet.packet_type === type),
      );
      return index < 0 ? undefined : this.heard.splice(0, index + 1).at(-1);
    });
  }

  /** Accepts the next task and acknowledges it. */
  async take(): Promise<Json> {
    const packet = await this.next("perform_task");
    this.acknowledge(packet);
    return packet.params as Json;
  }

  /** Receives the outcome of a task and acknowledges it. */
  async told(): Promise<Json> {
    const packet = await this.next("notify_task");
    if (packet.packet_type === 1) this.acknowledge(packet);
    return packet.params as Json;
  }

  close(): void {
    this.#socket.close();
  }
}
