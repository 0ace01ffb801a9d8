// The door's whole side of the dialect, without a socket: what each peer turns out to be, the sessions of those that are
// known, and where each effect of the core goes.

import {
  type Body,
  type Effect,
  type Instant,
  type Moment,
  type TaskHead,
  type TaskId,
  type WorkerId,
  workerIdOf,
} from "@yardmaster/core";
import { yardSource } from "./bodies.js";
import { code, isFromClient, isFromWorker, readFromPeer, writeToClient } from "./codec.js";
import type { ScalerDoorClient } from "./door-client.js";
import { DoorClients } from "./door-clients.js";
import { ScalerTasks } from "./door-tasks.js";
import { ScalerDoorWorker } from "./door-worker.js";
import type { WorkerHost, WorkerSettings } from "./door-worker-host.js";
import { ownFrames, plainResult } from "./frames.js";
import type { ScalerHost, ScalerLine, UnknownPeer } from "./line.js";
import { readMemos, type StoredState } from "./memos.js";
import type { ObjectCreate, PeerMessage, ScalerWire } from "./messages.js";
import { type ExchangeSettings, ObjectExchange } from "./object-exchange.js";
import { keyOf } from "./objects.js";
import { LostWorkers, type OwedTasks } from "./owed-tasks.js";
import { PackedFrames } from "./packed-frames.js";
import { keepEarly, UnknownPeers } from "./unknown-peers.js";

export interface SchedulerSettings extends WorkerSettings, ExchangeSettings {
  /** [scaler 4.6] A client's wish to shut everything down is refused. */
  readonly isProtected: boolean;
}

/** How long each kind of peer may be silent is the door's business; which kind it is shows here. */
export type ScalerRole = "worker" | "client";

export interface SchedulerHost extends ScalerHost {
  /** A client is no more; nothing is to be timed for it. */
  clientGone(key: string): void;
}

/** [scaler 3.7] Longer than the time of grace in which workers may come back for what they held. */
const recoveryMs = 60_000;
/** [scaler 3.9] Those that workers can be asked for: what was given out last before a crash is given out first after it. */
const outAgainMax = 100_000;
const never = Number.POSITIVE_INFINITY;

export class ScalerScheduler {
  readonly #settings: SchedulerSettings;
  readonly #host: SchedulerHost;
  readonly #workerHost: WorkerHost;
  readonly #exchange: ObjectExchange;
  readonly #tasks: ScalerTasks;
  readonly #workers = new Map<WorkerId, ScalerDoorWorker>();
  readonly #workerSet = new Set<ScalerDoorWorker>();
  readonly #clients: DoorClients;
  readonly #frames = new PackedFrames();
  #recoversUntil = 0 as Instant;
  /** [scaler 3.9] Tasks up to this number may be held by workers of before. */
  #lastRestored = 0 as TaskId;
  /** Ids of those that were given out again, in that order. */
  readonly #outAgain: Buffer[] = [];
  readonly #lost = new LostWorkers<ScalerWire>();
  readonly #unknown = new UnknownPeers();

  constructor(settings: SchedulerSettings, host: SchedulerHost) {
    this.#settings = settings;
    this.#host = host;
    this.#exchange = new ObjectExchange(settings, host, () => this.#workerSet);
    this.#clients = new DoorClients(this.#exchange, host);
    this.#tasks = new ScalerTasks(settings, host, this.#exchange);
    this.#workerHost = {
      post: (event) => host.post(event),
      now: () => host.now(),
      fault: (kind, peer) => host.fault(kind, peer),
      recover: (task) => this.#recover(task),
      goesOutAgain: (task, id) => this.#goesOutAgain(task, id),
      outAgain: (from, max) => this.#outAgain.slice(from, from + max),
      isOpen: (task) => this.#tasks.isOpen(task),
      isClient: (source) => this.#clients.has(source),
      clientIn: (frames, at) => this.#clients.named(frames, at),
    };
  }

  /** Objects in memory, and what they count for. */
  get objects(): { readonly size: number; readonly bytes: number } {
    return this.#exchange.objects;
  }

  get liveTasks(): number {
    return this.#tasks.size;
  }

  /** [scaler 8] What an earlier life left. `live`: tasks of this door whose outcome was not told. Says which clients there are. */
  restore(
    memos: ReadonlyMap<string, Uint8Array>,
    live: Iterable<TaskHead>,
    lastRestored = 0 as TaskId,
  ): string[] {
    this.#lastRestored = lastRestored;
    this.#recoversUntil = (this.#host.now().instant + recoveryMs) as Instant;
    const stored: StoredState = readMemos(memos);
    const clientOf = (source: Buffer) => this.#clients.restored(source);
    this.#exchange.restore(stored.objects);
    for (const graph of stored.graphs) this.#tasks.restoreGraph(graph, clientOf(graph.source));
    for (const head of live) this.#tasks.restoreTask(head, clientOf);
    this.#tasks.resumeGraphs(stored.nodes);
    this.#exchange.objects.disownAll(keyOf(yardSource));
    this.#exchange.dropUnused();
    for (const owner of this.#exchange.objects.owners()) clientOf(Buffer.from(owner, "latin1"));
    return this.#clients.keys();
  }

  /** [scaler 4.5] A client that is known is told what it has missed. */
  came(line: ScalerLine): void {
    if (this.#clients.has(line.identity)) return this.#comesBack(this.#attach(line), line);
    const lost = this.#lost.take(keyOf(line.identity));
    if (lost === undefined) this.#unknown.came(line, this.#host.now());
    else this.#addWorker(line, lost.wire, lost.owed).comesBack();
  }

  went(line: ScalerLine, wasSilent: boolean): void {
    const { session } = line;
    line.session = undefined;
    if (session?.role === "worker") this.#loseWorker(session, wasSilent ? "silence" : "connection_closed");
    else if (session?.role === "client" && session.line === line) this.#detach(session);
  }

  /** There is room on it again. */
  hasRoom(line: ScalerLine): void {
    const { session } = line;
    if (session?.role === "client") session.flush();
  }

  /** What the peer is, if it has shown it. */
  roleOf(line: ScalerLine): ScalerRole | undefined {
    return line.session?.role;
  }

  /** Gives what was read, for whoever shows it; a peer's mistake is counted. */
  receive(line: ScalerLine, frames: Buffer[]): PeerMessage | undefined {
    const { session } = line;
    if (session === undefined) return undefined;
    const reading = readFromPeer(frames, session.role === "worker" ? session.wire : "r");
    if (!reading.ok) {
      // [scaler 1.6] It may be a result in the other form, from a worker that has not beaten yet.
      if (session.role === undefined && reading.fault !== "unknown_type")
        this.#keepEarly(line, session, frames);
      else this.#host.fault(reading.fault, line.name);
      return undefined;
    }
    const { message } = reading;
    if (session.role === "worker") this.#fromWorker(session, message);
    else if (session.role === "client") this.#fromClient(session, message, line, frames);
    else this.#fromUnknown(line, session, message, frames);
    return message;
  }

  /**
   * The same for a message as packed-frames.ts has it: bytes from..to. False, and nothing done, for any but the few that
   * come for every task and are as they should be.
   */
  receivePacked(line: ScalerLine, bytes: Buffer, from: number, to: number): boolean {
    const { session } = line;
    const frames = this.#frames;
    if (session?.role === undefined || !frames.read(bytes, from, to)) return false;
    const { type } = frames;
    if (session.role === "client") return type === code.TK && this.#tasks.submitPacked(session, frames);
    if (type === code.TR) return session.answerPacked(frames);
    return type === code.OI && session.createPacked(frames);
  }

  /** [scaler 3.2] [scaler 4.5] Silent for too long. */
  workerSilent(line: ScalerLine): void {
    const { session } = line;
    if (session?.role === "worker") this.#loseWorker(session, "silence");
    // It may only have been slow: its next heartbeat makes it known again.
    if (session !== undefined) this.came(line);
  }

  clientSilent(key: string): void {
    const client = this.#clients.get(key);
    if (client !== undefined) this.#endClient(client);
  }

  deliver(effect: Effect): void {
    switch (effect.type) {
      case "assign":
        return this.#workers.get(effect.worker)?.assign(effect);
      case "tell":
        return this.#tasks.tell(effect.task, effect.outcome, (source) => this.#clientToTell(source));
      case "reply":
        return this.#tasks.reply(effect.request, effect.answer);
      case "revoke":
        return this.#workers.get(effect.worker)?.revoke(effect);
      case "recall":
        return this.#workers.get(effect.worker)?.recall(effect);
      case "dismiss":
        this.#host.fault("too_many_workers", effect.worker);
        return this.#workers.get(effect.worker)?.dismiss();
      default:
    }
  }

  payloadFor(task: TaskHead): Body | undefined {
    return this.#tasks.payloadFor(task);
  }

  nextDeadline(): Instant | undefined {
    const objects = this.#exchange.nextDeadline() ?? never;
    const tasks = this.#tasks.nextDeadline() ?? never;
    const next = Math.min(objects, tasks, this.#unknown.nextDeadline() ?? never);
    return next === never ? undefined : (next as Instant);
  }

  handleTimeout(now: Moment): void {
    this.#exchange.handleTimeout(now);
    this.#tasks.handleTimeout();
    this.#unknown.handleTimeout(now);
  }

  /** [scaler 1.6] Its first words tell what it is. */
  #fromUnknown(line: ScalerLine, session: UnknownPeer, message: PeerMessage, frames: Buffer[]): void {
    switch (message.type) {
      case "heartbeat": {
        const worker = this.#addWorker(line, message.wire);
        worker.receive(message);
        for (const early of session.early) this.receive(line, early);
        return;
      }
      case "task-result":
      case "balance-response":
      case "disconnect-request":
        return this.#keepEarly(line, session, frames);
      case "object-create":
        if (!message.source.equals(line.identity)) return this.#createEarly(line, message);
        break;
      case "object-request":
        return this.#keepEarly(line, session, frames);
      case "object-delete":
        // A client that has left clears up behind itself; what it owned is let go already.
        return;
      case "task-cancel":
        return this.#answerUnknown(line, message.task);
      case "graph-cancel":
        return this.#answerUnknown(line, message.graph);
      case "client-disconnect":
        // [scaler 4.5] One that nobody knows is as gone as it wants to be.
        if (message.kind === "disconnect") return;
        break;
      default:
    }
    if (line.identity.equals(yardSource)) return this.#host.fault("wrong_source", line.name);
    this.#fromClient(this.#attach(line), message, line, frames);
    for (const early of session.early) this.receive(line, early);
  }

  #keepEarly(line: ScalerLine, session: UnknownPeer, frames: Buffer[]): void {
    if (!keepEarly(session, frames)) this.#host.fault("no_heartbeat", line.name);
  }

  /** [scaler 1.6] Objects may be large, and show their form by themselves: they need not wait. */
  #createEarly(line: ScalerLine, message: ObjectCreate): void {
    const owner = keyOf(message.source);
    if (this.#clients.has(message.source)) this.#exchange.create(owner, message, line.name);
    else this.#host.fault("unknown_source", line.name);
  }

  #fromWorker(worker: ScalerDoorWorker, message: PeerMessage): void {
    if (isFromWorker(message)) worker.receive(message);
    else this.#host.fault("unexpected_type", worker.line.name);
  }

  #fromClient(client: ScalerDoorClient, message: PeerMessage, line: ScalerLine, frames: Buffer[]): void {
    if (!isFromClient(message)) return this.#host.fault("unexpected_type", line.name);
    switch (message.type) {
      case "client-heartbeat":
        client.beaten();
        return line.answer(writeToClient({ type: "client-heartbeat-echo" }));
      case "task":
        return this.#tasks.submit(client, message);
      case "task-cancel":
        if (!this.#tasks.cancel(client, message.task)) this.#answerUnknown(line, message.task);
        return;
      case "graph":
        return this.#submitGraph(client, frames);
      case "graph-cancel":
        if (!this.#tasks.cancelGraph(client, message.graph)) this.#answerUnknown(line, message.graph);
        return;
      case "object-create":
      case "object-delete":
        if (!message.source.equals(client.id)) this.#host.fault("wrong_source", line.name);
        else if (message.type === "object-create") this.#exchange.create(client.key, message, line.name);
        else for (const id of message.ids) this.#exchange.objects.disown(client.key, id);
        return;
      case "object-request":
        client.asks(message.ids);
        if (client.asker !== undefined) this.#exchange.request(client.asker, message.ids);
        return;
      case "client-disconnect":
        return message.kind === "disconnect" ? this.#endClient(client) : this.#shutDown(client, line);
      default:
        message satisfies never;
    }
  }

  /** It is kept for as long as it runs, and the read it came in is not. */
  #submitGraph(client: ScalerDoorClient, frames: readonly Buffer[]): void {
    const reading = readFromPeer(ownFrames(frames), "r");
    if (reading.ok && reading.message.type === "graph") this.#tasks.submitGraph(client, reading.message);
  }

  /** [scaler 4.6] Workers shut down; the dispatcher itself, and whoever else it serves, goes on. */
  #shutDown(client: ScalerDoorClient, line: ScalerLine): void {
    const isAccepted = !this.#settings.isProtected;
    line.answer(writeToClient({ type: "shutdown-response", isAccepted }));
    if (!isAccepted) return;
    this.#endClient(client);
    for (const worker of this.#workerSet) worker.shutDown();
  }

  /** [scaler 2.2] */
  #answerUnknown(line: ScalerLine, task: Buffer): void {
    line.answer(writeToClient(plainResult(task, "N")));
  }

  #addWorker(line: ScalerLine, wire: ScalerWire, owed?: OwedTasks): ScalerDoorWorker {
    const id = workerIdOf(this.#settings.door, line.name);
    const host = this.#workerHost;
    const worker = new ScalerDoorWorker(id, line, wire, this.#settings, this.#exchange, host, owed);
    line.session = worker;
    this.#workers.set(id, worker);
    this.#workerSet.add(worker);
    return worker;
  }

  #loseWorker(worker: ScalerDoorWorker, reason: "silence" | "connection_closed"): void {
    if (this.#workers.get(worker.id) === worker) this.#workers.delete(worker.id);
    this.#workerSet.delete(worker);
    worker.leave(reason);
    this.#lost.put(keyOf(worker.line.identity), { wire: worker.wire, owed: worker.owed });
  }

  #attach(line: ScalerLine): ScalerDoorClient {
    const client = this.#clients.know(line.identity, line.name);
    line.session = client;
    client.attach(line);
    return client;
  }

  /** [scaler 4.7] It says nothing twice, so what it may wait for is sent again: answers, and the echo of a heartbeat. */
  #comesBack(client: ScalerDoorClient, line: ScalerLine): void {
    const { asker } = client;
    if (asker === undefined) return;
    for (const ids of client.takeAsked()) {
      client.asks(ids);
      this.#exchange.request(asker, ids);
    }
    if (client.isFirstSinceRestart) this.#exchange.pushResults(asker, client.key);
    line.answer(writeToClient({ type: "client-heartbeat-echo" }));
  }

  #detach(client: ScalerDoorClient): void {
    if (client.asker !== undefined) this.#exchange.dropAsker(client.asker);
    client.detach();
  }

  /** [scaler 4.5] Its tasks are cancelled, also on workers, and what it owned is let go. */
  #endClient(client: ScalerDoorClient): void {
    const { line } = client;
    this.#clients.delete(client);
    client.die();
    this.#detach(client);
    if (line !== undefined) this.came(line);
    this.#tasks.cancelAll(client);
    this.#exchange.objects.disownAll(client.key);
    this.#host.clientGone(client.key);
  }

  #clientToTell(source: Buffer): ScalerDoorClient | undefined {
    const known = this.#clients.get(keyOf(source));
    if (known !== undefined || this.#host.now().instant >= this.#recoversUntil) return known;
    return this.#clients.restored(source);
  }

  #goesOutAgain(task: TaskId, id: Buffer): boolean {
    if (task > this.#lastRestored) return false;
    if (this.#outAgain.length < outAgainMax) this.#outAgain.push(id);
    return true;
  }

  #recover(task: Buffer): TaskId | undefined {
    return this.#host.now().instant < this.#recoversUntil ? this.#tasks.restoredTask(task) : undefined;
  }
}
