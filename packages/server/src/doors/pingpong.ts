// The pingpong door: two ROUTERs, one for clients and one for workers, around the dialect's sessions.

import {
  type Effect,
  type Instant,
  type Moment,
  type ReplyTo,
  type WorkerId,
  workerIdOf,
} from "@yardmaster/core";
import { partsMax, pingpong } from "@yardmaster/dialects";
import type { Peer as ZmqPeer } from "@yardmaster/zmtp";
import type { DoorConfig } from "../config/door-settings.js";
import type { Door, DoorAddresses, Port } from "../door-kit/door.js";
import { Faults, type LogFault } from "../door-kit/faults.js";
import { PausedPeers } from "../door-kit/paused-peers.js";
import { type Peer, Peers } from "../door-kit/peers.js";
import type { Tap } from "../door-kit/tap.js";
import { bindRouter, type DoorRouter, identityName, type MakeRouter, realRouter } from "../door-kit/zmq.js";

export interface PingpongDoorOptions {
  readonly port: Port;
  readonly config: DoorConfig<"pingpong">;
  readonly payloadBytesMax: number;
  readonly peersMax: number;
  readonly log: LogFault;
  readonly tap: Tap;
  readonly makeRouter?: MakeRouter;
}

type Worker = Peer<pingpong.PingpongDoorWorker>;

/** Frames around the payload, and the identity of who asked. */
const envelopeBytesMax = 64 * 1024;

export class PingpongDoor implements Door {
  readonly name = "pingpong";
  readonly faults: Faults;
  readonly #port: Port;
  readonly #config: DoorConfig<"pingpong">;
  readonly #tap: Tap;
  readonly #workerExpireMs: number;
  readonly #clients: DoorRouter;
  readonly #workers: DoorRouter;
  /** Clients by the name their answers are addressed to, and that address. */
  readonly #clientsByName = new Map<string, ZmqPeer>();
  readonly #replyTos = new Map<ZmqPeer, ReplyTo>();
  readonly #known: Peers<pingpong.PingpongDoorWorker>;
  readonly #byConnection = new Map<ZmqPeer, Worker>();
  readonly #paused: PausedPeers<ZmqPeer>;

  constructor({
    port,
    config,
    payloadBytesMax,
    peersMax,
    log,
    tap,
    makeRouter = realRouter,
  }: PingpongDoorOptions) {
    this.#port = port;
    this.#config = config;
    this.#tap = tap;
    this.#workerExpireMs = config.workerExpireSeconds * 1000;
    this.faults = new Faults(log);
    this.#known = new Peers(peersMax);
    const limits = {
      peersMax,
      frameBytesMax: payloadBytesMax,
      messageBytesMax: payloadBytesMax + envelopeBytesMax,
      messageFramesMax: partsMax,
    };
    const onFault = (peer: ZmqPeer | undefined, kind: string) => this.#fault(kind, peer);
    this.#clients = makeRouter({
      limits,
      handover: true,
      onFault,
      onPeer: (peer) => this.#clientCame(peer),
      onPeerGone: (peer) => this.#clientWent(peer),
      onMessage: (peer, frames) => this.#fromClient(peer, frames),
    });
    this.#workers = makeRouter({
      limits,
      // [pingpong 5.5] A worker that comes back under its own name takes over its old connection.
      handover: true,
      onFault,
      onPeer: (peer) => this.#workerCame(peer),
      onPeerGone: (peer, reason) => this.#workerWent(peer, reason === "silent"),
      onMessage: (peer, frames) => this.#fromWorker(peer, frames),
    });
    this.#paused = new PausedPeers((peer) => this.#clients.resume(peer));
  }

  async open(): Promise<DoorAddresses> {
    const clients = await bindRouter(this.name, this.#clients, this.#config.clients);
    const workers = await bindRouter(this.name, this.#workers, this.#config.workers);
    return { clients, workers };
  }

  deliver(effects: readonly Effect[]): void {
    for (const effect of effects) {
      if (effect.type === "assign") this.#assign(effect);
      else if (effect.type === "tell") this.#tell(effect);
      else if (effect.type === "refuse") this.#refuse(effect);
      else if (effect.type === "dismiss") this.#dismiss(effect);
    }
    // Effects come when a turn has ended: there is nothing to wait for.
    this.#workers.flush();
    this.#clients.flush();
  }

  handleTimeout(now: Moment): void {
    for (
      let worker = this.#known.takeSilent(now);
      worker !== undefined;
      worker = this.#known.takeSilent(now)
    ) {
      worker.session.leave("silence");
    }
    this.#paused.handleTimeout(now);
  }

  nextDeadline(): Instant | undefined {
    const silence = this.#known.nextDeadline();
    const pause = this.#paused.nextDeadline();
    if (silence === undefined || pause === undefined) return silence ?? pause;
    return silence < pause ? silence : pause;
  }

  /** What still comes is refused by the core, and told so. */
  stopAccepting(): void {}

  async close(): Promise<void> {
    await Promise.all([this.#clients.close(), this.#workers.close()]);
  }

  #clientCame(peer: ZmqPeer): void {
    const name = identityName(peer.identity);
    this.#clientsByName.set(name, peer);
    this.#replyTos.set(peer, { address: name, acknowledges: false });
  }

  #clientWent(peer: ZmqPeer): void {
    const { address = "" } = this.#replyTos.get(peer) ?? {};
    this.#replyTos.delete(peer);
    this.#paused.drop(peer);
    if (this.#clientsByName.get(address) === peer) this.#clientsByName.delete(address);
  }

  #fromClient(peer: ZmqPeer, frames: Buffer[]): void {
    const reading = pingpong.readFromClient(frames);
    if (!reading.ok) return this.#fault(reading.fault, peer);
    if (this.#tap.isOpen) this.#show("in", peer, "job", frames);
    const refusal = pingpong.refuseRequest(reading.message);
    const replyTo = this.#replyTos.get(peer);
    if (refusal !== undefined) this.#answer(peer, refusal);
    else if (replyTo !== undefined) {
      this.#port.post(pingpong.submissionFor(reading.message, this.#config.queue, replyTo));
    }
  }

  #tell({ task, outcome }: Extract<Effect, { type: "tell" }>): void {
    const peer = this.#clientsByName.get(task.replyTo?.address ?? "");
    const sent = peer === undefined ? "gone" : this.#answer(peer, pingpong.answerFor(task, outcome));
    if (sent === "gone" || sent === "full") {
      this.#port.post({ type: "outcome-undelivered", task: task.id, again: sent === "full" });
    } else this.#port.post({ type: "outcome-told", task: task.id });
  }

  /** A full queue also holds its client back, so that what it sends next stays with it. */
  #refuse({ submission, code, message }: Extract<Effect, { type: "refuse" }>): void {
    const peer = this.#clientsByName.get(submission.replyTo?.address ?? "");
    if (peer === undefined) return;
    this.#answer(peer, pingpong.refusalFor(submission, code, message));
    if (code !== "queue_full") return;
    this.#clients.pause(peer);
    this.#paused.add(peer, this.#port.now());
  }

  #answer(peer: ZmqPeer, answer: pingpong.ClientAnswer): ReturnType<DoorRouter["sendTo"]> {
    const frames = pingpong.writeToClient(answer);
    if (this.#tap.isOpen) this.#show("out", peer, answer.type, frames);
    return this.#clients.sendTo(peer, frames);
  }

  #workerCame(peer: ZmqPeer): void {
    const id = workerIdOf(this.name, identityName(peer.identity));
    const worker = this.#known.add(id, this.#sessionOf(peer, id));
    if (worker !== undefined) this.#byConnection.set(peer, worker);
    else this.#fault("too_many_workers", peer);
  }

  #sessionOf(peer: ZmqPeer, id: WorkerId): pingpong.PingpongDoorWorker {
    const { queue, form } = this.#config;
    return new pingpong.PingpongDoorWorker(
      { id, address: peer.address, queue, form },
      {
        post: (event) => this.#port.post(event),
        unexpected: () => this.#fault("unexpected_result", peer),
        send: (message) => {
          const frames = pingpong.writeToWorker(message);
          if (this.#tap.isOpen) this.#show("out", peer, message.type, frames);
          const sent = this.#workers.sendTo(peer, frames);
          return sent === "sent" || sent === "queued";
        },
      },
    );
  }

  #workerWent(peer: ZmqPeer, wasSilent: boolean): void {
    const worker = this.#byConnection.get(peer);
    if (worker === undefined) return;
    this.#byConnection.delete(peer);
    this.#known.remove(worker);
    worker.session.leave(wasSilent ? "silence" : "connection_closed");
  }

  #fromWorker(peer: ZmqPeer, frames: Buffer[]): void {
    const reading = pingpong.readFromWorker(frames);
    if (!reading.ok) {
      // [pingpong 5.6] It may have meant the answer to its job, which nobody would wait for in vain.
      this.#fault(reading.fault, peer);
      this.#workers.disconnect(peer);
      return;
    }
    if (this.#tap.isOpen) this.#show("in", peer, reading.message.type, frames);
    const worker = this.#byConnection.get(peer);
    if (worker === undefined) return;
    worker.session.receive(reading.message);
    this.#watch(worker);
  }

  #assign(effect: Extract<Effect, { type: "assign" }>): void {
    const worker = this.#known.get(effect.worker);
    // One that went since has been said to be gone, and its task is on its way to another.
    if (worker === undefined) return;
    worker.session.assign(effect);
    this.#watch(worker);
  }

  #dismiss({ worker: id, message }: Extract<Effect, { type: "dismiss" }>): void {
    const worker = this.#known.get(id);
    if (worker === undefined) return;
    worker.session.dismiss();
    this.#watch(worker);
    this.faults.add("too_many_workers", worker.session.address, this.#port.now(), message);
  }

  #watch(worker: Worker): void {
    if (worker.session.mayExpire) this.#known.heard(worker, this.#port.now(), this.#workerExpireMs);
    else this.#known.excuse(worker);
  }

  #fault(kind: string, peer: ZmqPeer | undefined): void {
    this.faults.add(kind, peer?.address ?? "unknown", this.#port.now());
  }

  #show(direction: "in" | "out", peer: ZmqPeer, type: string, frames: readonly Buffer[]): void {
    const bytes = frames.reduce((sum, frame) => sum + frame.length, 0);
    const content = frames.map((frame) => frame.subarray(0, shownBytesMax).toString("latin1"));
    this.#tap.show({ door: this.name, direction, peer: identityName(peer.identity), type, bytes, content });
  }
}

/** Enough of a frame to know it by. */
const shownBytesMax = 64;
