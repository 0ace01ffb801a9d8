// The scaler door: one ROUTER for clients and workers, around the dialect's scheduler.

import { randomBytes } from "node:crypto";
import {
  type Body,
  type Effect,
  earlier,
  type Instant,
  type Moment,
  type TaskHead,
  type WorkerId,
} from "@yardmaster/core";
import { PausedPeers, scaler, type WireFrames } from "@yardmaster/dialects";
import type { DroppedFrames, Peer as ZmqPeer } from "@yardmaster/zmtp";
import type { Door, DoorAddresses, PayloadReader, Port } from "../door-kit/door.js";
import { Faults } from "../door-kit/faults.js";
import type { Side } from "../door-kit/tap.js";
import {
  bindRouter,
  type DoorRouter,
  envelopeRoomBytes,
  type MakeRouter,
  realRouter,
  wireHandlers,
} from "../door-kit/zmq.js";
import { socketOptions, type ZmqDoorOptions } from "../door-kit/zmq-door.js";
import { ZmqGuard } from "../door-kit/zmq-guard.js";
import type { DoorConfig } from "../registry/doors.js";
import { DoorLine } from "../scaler/door-line.js";
import { readEnded } from "../scaler/ended-tasks.js";
import { readKeptState } from "../scaler/kept-state.js";
import { MemoReads } from "../scaler/memo-reads.js";
import { Notes } from "../scaler/notes.js";
import { Presence } from "../scaler/presence.js";
import type { Silence } from "../watching/alerts.js";

export interface ScalerDoorOptions extends ZmqDoorOptions<DoorConfig<"scaler">> {
  readonly makeRouter?: MakeRouter;
  /** False if the engine is not durable. */
  readonly isRemembered?: boolean;
  /** For tests: larger objects are kept only in the engine. */
  readonly inMemoryBytesMax?: number;
  /** For tests: how long workers may answer tasks of before a restart. */
  readonly recoveryMs?: number;
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
  readonly #guard: ZmqGuard;
  readonly #scheduler: scaler.ScalerScheduler;
  readonly #lines = new Map<ZmqPeer, DoorLine>();
  readonly #presence: Presence;
  /** Clients that are not read for a while, to keep to the rate of their principal. */
  readonly #paced = new PausedPeers<DoorLine>((line) => line.paced());

  constructor(options: ScalerDoorOptions) {
    const { port, config, payloadBytesMax, peersMax, log, tap, makeRouter = realRouter, access } = options;
    const { isRemembered = true, inMemoryBytesMax, recoveryMs } = options;
    this.#port = port;
    this.#config = config;
    this.#notes = new Notes(this.name, tap, (peer) => this.#sideOf(peer));
    this.faults = new Faults(log, () => port.now());
    this.#presence = new Presence({
      peersMax,
      workerSilenceMs: config.workerTimeoutSeconds * 1000,
      clientSilenceMs: config.clientTimeoutSeconds * 1000,
    });
    const reads = new MemoReads(
      (name) => port.reads.memo(name),
      () => this.faults.add("unreadable_object", "engine"),
    );
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
        ...(inMemoryBytesMax !== undefined && { inMemoryBytesMax }),
        ...(recoveryMs !== undefined && { recoveryMs }),
        idSecret: { first: randomBytes(4).readInt32LE(), second: randomBytes(4).readInt32LE() },
      },
      {
        post: (event) => port.post(event),
        now: () => port.now(),
        fault: (kind, peer) => this.faults.add(kind, peer),
        clientGone: (key) => this.#presence.forgetClient(key),
        searchEnded: (last, max, take) => {
          const { queue } = config;
          // A later search reads again what this one could not.
          readEnded(port.reads, { queue, last, max }, take).catch(() => undefined);
        },
        readMemo: (name, take) => reads.read(name, take),
        isShortOfMemory: () => port.isShortOfMemory(),
      },
    );
    const largestBytes = Math.max(payloadBytesMax, config.largestObjectBytes);
    this.#guard = new ZmqGuard(this.name, access, config.security, () => port.now().instant);
    this.#router = makeRouter({
      ...socketOptions(options, {
        guard: this.#guard,
        faults: this.faults,
        largestBytes,
        limits: {
          frameBytesMax: largestBytes,
          // A function and its arguments come in one message.
          messageBytesMax: largestBytes + envelopeRoomBytes,
          messageFramesMax,
        },
      }),
      // [scaler 5.7] An object that is too large is dropped while it arrives, and refused with the
      // reason.
      dropsOversized: true,
      // [scaler 3.2] The dialect's own heartbeats decide: a peer that is paused is not gone.
      heartbeat: { deadMs: config.workerTimeoutSeconds * 1000 },
      // [scaler 4.5] A peer that reconnects under the same name replaces its old connection.
      handover: true,
      onPeer: (peer) => this.#came(peer),
      onPeerGone: (peer, reason) => this.#went(peer, reason === "silent"),
      onRoom: (peer) => this.#hasRoom(peer),
      ...wireHandlers((peer, frames, dropped) => this.#receive(peer, frames, dropped)),
    });
    this.#guard.watch(this.#router);
  }

  /** Number of objects, and the bytes that count against the limit. */
  get objects(): { readonly size: number; readonly bytes: number } {
    return this.#scheduler.exchange.objects;
  }

  async open(): Promise<DoorAddresses> {
    const { memos, pieces, openTasks } = await readKeptState(this.#port);
    // The core goes on while these are read, and gives up outcomes whose time for delivery is over.
    // A task restored after that would never be told, and would keep its objects for good.
    const clients = this.#scheduler.restore(memos, pieces, openTasks(), this.#port.lastRestored());
    this.#port.announce();
    for (const client of clients) this.#presence.clientHeard(client, this.#port.now());
    return { listen: await bindRouter(this.name, this.#router, this.#config.listen) };
  }

  /** Takes up a new server key. */
  async reload({ security }: DoorConfig<"scaler">): Promise<DoorAddresses> {
    this.#guard.reload(security);
    return {};
  }

  deliver(effects: readonly Effect[]): void {
    for (const effect of effects) this.#scheduler.deliver(effect);
    // Effects arrive at the end of a turn, so there is nothing to wait for.
    this.#router.flush();
  }

  payloadFor(task: TaskHead): Body | undefined {
    return scaler.payloadFor(task, this.#scheduler.exchange);
  }

  payloadReader(task: TaskHead): PayloadReader | undefined {
    const { exchange } = this.#scheduler;
    if (!scaler.isPayloadOutOfLine(task, exchange)) return undefined;
    return () => new Promise((resolve) => scaler.readPayloadFor(task, exchange, resolve));
  }

  handleTimeout(now: Moment): void {
    this.#presence.handleTimeout(now, this.#scheduler);
    this.#paced.handleTimeout(now);
    this.#scheduler.handleTimeout(now);
  }

  nextDeadline(): Instant | undefined {
    const silence = this.#presence.nextDeadline();
    return earlier(silence, earlier(this.#paced.nextDeadline(), this.#scheduler.nextDeadline()));
  }

  async close(): Promise<void> {
    await this.#router.close();
  }

  #came(peer: ZmqPeer): void {
    const line = new DoorLine(peer, {
      router: this.#router,
      notes: this.#notes,
      guard: this.#guard,
      queue: this.#config.queue,
      pace: (each, ms) => this.#paced.add(each, this.#port.now(), ms),
    });
    this.#lines.set(peer, line);
    this.#scheduler.came(line);
    if (this.#scheduler.roleOf(line) === "client")
      this.#presence.clientHeard(line.identityKey, this.#port.now());
  }

  #went(peer: ZmqPeer, wasSilent: boolean): void {
    const line = this.#lines.get(peer);
    if (line === undefined) return;
    this.#lines.delete(peer);
    this.#paced.drop(line);
    line.end();
    this.#presence.forgetWorker(line);
    this.#scheduler.went(line, wasSilent);
  }

  #sideOf(peer: ZmqPeer): Side | undefined {
    const line = this.#lines.get(peer);
    return line === undefined ? undefined : this.#scheduler.roleOf(line);
  }

  #hasRoom(peer: ZmqPeer): void {
    const line = this.#lines.get(peer);
    if (line?.flush() === true) this.#scheduler.hasRoom(line);
  }

  #receive(peer: ZmqPeer, frames: WireFrames, dropped: DroppedFrames | undefined): void {
    const line = this.#lines.get(peer);
    if (line === undefined) return;
    this.#notes.noteFrames("in", peer, frames);
    this.#scheduler.receive(line, frames, dropped);
    this.#heard(line);
  }

  #heard(line: DoorLine): void {
    const role = this.#scheduler.roleOf(line);
    const now = role && this.#port.now();
    // Once per turn is enough while the peer's role does not change.
    if (now !== undefined && line.heardAt === now) return;
    line.heardAt = now;
    if (now === undefined) return;
    if (role === "worker") this.#presence.workerHeard(line, now);
    else this.#presence.clientHeard(line.identityKey, now);
  }

  silenceOf(worker: WorkerId, now: Moment): Silence | undefined {
    return this.#presence.silenceOf(worker.slice(this.name.length + 1), now);
  }
}
