// The scaler door: one ROUTER for clients and workers, around the dialect's scheduler.

import { randomBytes } from "node:crypto";
import type { Body, Effect, Instant, Moment, TaskHead } from "@yardmaster/core";
import { scaler } from "@yardmaster/dialects";
import type { Peer as ZmqPeer } from "@yardmaster/zmtp";
import type { DoorConfig } from "../config/door-settings.js";
import type { Door, DoorAddresses, Port } from "../door-kit/door.js";
import { Faults, type LogFault } from "../door-kit/faults.js";
import { Peers } from "../door-kit/peers.js";
import type { Tap, Traffic } from "../door-kit/tap.js";
import {
  assemblyBytesOf,
  bindRouter,
  type DoorRouter,
  identityName,
  type MakeRouter,
  realRouter,
} from "../door-kit/zmq.js";

export interface ScalerDoorOptions {
  readonly port: Port;
  readonly config: DoorConfig<"scaler">;
  readonly payloadBytesMax: number;
  readonly peersMax: number;
  /** Of messages that have not arrived whole, over all peers of the door. */
  readonly unfinishedBytesMax?: number;
  readonly log: LogFault;
  readonly tap: Tap;
  readonly makeRouter?: MakeRouter;
  /** False where nothing outlives the process. */
  readonly isRemembered?: boolean;
}

/** A client that leaves names all its objects in one message, and a graph is one message. */
const messageFramesMax = 1_000_000;

export class ScalerDoor implements Door {
  readonly name = "scaler";
  readonly faults: Faults;
  readonly #port: Port;
  readonly #config: DoorConfig<"scaler">;
  readonly #notes: Notes;
  readonly #router: DoorRouter;
  readonly #scheduler: scaler.ScalerScheduler;
  readonly #lines = new Map<ZmqPeer, DoorLine>();
  /** Workers by connection, clients by their identity: how long each may be silent. */
  readonly #workers: Peers<DoorLine>;
  readonly #clients: Peers<string>;

  constructor({
    port,
    config,
    payloadBytesMax,
    peersMax,
    unfinishedBytesMax = 0,
    log,
    tap,
    makeRouter = realRouter,
    isRemembered = true,
  }: ScalerDoorOptions) {
    this.#port = port;
    this.#config = config;
    this.#notes = new Notes(this.name, tap);
    this.faults = new Faults(log);
    this.#workers = new Peers(peersMax);
    this.#clients = new Peers(peersMax);
    this.#scheduler = new scaler.ScalerScheduler(
      {
        door: this.name,
        queue: config.queue,
        slots: config.perWorkerQueueSize,
        functionName: config.function ?? config.queue,
        objectBytesMax: config.objectBytes,
        largestObjectBytes: config.largestObjectBytes,
        isProtected: config.protected,
        isRemembered,
        idSecret: { first: randomBytes(4).readInt32LE(), second: randomBytes(4).readInt32LE() },
      },
      {
        post: (event) => port.post(event),
        now: () => port.now(),
        fault: (kind, peer) => this.faults.add(kind, peer, port.now()),
        clientGone: (key) => this.#forgetClient(key),
      },
    );
    this.#router = makeRouter({
      limits: {
        peersMax,
        // [scaler 5.7] What is too large is read and refused with the reason, up to what all objects may have together.
        frameBytesMax: Math.max(payloadBytesMax, config.objectBytes),
        // A function and its arguments come in one message.
        messageBytesMax: 2 * Math.max(payloadBytesMax, config.objectBytes),
        messageFramesMax,
        assemblyBytesMax: assemblyBytesOf(
          unfinishedBytesMax,
          Math.max(payloadBytesMax, config.largestObjectBytes),
        ),
      },
      // [scaler 3.2] The dialect has heartbeats of its own, and they decide: a peer that is paused is not gone.
      heartbeat: { deadMs: config.workerTimeoutSeconds * 1000 },
      // [scaler 4.5] A peer that comes back under its own name takes over its old connection.
      handover: true,
      onFault: (peer, kind) => this.faults.add(kind, peer?.address ?? "unknown", port.now()),
      onPeer: (peer) => this.#came(peer),
      onPeerGone: (peer, reason) => this.#went(peer, reason === "silent"),
      onRoom: (peer) => this.#hasRoom(peer),
      onMessage: (peer, frames) => this.#receive(peer, frames),
      onPacked: (peer, bytes, from, to) => this.#receivePacked(peer, bytes, from, to),
    });
  }

  /** Objects in memory, and what they count for. */
  get objects(): { readonly size: number; readonly bytes: number } {
    return this.#scheduler.objects;
  }

  async open(): Promise<DoorAddresses> {
    // [scaler 8.2] Tasks that were accepted in an earlier life.
    const untold: TaskHead[] = [];
    for (const head of this.#port.untold()) {
      untold.push(head.payload.bytes === undefined ? await this.#whole(head) : head);
    }
    const clients = this.#scheduler.restore(this.#port.takeMemos(), untold, this.#port.lastRestored());
    for (const client of clients) this.#clientHeard(client);
    return { listen: await bindRouter(this.name, this.#router, this.#config.listen) };
  }

  deliver(effects: readonly Effect[]): void {
    for (const effect of effects) this.#scheduler.deliver(effect);
    // Effects come when a turn has ended: there is nothing to wait for.
    this.#router.flush();
  }

  payloadFor(task: TaskHead): Body | undefined {
    return this.#scheduler.payloadFor(task);
  }

  handleTimeout(now: Moment): void {
    for (let peer = this.#workers.takeSilent(now); peer !== undefined; peer = this.#workers.takeSilent(now)) {
      this.#workers.remove(peer);
      this.#scheduler.workerSilent(peer.session);
    }
    for (let peer = this.#clients.takeSilent(now); peer !== undefined; peer = this.#clients.takeSilent(now)) {
      this.#scheduler.clientSilent(peer.session);
    }
    this.#scheduler.handleTimeout(now);
  }

  nextDeadline(): Instant | undefined {
    const deadlines = [this.#workers, this.#clients, this.#scheduler].map((each) => each.nextDeadline());
    return deadlines.reduce((first, next) => (first === undefined || (next ?? first) < first ? next : first));
  }

  /** What still comes is refused by the core, and told so. */
  stopAccepting(): void {}

  async close(): Promise<void> {
    await this.#router.close();
  }

  /** With its payload, where that is so large that it lies apart. */
  async #whole(head: TaskHead): Promise<TaskHead> {
    const payload = await this.#port.reads.body(head.id, "payload");
    return payload === undefined ? head : { ...head, payload };
  }

  #came(peer: ZmqPeer): void {
    const line = new DoorLine(peer, this.#router, this.#notes);
    this.#lines.set(peer, line);
    this.#scheduler.came(line);
    if (this.#scheduler.roleOf(line) === "client") this.#clientHeard(line.identityKey);
  }

  #went(peer: ZmqPeer, wasSilent: boolean): void {
    const line = this.#lines.get(peer);
    if (line === undefined) return;
    this.#lines.delete(peer);
    const worker = this.#workers.get(line.key);
    if (worker !== undefined) this.#workers.remove(worker);
    this.#scheduler.went(line, wasSilent);
  }

  #hasRoom(peer: ZmqPeer): void {
    const line = this.#lines.get(peer);
    if (line?.flush() === true) this.#scheduler.hasRoom(line);
  }

  #receive(peer: ZmqPeer, frames: Buffer[]): void {
    const line = this.#lines.get(peer);
    if (line === undefined) return;
    this.#notes.note("in", peer, frames);
    this.#scheduler.receive(line, frames);
    this.#heard(line);
  }

  #receivePacked(peer: ZmqPeer, bytes: Buffer, from: number, to: number): boolean {
    const line = this.#lines.get(peer);
    if (line === undefined || !this.#scheduler.receivePacked(line, bytes, from, to)) return false;
    this.#notes.notePacked("in", peer, bytes, from, to);
    this.#heard(line);
    return true;
  }

  #heard(line: DoorLine): void {
    const role = this.#scheduler.roleOf(line);
    const now = role && this.#port.now();
    // Once a turn is often enough, for as long as it is what it was.
    if (now !== undefined && line.heardAt === now) return;
    line.heardAt = now;
    if (role === "worker") this.#workerHeard(line);
    else if (role === "client") this.#clientHeard(line.identityKey);
  }

  #workerHeard(line: DoorLine): void {
    const peer = this.#workers.get(line.key) ?? this.#workers.add(line.key, line);
    const ms = this.#config.workerTimeoutSeconds * 1000;
    if (peer !== undefined) this.#workers.heard(peer, this.#port.now(), ms);
  }

  #clientHeard(key: string): void {
    const peer = this.#clients.get(key) ?? this.#clients.add(key, key);
    const ms = this.#config.clientTimeoutSeconds * 1000;
    if (peer !== undefined) this.#clients.heard(peer, this.#port.now(), ms);
  }

  #forgetClient(key: string): void {
    const peer = this.#clients.get(key);
    if (peer !== undefined) this.#clients.remove(peer);
  }
}

/** Enough of a message, and of a frame, to know it by. */
const shownFramesMax = 16;
const shownBytesMax = 64;

/** What goes over the door's lines, counted, and shown to whoever listens. */
class Notes {
  readonly #door: string;
  readonly #tap: Tap;
  /** Of messages as they are on the wire, by the two letters of their type. */
  readonly #counters = { in: new Map<number, Traffic>(), out: new Map<number, Traffic>() };

  constructor(door: string, tap: Tap) {
    this.#door = door;
    this.#tap = tap;
  }

  note(direction: "in" | "out", peer: ZmqPeer, frames: readonly Buffer[]): void {
    let bytes = 0;
    for (const frame of frames) bytes += frame.length;
    const type = frames[0]?.toString("latin1", 0, 2) ?? "";
    this.#tap.count(this.#door, direction, type, bytes);
    if (this.#tap.isOpen) this.#show(direction, peer, type, bytes, frames);
  }

  /** A message of one of the door's few types. */
  notePacked(direction: "in" | "out", peer: ZmqPeer, bytes: Buffer, from: number, to: number): void {
    const code = bytes.readUInt16BE(from + 2);
    const counters = this.#counters[direction];
    let traffic = counters.get(code);
    if (traffic === undefined) {
      const type = bytes.toString("latin1", from + 2, from + 4);
      traffic = this.#tap.counter(this.#door, direction, type);
      counters.set(code, traffic);
    }
    let size = to - from;
    for (let at = from; at < to; at += 2 + (bytes[at + 1] as number)) size -= 2;
    traffic.messages += 1;
    traffic.bytes += size;
    if (this.#tap.isOpen)
      this.#show(direction, peer, traffic.type, size, scaler.unpackFrames(bytes, from, to));
  }

  #show(
    direction: "in" | "out",
    peer: ZmqPeer,
    type: string,
    bytes: number,
    frames: readonly Buffer[],
  ): void {
    const shown = frames.slice(1, shownFramesMax);
    const content = shown.map((frame) => frame.subarray(0, shownBytesMax).toString("latin1"));
    this.#tap.show({ door: this.#door, direction, peer: identityName(peer.identity), type, bytes, content });
  }
}

/** A connection, and the answers that it had no room for. It is not read before it has taken them, so they stay few. */
class DoorLine implements scaler.ScalerLine {
  readonly identity: Buffer;
  readonly name: string;
  readonly key: string;
  /** A character for each byte of its identity. */
  readonly identityKey: string;
  session: scaler.ScalerLine["session"] = undefined;
  /** The turn in which it was last heard. */
  heardAt: Moment | undefined = undefined;
  readonly #peer: ZmqPeer;
  readonly #router: DoorRouter;
  readonly #notes: Notes;
  #owed: (readonly Buffer[])[] = [];

  constructor(peer: ZmqPeer, router: DoorRouter, notes: Notes) {
    this.#peer = peer;
    this.#router = router;
    this.#notes = notes;
    this.identity = peer.identity;
    this.identityKey = peer.identity.toString("latin1");
    this.name = identityName(peer.identity);
    this.key = String(peer.id);
  }

  get address(): string {
    return this.#peer.address;
  }

  send(frames: readonly Buffer[]): boolean {
    return this.#owed.length === 0 && this.#put(frames) === "taken";
  }

  sendPacked(bytes: Buffer, from: number, to: number): boolean {
    if (this.#owed.length > 0) return false;
    const sent = this.#router.sendPacked(this.#peer, bytes, from, to);
    if (sent === "gone" || sent === "full") return false;
    this.#notes.notePacked("out", this.#peer, bytes, from, to);
    return true;
  }

  answer(frames: readonly Buffer[]): void {
    if (this.#owed.length > 0) this.#owed.push(frames);
    else if (this.#put(frames) === "full") {
      this.#owed.push(frames);
      this.#router.pause(this.#peer);
    }
  }

  /** There is room: false when it did not last. */
  flush(): boolean {
    const owed = this.#owed;
    if (owed.length === 0) return true;
    const left = owed.findIndex((frames) => this.#put(frames) === "full");
    this.#owed = left < 0 ? [] : owed.slice(left);
    if (this.#owed.length > 0) return false;
    this.#router.resume(this.#peer);
    return true;
  }

  #put(frames: readonly Buffer[]): "taken" | "full" | "gone" {
    const sent = this.#router.sendTo(this.#peer, frames);
    if (sent === "gone" || sent === "full") return sent;
    this.#notes.note("out", this.#peer, frames);
    return "taken";
  }
}
