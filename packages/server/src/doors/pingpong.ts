// The pingpong door: two ROUTERs, one for clients and one for workers, around the dialect's sessions.

import {
  type Effect,
  type Instant,
  type Moment,
  type ReplyTo,
  type TaskId,
  type WorkerId,
  workerIdOf,
} from "@yardmaster/core";
import { bodyOfStretch, partsMax, pingpong } from "@yardmaster/dialects";
import { Totals, type Peer as ZmqPeer } from "@yardmaster/zmtp";
import type { DoorConfig } from "../config/door-settings.js";
import type { Door, DoorAddresses, Port } from "../door-kit/door.js";
import { Faults, type LogFault } from "../door-kit/faults.js";
import { PausedPeers } from "../door-kit/paused-peers.js";
import { type Peer, Peers } from "../door-kit/peers.js";
import type { Tap } from "../door-kit/tap.js";
import {
  assemblyBytesOf,
  bindRouter,
  type DoorRouter,
  identityName,
  type MakeRouter,
  realRouter,
} from "../door-kit/zmq.js";

export interface PingpongDoorOptions {
  readonly port: Port;
  readonly config: DoorConfig<"pingpong">;
  readonly payloadBytesMax: number;
  readonly peersMax: number;
  /** Of messages that have not arrived whole, over all peers of the door. */
  readonly unfinishedBytesMax?: number;
  readonly log: LogFault;
  readonly tap: Tap;
  readonly makeRouter?: MakeRouter;
}

type Worker = Peer<pingpong.PingpongDoorWorker>;

/**
 * [pingpong 4.5] Where a client's answers go. Without correlation frames an answer is known only by the connection it
 * comes over: on a later one under the same name it would be taken for the answer to what was asked there. With them it
 * may go to whoever has the client's own name.
 */
interface ReplyTos {
  readonly here: ReplyTo;
  readonly anywhere: ReplyTo;
}

/** What to do about a fault that a setting of ours may have caused; part of its line in the log. */
const adviceOn: Readonly<Record<pingpong.WorkerFault, string | undefined>> = {
  unexpected_result: undefined,
  other_form:
    "The worker answered without naming its job, as in document form; this door has doors.pingpong.form: program.",
  pings_at_work:
    "The worker pings although it has a job. If it expects the program form, it has ignored the job: set doors.pingpong.form: program.",
};

/** Frames around the payload, and the identity of who asked. */
const envelopeBytesMax = 64 * 1024;

export class PingpongDoor implements Door {
  readonly name = "pingpong";
  /** [pingpong 5.7] What a worker says before it answers names no job. */
  readonly forgets = true;
  readonly faults: Faults;
  readonly #port: Port;
  readonly #config: DoorConfig<"pingpong">;
  readonly #tap: Tap;
  readonly #workerExpireMs: number;
  readonly #clients: DoorRouter;
  readonly #workers: DoorRouter;
  /** Clients by the addresses of their answers, and those addresses. */
  readonly #clientsByAddress = new Map<string, ZmqPeer>();
  readonly #replyTos = new Map<ZmqPeer, ReplyTos>();
  readonly #known: Peers<pingpong.PingpongDoorWorker>;
  readonly #byConnection = new Map<ZmqPeer, Worker>();
  readonly #paused: PausedPeers<ZmqPeer>;
  /** Refusals that a client had no room for. It is not read until it has taken them, so they stay few. */
  readonly #owed = new Map<ZmqPeer, pingpong.ClientAnswer[]>();
  /** Of the effects under way. */
  #told: TaskId[] = [];
  /** Tells this life's connections, and its names of jobs, from those of any other. */
  #life = "";

  constructor({
    port,
    config,
    payloadBytesMax,
    peersMax,
    unfinishedBytesMax = 0,
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
      assemblyBytesMax: assemblyBytesOf(unfinishedBytesMax, payloadBytesMax),
    };
    const totals = new Totals();
    const onFault = (peer: ZmqPeer | undefined, kind: string) => this.#fault(kind, peer);
    this.#clients = makeRouter({
      limits,
      totals,
      handover: true,
      onFault,
      onPeer: (peer) => this.#clientCame(peer),
      onPeerGone: (peer) => this.#clientWent(peer),
      onMessage: (peer, frames) => this.#fromClient(peer, frames),
      onPacked: (peer, bytes, from, to) => this.#usualFromClient(peer, bytes, from, to),
    });
    this.#workers = makeRouter({
      limits,
      totals,
      // [pingpong 5.5] A worker that comes back under its own name takes over its old connection.
      handover: true,
      onFault,
      onPeer: (peer) => this.#workerCame(peer),
      onPeerGone: (peer, reason) => this.#workerWent(peer, reason === "silent"),
      onMessage: (peer, frames) => this.#fromWorker(peer, frames),
      onPacked: (peer, bytes, from, to) => this.#usualFromWorker(peer, bytes, from, to),
    });
    this.#paused = new PausedPeers((peer) => this.#resume(peer));
  }

  async open(): Promise<DoorAddresses> {
    this.#life = Math.floor(this.#port.now().wall).toString(36);
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
    if (this.#told.length > 0) {
      this.#port.post({ type: "outcomes-told", tasks: this.#told });
      this.#told = [];
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
    const connection = `${name} ${this.#life}.${peer.id.toString(36)}`;
    const here: ReplyTo = { address: connection, isFleeting: true };
    const replyTos = hasOwnName(peer)
      ? { here, anywhere: { address: name, isFleeting: false } }
      : { here, anywhere: here };
    this.#replyTos.set(peer, replyTos);
    this.#clientsByAddress.set(replyTos.here.address, peer);
    this.#clientsByAddress.set(replyTos.anywhere.address, peer);
  }

  #clientWent(peer: ZmqPeer): void {
    const { here, anywhere } = this.#replyTos.get(peer) ?? {};
    this.#replyTos.delete(peer);
    this.#paused.drop(peer);
    this.#owed.delete(peer);
    for (const { address } of [here, anywhere].filter((replyTo) => replyTo !== undefined)) {
      if (this.#clientsByAddress.get(address) === peer) this.#clientsByAddress.delete(address);
    }
  }

  #fromClient(peer: ZmqPeer, frames: Buffer[]): void {
    const reading = pingpong.readFromClient(frames);
    if (!reading.ok) return this.#fault(reading.fault, peer);
    this.#note("in", peer, "job", frames);
    const refusal = pingpong.refuseRequest(reading.message);
    const replyTos = this.#replyTos.get(peer);
    if (refusal !== undefined) this.#refuseTo(peer, refusal);
    else if (replyTos !== undefined) {
      const replyTo = reading.message.correlation.length > 0 ? replyTos.anywhere : replyTos.here;
      this.#port.post(pingpong.submissionFor(reading.message, this.#config.queue, replyTo));
    }
  }

  /** The same for a job as nearly all are; false for any other. */
  #usualFromClient(peer: ZmqPeer, bytes: Buffer, from: number, to: number): boolean {
    const at = this.#usualContent(bytes, from, to);
    const replyTo = at < 0 ? undefined : this.#replyTos.get(peer)?.here;
    if (replyTo === undefined) return false;
    this.#tap.count(this.name, "in", "job", to - at);
    const payload = bodyOfStretch(bytes, at, to);
    this.#port.post({ type: "task-submitted", submission: { queue: this.#config.queue, payload, replyTo } });
    return true;
  }

  /** While somebody looks at what comes in, all of it is read frame by frame. */
  #usualContent(bytes: Buffer, from: number, to: number): number {
    return this.#tap.isOpen ? -1 : pingpong.usualContent(bytes, from, to);
  }

  #tell({ task, outcome }: Extract<Effect, { type: "tell" }>): void {
    const peer = this.#clientsByAddress.get(task.replyTo?.address ?? "");
    const sent = peer === undefined ? "gone" : this.#answer(peer, pingpong.answerFor(task, outcome));
    if (sent === "gone" || sent === "full") {
      this.#port.post({ type: "outcome-undelivered", task: task.id, again: sent === "full" });
    } else this.#told.push(task.id);
  }

  /** A full queue also holds its client back, so that what it sends next stays with it. */
  #refuse({ submission, code, message }: Extract<Effect, { type: "refuse" }>): void {
    const peer = this.#clientsByAddress.get(submission.replyTo?.address ?? "");
    if (peer === undefined) return;
    this.#refuseTo(peer, pingpong.refusalFor(submission, code, message));
    if (code === "queue_full") this.#pause(peer);
  }

  #refuseTo(peer: ZmqPeer, refusal: pingpong.ClientAnswer): void {
    const owed = this.#owed.get(peer);
    if (owed !== undefined) owed.push(refusal);
    else if (this.#answer(peer, refusal) === "full") {
      this.#owed.set(peer, [refusal]);
      this.#pause(peer);
    }
  }

  #pause(peer: ZmqPeer): void {
    this.#clients.pause(peer);
    this.#paused.add(peer, this.#port.now());
  }

  #resume(peer: ZmqPeer): void {
    const owed = this.#owed.get(peer) ?? [];
    for (let next = owed[0]; next !== undefined; next = owed[0]) {
      if (this.#answer(peer, next) === "full") return this.#pause(peer);
      owed.shift();
    }
    this.#owed.delete(peer);
    this.#clients.resume(peer);
  }

  #answer(peer: ZmqPeer, answer: pingpong.ClientAnswer): ReturnType<DoorRouter["sendTo"]> {
    const frames = pingpong.writeToClient(answer);
    this.#note("out", peer, answer.type, frames);
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
      { id, address: peer.address, queue, form, life: this.#life },
      {
        post: (event) => this.#port.post(event),
        fault: (kind) => this.#fault(kind, peer, adviceOn[kind]),
        disconnect: () => this.#workers.disconnect(peer),
        send: (message) => {
          const frames = pingpong.writeToWorker(message);
          this.#note("out", peer, message.type, frames);
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
    this.#note("in", peer, reading.message.type, frames);
    const worker = this.#byConnection.get(peer);
    if (worker === undefined) return;
    worker.session.receive(reading.message);
    this.#watch(worker);
  }

  #usualFromWorker(peer: ZmqPeer, bytes: Buffer, from: number, to: number): boolean {
    // In program form a result is never just its content.
    const at = this.#config.form === "program" ? -1 : this.#usualContent(bytes, from, to);
    const worker = at < 0 ? undefined : this.#byConnection.get(peer);
    if (worker === undefined) return false;
    this.#tap.count(this.name, "in", "result", to - at);
    worker.session.finish(bodyOfStretch(bytes, at, to));
    this.#watch(worker);
    return true;
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

  #fault(kind: string, peer: ZmqPeer | undefined, advice?: string): void {
    this.faults.add(kind, peer?.address ?? "unknown", this.#port.now(), advice);
  }

  #note(direction: "in" | "out", peer: ZmqPeer, type: string, frames: readonly Buffer[]): void {
    let bytes = 0;
    for (const frame of frames) bytes += frame.length;
    this.#tap.count(this.name, direction, type, bytes);
    if (!this.#tap.isOpen) return;
    const content = frames.map((frame) => frame.subarray(0, shownBytesMax).toString("latin1"));
    this.#tap.show({ door: this.name, direction, peer: identityName(peer.identity), type, bytes, content });
  }
}

/** A name that a ROUTER made up begins with a zero byte, and may be given again in another life. */
function hasOwnName({ identity }: ZmqPeer): boolean {
  return identity[0] !== 0;
}

/** Enough of a frame to know it by. */
const shownBytesMax = 64;
