// The pingpong door: ROUTERs for clients and for workers, around the dialect's ends of both.

import {
  type Effect,
  earlier,
  type Instant,
  type Moment,
  type WorkerId,
  workerIdOf,
  type YardEvent,
} from "@yardmaster/core";
import { partsMax, pingpong, type WireFrames } from "@yardmaster/dialects";
import { Totals, type Peer as ZmqPeer } from "@yardmaster/zmtp";
import type { Door, DoorAddresses, Port } from "../door-kit/door.js";
import { Faults } from "../door-kit/faults.js";
import { FrameNotes } from "../door-kit/frame-notes.js";
import {
  bindRouter,
  type DoorRouter,
  identityName,
  type MakeRouter,
  realRouter,
  wireHandlers,
} from "../door-kit/zmq.js";
import { socketOptions, type ZmqDoorOptions } from "../door-kit/zmq-door.js";
import { ZmqGuard } from "../door-kit/zmq-guard.js";
import type { DoorConfig } from "../registry/doors.js";
import type { Silence } from "../watching/alerts.js";

export interface PingpongDoorOptions extends ZmqDoorOptions<DoorConfig<"pingpong">> {
  readonly makeRouter?: MakeRouter;
}

/** Frames around the payload, and the client's identity. */
const envelopeBytesMax = 64 * 1024;

export class PingpongDoor implements Door {
  readonly name = "pingpong";
  /** [pingpong 5.7] Until a worker answers, its messages do not name its job. */
  readonly forgets = true;
  readonly faults: Faults;
  readonly #port: Port;
  readonly #config: DoorConfig<"pingpong">;
  readonly #notes: FrameNotes<ZmqPeer>;
  readonly #guard: ZmqGuard;
  readonly #clientRouter: DoorRouter;
  readonly #workerRouter: DoorRouter;
  readonly #clients: pingpong.PingpongDoorClients<ZmqPeer>;
  readonly #workers: pingpong.PingpongDoorWorkers<ZmqPeer>;
  /** Distinguishes connections and job names of this process from those of earlier ones. */
  #life = "";

  constructor(options: PingpongDoorOptions) {
    const { port, config, payloadBytesMax, peersMax, log, tap, makeRouter = realRouter, access } = options;
    this.#port = port;
    this.#config = config;
    this.faults = new Faults(log, () => port.now());
    this.#notes = new FrameNotes<ZmqPeer>({
      door: this.name,
      tap,
      shownBytesMax,
      shownPeer: (peer) => ({
        name: identityName(peer.identity),
        side: this.#workers.has(peer) ? "worker" : "client",
      }),
      frameName: (index, { length }) => (length === 0 ? "delimiter" : `frame ${index}`),
    });
    const guard = new ZmqGuard(this.name, access, config.security, () => port.now().instant);
    this.#guard = guard;
    const common = {
      ...socketOptions(options, {
        guard,
        faults: this.faults,
        largestBytes: payloadBytesMax,
        limits: {
          frameBytesMax: payloadBytesMax,
          messageBytesMax: payloadBytesMax + envelopeBytesMax,
          messageFramesMax: partsMax,
        },
      }),
      totals: new Totals(),
      // [pingpong 5.5] A peer that reconnects under the same name replaces its old connection.
      handover: true,
    };
    this.#clientRouter = makeRouter({
      ...common,
      onPeer: (peer) => this.#clientCame(peer),
      onPeerGone: (peer) => this.#clients.went(peer),
      ...wireHandlers((peer, frames) => this.#fromClient(peer, frames)),
    });
    this.#workerRouter = makeRouter({
      ...common,
      onPeer: (peer) => this.#workerCame(peer),
      onPeerGone: (peer, reason) => this.#workers.went(peer, reason === "silent"),
      ...wireHandlers((peer, frames) => this.#fromWorker(peer, frames)),
    });
    guard.watch(this.#clientRouter);
    guard.watch(this.#workerRouter, { right: "work", queue: config.queue });
    const shared = { now: () => port.now(), post: (event: YardEvent) => port.post(event) };
    this.#clients = new pingpong.PingpongDoorClients(config.queue, {
      ...shared,
      send: (peer, answer) => {
        const frames = pingpong.writeToClient(answer);
        this.#notes.note("out", peer, answer.type, frames);
        return this.#clientRouter.sendTo(peer, frames);
      },
      maySubmit: (peer) => guard.may(peer, "submit", config.queue),
      denied: (peer) => this.faults.add("denied", peer.address),
      submitted: (peer) => guard.submitted(peer),
      pause: (peer) => this.#clientRouter.pause(peer),
      resume: (peer) => this.#clientRouter.resume(peer),
    });
    const { queue, form, workerExpireSeconds } = config;
    this.#workers = new pingpong.PingpongDoorWorkers(
      { queue, form, workersMax: peersMax, expireMs: workerExpireSeconds * 1000 },
      {
        ...shared,
        send: (peer, message) => {
          const frames = pingpong.writeToWorker(message);
          this.#notes.note("out", peer, message.type, frames);
          const sent = this.#workerRouter.sendTo(peer, frames);
          return sent === "sent" || sent === "queued";
        },
        disconnect: (peer) => this.#workerRouter.disconnect(peer),
        fault: (kind, address, advice) => this.faults.add(kind, address, advice),
      },
    );
  }

  async open(): Promise<DoorAddresses> {
    this.#life = Math.floor(this.#port.now().wall).toString(36);
    const clients = await bindRouter(this.name, this.#clientRouter, this.#config.clients);
    const workers = await bindRouter(this.name, this.#workerRouter, this.#config.workers);
    return { clients, workers };
  }

  /** Takes up a new server key. */
  async reload({ security }: DoorConfig<"pingpong">): Promise<DoorAddresses> {
    this.#guard.reload(security);
    return {};
  }

  deliver(effects: readonly Effect[]): void {
    for (const effect of effects) {
      if (effect.type === "assign") this.#workers.assign(effect);
      else if (effect.type === "tell") this.#clients.tell(effect);
      else if (effect.type === "refuse") this.#clients.refuse(effect);
      else if (effect.type === "dismiss") this.#workers.dismiss(effect);
    }
    this.#clients.endTurn();
    // Effects arrive at the end of a turn, so there is nothing to wait for.
    this.#workerRouter.flush();
    this.#clientRouter.flush();
  }

  handleTimeout(now: Moment): void {
    this.#workers.handleTimeout(now);
    this.#clients.handleTimeout(now);
  }

  nextDeadline(): Instant | undefined {
    return earlier(this.#workers.nextDeadline(), this.#clients.nextDeadline());
  }

  silenceOf(worker: WorkerId, now: Moment): Silence | undefined {
    return this.#workers.silenceOf(worker, now);
  }

  async close(): Promise<void> {
    await Promise.all([this.#clientRouter.close(), this.#workerRouter.close()]);
  }

  #clientCame(peer: ZmqPeer): void {
    const name = identityName(peer.identity);
    const connection = `${name} ${this.#life}.${peer.id.toString(36)}`;
    this.#clients.came(peer, { name, connection, hasOwnName: hasOwnName(peer), by: this.#guard.by(peer) });
  }

  /** [pingpong 4.6] The dialect has no word for a worker that may not work. */
  #workerCame(peer: ZmqPeer): void {
    if (this.#guard.may(peer, "work", this.#config.queue)) {
      this.#workers.came(peer, workerIdOf(this.name, identityName(peer.identity)), this.#life);
      return;
    }
    this.faults.add("denied", peer.address);
    this.#workerRouter.disconnect(peer);
  }

  #fromClient(peer: ZmqPeer, frames: WireFrames): void {
    const reading = pingpong.readFromClient(frames);
    if (!reading.ok) return this.faults.add(reading.fault, peer.address);
    this.#notes.noteLent(peer, "job", frames);
    this.#clients.receive(peer, reading.message);
  }

  #fromWorker(peer: ZmqPeer, frames: WireFrames): void {
    const reading = pingpong.readFromWorker(frames);
    if (!reading.ok) {
      // [pingpong 5.6] It may be a failed answer to its job, which must not keep waiting for one.
      this.faults.add(reading.fault, peer.address);
      this.#workerRouter.disconnect(peer);
      return;
    }
    this.#notes.noteLent(peer, reading.message.type, frames);
    this.#workers.receive(peer, reading.message);
  }
}

/** A name that a ROUTER assigned begins with a zero byte and may be reused after a restart. */
function hasOwnName({ identity }: ZmqPeer): boolean {
  return identity[0] !== 0;
}

/** Enough of a frame to recognise it. */
const shownBytesMax = 64;
