// The door's whole side of the dialect, without sockets: it finds out what each peer is, keeps the
// sessions of known peers, and routes each effect of the core.

import {
  after,
  type Effect,
  type Instant,
  type Moment,
  type TaskHead,
  type TaskId,
  type WorkerId,
  workerIdOf,
} from "@yardmaster/core";
import { WireFrames } from "../wire-frames.js";
import { yardSource } from "./bodies.js";
import { isFromClient, isFromWorker, readFromPeer, writeToClient } from "./codec.js";
import type { ScalerDoorClient } from "./door-client.js";
import { DoorClients } from "./door-clients.js";
import { ScalerTasks } from "./door-tasks.js";
import { ScalerDoorWorker } from "./door-worker.js";
import type { WorkerHost, WorkerSettings } from "./door-worker-host.js";
import { plainResult } from "./frames.js";
import type { ScalerHost, ScalerLine, UnknownPeer } from "./line.js";
import { readMemos, type StoredState } from "./memos.js";
import type { OversizedFrames, PeerMessage, ScalerWire } from "./messages.js";
import { ObjectCreation } from "./object-creation.js";
import { type ExchangeSettings, ObjectExchange } from "./object-exchange.js";
import type { WriteMemo } from "./object-storage.js";
import { keyOf } from "./objects.js";
import { LostWorkers, type OwedTasks } from "./owed-tasks.js";
import { PackedTask } from "./packed-messages.js";
import { PastTasks, type SearchEnded } from "./past-tasks.js";
import { keepEarly, UnknownPeers } from "./unknown-peers.js";

export interface SchedulerSettings extends WorkerSettings, ExchangeSettings {
  /** [scaler 4.6] When true, a client's request to shut everything down is refused. */
  readonly isProtected: boolean;
  /** For tests: how long workers may answer tasks of before the restart. */
  readonly recoveryMs?: number;
}

/** The door decides how long each kind of peer may be silent; this says which kind it is. */
export type ScalerRole = "worker" | "client";

export interface SchedulerHost extends ScalerHost {
  /** The client has ended; the door must stop its timers. */
  clientGone(key: string): void;
  readonly searchEnded: SearchEnded;
}

/** [scaler 3.7] Longer than the grace period in which workers may come back for their tasks. */
const recoveryMs = 60_000;
const never = Number.POSITIVE_INFINITY;

export class ScalerScheduler {
  readonly #settings: SchedulerSettings;
  readonly #host: SchedulerHost;
  readonly #workerHost: WorkerHost;
  readonly exchange: ObjectExchange;
  readonly #tasks: ScalerTasks;
  readonly #workers = new Map<WorkerId, ScalerDoorWorker>();
  readonly #workerSet = new Set<ScalerDoorWorker>();
  readonly #clients: DoorClients;
  #recoversUntil = 0 as Instant;
  readonly #past: PastTasks;
  readonly #lost = new LostWorkers<ScalerWire>();
  readonly #unknown = new UnknownPeers();

  constructor(settings: SchedulerSettings, host: SchedulerHost) {
    this.#settings = settings;
    this.#host = host;
    const write: WriteMemo = (memo, whenSafe) => this.#tasks.write(memo, whenSafe);
    this.exchange = new ObjectExchange(settings, host, write, () => this.#workerSet);
    this.#clients = new DoorClients(this.exchange, host);
    this.#tasks = new ScalerTasks(settings, host, this.exchange);
    this.#past = new PastTasks(settings.door, host.searchEnded);
    this.#workerHost = {
      ...host,
      recover: (task) => this.#recover(task),
      goesOutAgain: (held) => this.#past.goesOutAgain(held),
      pastTasks: (from, max) => this.#past.since(from, max, this.#host.now().instant),
      isOpen: (task) => this.#tasks.isOpen(task),
      ownerIn: (frames, at) => this.#ownerIn(frames, at),
    };
  }

  get liveTasks(): number {
    return this.#tasks.size;
  }

  /**
   * [scaler 8] Restores the state of before a restart and returns the known clients. `large` has
   * the sizes of memos that were not loaded. `live` are this door's tasks whose outcome was not
   * delivered.
   */
  restore(
    memos: ReadonlyMap<string, Uint8Array>,
    large: ReadonlyMap<string, number>,
    live: Iterable<TaskHead>,
    lastRestored = 0 as TaskId,
  ): string[] {
    this.#recoversUntil = after(this.#host.now().instant, this.#settings.recoveryMs ?? recoveryMs);
    this.#past.restored(lastRestored, this.#recoversUntil);
    const stored: StoredState = readMemos(memos, large);
    for (const name of stored.rubbish) this.#host.post({ type: "memo-dropped", name });
    const clientOf = (source: Buffer) => this.#clients.restored(source);
    this.exchange.restore(stored.objects);
    for (const graph of stored.graphs) this.#tasks.restoreGraph(graph, clientOf(graph.source));
    for (const head of live) this.#tasks.restoreTask(head, clientOf);
    this.#tasks.resumeGraphs(stored.nodes);
    this.exchange.objects.disownAll(keyOf(yardSource));
    this.exchange.dropUnused();
    for (const owner of this.exchange.objects.owners()) clientOf(Buffer.from(owner, "latin1"));
    return this.#clients.keys();
  }

  /** [scaler 4.5] A known client receives the outcomes that it has missed. */
  came(line: ScalerLine): void {
    if (this.#clients.has(line.identity)) return this.#comesBack(this.#attach(line), line);
    const lost = this.#lost.take(keyOf(line.identity));
    if (lost === undefined || line.may?.("work") === false) this.#unknown.came(line, this.#host.now());
    else this.#addWorker(line, lost.wire, lost.owed).comesBack();
  }

  went(line: ScalerLine, wasSilent: boolean): void {
    const { session } = line;
    line.session = undefined;
    if (session?.role === "worker") this.#loseWorker(session, wasSilent ? "silence" : "connection_closed");
    else if (session?.role === "client" && session.line === line) this.#detach(session);
  }

  /** The connection has room again. */
  hasRoom(line: ScalerLine): void {
    const { session } = line;
    if (session?.role === "client") session.flush();
  }

  /** The peer's role, once it is known. */
  roleOf(line: ScalerLine): ScalerRole | undefined {
    return line.session?.role;
  }

  /**
   * Reads a message and carries it out. A peer's mistake is counted. The frames are lent: nothing
   * refers to them afterwards.
   */
  receive(line: ScalerLine, frames: WireFrames, oversized?: OversizedFrames): void {
    const { session } = line;
    if (session === undefined) return;
    const reading = readFromPeer(frames, session.role === "worker" ? session.wire : "r");
    if (!reading.ok) {
      // [scaler 1.6] It may be a result in the other form, from a worker that has not sent a
      // heartbeat yet.
      if (session.role === undefined && reading.fault !== "unknown_type")
        this.#keepEarly(line, session, frames);
      else this.#host.fault(reading.fault, line.name);
      return;
    }
    const { message } = reading;
    if (message instanceof ObjectCreation) message.oversized = oversized;
    if (session.role === "worker") this.#fromWorker(session, message);
    else if (session.role === "client") this.#fromClient(session, message, line);
    else this.#fromUnknown(line, session, message, frames);
  }

  /** [scaler 3.2] [scaler 4.5] The worker was silent for too long. */
  workerSilent(line: ScalerLine): void {
    const { session } = line;
    if (session?.role === "worker") this.#loseWorker(session, "silence");
    // It may only have been slow. Its next heartbeat makes it known again.
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
        this.#past.ended(effect);
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

  nextDeadline(): Instant | undefined {
    const objects = this.exchange.nextDeadline() ?? never;
    const tasks = this.#tasks.nextDeadline() ?? never;
    const next = Math.min(objects, tasks, this.#unknown.nextDeadline() ?? never);
    return next === never ? undefined : (next as Instant);
  }

  handleTimeout(now: Moment): void {
    this.exchange.handleTimeout(now);
    this.#tasks.handleTimeout();
    this.#unknown.handleTimeout(now);
  }

  /** [scaler 1.6] The peer's first messages show its role. */
  #fromUnknown(line: ScalerLine, session: UnknownPeer, message: PeerMessage, frames: WireFrames): void {
    switch (message.type) {
      case "heartbeat": {
        if (line.may?.("work") === false) return this.#host.fault("denied", line.name);
        const worker = this.#addWorker(line, message.wire);
        worker.receive(message);
        for (const early of session.early) this.receive(line, WireFrames.of(early));
        return;
      }
      case "task-result":
      case "balance-response":
      case "disconnect-request":
        return this.#keepEarly(line, session, frames);
      case "object-create":
        if (!message.source.equals(line.identity)) return this.#createEarly(line, ObjectCreation.of(message));
        break;
      case "object-request":
        return this.#keepEarly(line, session, frames);
      case "object-delete":
        // A client deletes its objects after it has left; they are gone already.
        return;
      case "task-cancel":
        return this.#answerUnknown(line, message.task);
      case "graph-cancel":
        return this.#answerUnknown(line, message.graph);
      case "client-disconnect":
        // [scaler 4.5] An unknown client that leaves needs no answer.
        if (message.kind === "disconnect") return;
        break;
      default:
    }
    if (line.identity.equals(yardSource)) return this.#host.fault("wrong_source", line.name);
    this.#fromClient(this.#attach(line), message, line);
    for (const early of session.early) this.receive(line, WireFrames.of(early));
  }

  #keepEarly(line: ScalerLine, session: UnknownPeer, frames: WireFrames): void {
    if (!keepEarly(session, frames)) this.#host.fault("no_heartbeat", line.name);
  }

  /** [scaler 1.6] A creation shows its own form and may be large, so it is processed at once. */
  #createEarly(line: ScalerLine, creation: ObjectCreation): void {
    const owner = this.#clients.named(creation.frames, creation.sourceAt)?.key;
    if (line.may?.("work") === false) this.#host.fault("denied", line.name);
    else if (owner !== undefined) this.exchange.create(owner, creation, line);
    else this.#host.fault("unknown_source", line.name);
  }

  #ownerIn(frames: WireFrames, at: number): string | undefined {
    return (
      this.#clients.named(frames, at)?.key ?? (frames.is(at, yardSource) ? keyOf(yardSource) : undefined)
    );
  }

  #fromWorker(worker: ScalerDoorWorker, message: PeerMessage): void {
    if (isFromWorker(message)) worker.receive(message);
    else this.#host.fault("unexpected_type", worker.line.name);
  }

  #fromClient(client: ScalerDoorClient, message: PeerMessage, line: ScalerLine): void {
    if (!isFromClient(message)) return this.#host.fault("unexpected_type", line.name);
    switch (message.type) {
      case "client-heartbeat":
        client.beaten();
        return line.answer(writeToClient({ type: "client-heartbeat-echo" }));
      case "task":
        return this.#tasks.submit(client, PackedTask.of(message));
      case "task-cancel":
        if (!this.#tasks.cancel(client, message.task)) this.#answerUnknown(line, message.task);
        return;
      case "graph":
        return this.#tasks.submitGraph(client, message);
      case "oversized-request":
        return this.#tasks.refuse(client, message);
      case "graph-cancel":
        if (!this.#tasks.cancelGraph(client, message.graph)) this.#answerUnknown(line, message.graph);
        return;
      case "object-create":
      case "object-delete":
        if (!message.source.equals(client.id)) this.#host.fault("wrong_source", line.name);
        else if (line.may?.("submit") === false) this.#host.fault("denied", line.name);
        else if (message.type === "object-create")
          this.exchange.create(client.key, ObjectCreation.of(message), line);
        else this.exchange.delete(client.key, message, line);
        return;
      case "object-request":
        client.asks(message.ids);
        if (client.requester !== undefined) this.exchange.request(client.requester, message.ids);
        return;
      case "client-disconnect":
        return message.kind === "disconnect" ? this.#endClient(client) : this.#shutDown(client, line);
      default:
        message satisfies never;
    }
  }

  /** [scaler 4.6] Workers shut down. The dispatcher goes on serving all other peers. */
  #shutDown(client: ScalerDoorClient, line: ScalerLine): void {
    const isDenied = line.may?.("operate") === false;
    if (isDenied) this.#host.fault("denied", line.name);
    const isAccepted = !this.#settings.isProtected && !isDenied;
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
    const worker = new ScalerDoorWorker(id, line, wire, this.#settings, this.exchange, host, owed);
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

  /** [scaler 4.7] Sends answers and an echo again, because the client repeats no request. */
  #comesBack(client: ScalerDoorClient, line: ScalerLine): void {
    const { requester } = client;
    if (requester === undefined) return;
    for (const ids of client.takeAsked()) {
      client.asks(ids);
      this.exchange.request(requester, ids);
    }
    if (client.isFirstSinceRestart) this.exchange.pushResults(requester, client.key);
    line.answer(writeToClient({ type: "client-heartbeat-echo" }));
  }

  #detach(client: ScalerDoorClient): void {
    if (client.requester !== undefined) this.exchange.dropRequester(client.requester);
    client.detach();
  }

  /** [scaler 4.5] Cancels its tasks, also on workers, and drops its objects. */
  #endClient(client: ScalerDoorClient): void {
    const { line } = client;
    this.#clients.delete(client);
    client.die();
    this.#detach(client);
    if (line !== undefined) this.came(line);
    this.#tasks.cancelAll(client);
    this.exchange.deleteAll(client.key);
    this.#host.clientGone(client.key);
  }

  #clientToTell(source: Buffer): ScalerDoorClient | undefined {
    const known = this.#clients.get(keyOf(source));
    if (known !== undefined || this.#host.now().instant >= this.#recoversUntil) return known;
    return this.#clients.restored(source);
  }

  #recover(task: Buffer): TaskId | undefined {
    return this.#host.now().instant < this.#recoversUntil ? this.#tasks.restoredTask(task) : undefined;
  }
}
