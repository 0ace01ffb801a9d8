// A simulated scaler client: it sends heartbeats, creates its objects first on every connection,
// submits tasks and graphs, cancels some, and fetches results. Messages without a connection are
// sent on the next one.

import { scaler } from "@yardmaster/dialects";
import { Plug } from "./plug.js";
import type { Random } from "./random.js";
import type { ScalerChecker } from "./scaler-checker.js";
import { isLarge, largeBytes } from "./scaler-sizes.js";
import type { Streams } from "./streams.js";
import { Process, type World } from "./world.js";

export interface ScalerClientPlan {
  readonly name: string;
  readonly tasks: number;
  readonly graphs: number;
  readonly overMs: number;
  readonly cancelShare: number;
  /**
   * Like the original: it requests a result once, and sends no heartbeat until its last one was
   * echoed.
   */
  readonly isOriginal: boolean;
}

export const beatMs = 2_000;
const noFlags = { force: false, retrieveTaskObject: false };

export class ScalerClient {
  readonly process: Process;
  readonly #plan: ScalerClientPlan;
  readonly #world: World;
  readonly #random: Random;
  readonly #checker: ScalerChecker;
  readonly #plug: Plug;
  readonly #id: Buffer;
  #unsent: { readonly message: scaler.ClientMessage; readonly asked: [string, string | undefined][] }[] = [];
  readonly #wanted = new Map<string, string>();
  #last = 0;
  #hasLeft = false;
  #awaitsEcho = false;
  readonly #told = new Set<string>();

  constructor(
    world: World,
    streams: Streams,
    random: Random,
    checker: ScalerChecker,
    plan: ScalerClientPlan,
  ) {
    this.#world = world;
    this.#random = random;
    this.#checker = checker;
    this.#plan = plan;
    this.#id = Buffer.from(plan.name);
    this.process = new Process(plan.name);
    this.#plug = new Plug(world, streams, random, {
      ...{ process: this.process, endpoint: "workers", socketType: "DEALER", identity: plan.name },
      came: () => this.#came(),
      receive: (_line, frames) => this.#receive(frames),
      gone: () => {},
    });
    for (let count = plan.tasks; count > 0; count -= 1) this.#later(() => this.#submit());
    for (let count = plan.graphs; count > 0; count -= 1) this.#later(() => this.#submitGraph());
    this.#beat();
  }

  /** Says goodbye, and sends nothing after it. */
  leave(): void {
    if (this.#hasLeft || this.process.isDead) return;
    this.#hasLeft = true;
    this.#checker.clientGone(this.#plan.name);
    this.#unsent = [];
    this.#plug.send(scaler.writeFromClient({ type: "client-disconnect", kind: "disconnect" }));
  }

  #later(run: () => void): void {
    this.#world.plan(this.process, this.#random.between(0, this.#plan.overMs), () => {
      if (!this.#hasLeft) run();
    });
  }

  #beat(): void {
    this.#world.plan(this.process, beatMs, () => {
      if (this.#hasLeft) return;
      this.#sendHeartbeat();
      this.#beat();
    });
  }

  #came(): void {
    if (this.#hasLeft) return;
    this.#sendHeartbeat();
    this.#create();
    for (const { message, asked } of this.#unsent.splice(0)) this.#say(message, asked);
    // Requests of a connection that is gone.
    if (!this.#plan.isOriginal) for (const id of this.#wanted.keys()) this.#fetch(id);
  }

  #sendHeartbeat(): void {
    if (this.#awaitsEcho && this.#plan.isOriginal) return;
    this.#awaitsEcho = true;
    if (this.#plan.isOriginal) this.#say({ type: "client-heartbeat", cpu: 0, rssBytes: 0n, latencyUs: 0 });
    else this.#plug.send(heartbeat);
  }

  #create(): void {
    const ids = [this.#object("f"), this.#object("a")];
    const bytes = ids.map((id) => (isLarge(this.#id) ? Buffer.from(String(id).padEnd(largeBytes)) : id));
    const objects = { ids, names: ids, bytes, hasSplitCounts: false };
    this.#plug.send(scaler.writeFromClient({ type: "object-create", source: this.#id, ...objects }));
  }

  /**
   * Submitted tasks still need the objects. Later ones will not find them unless they are created
   * again.
   */
  #remove(): void {
    const ids = [this.#object("f"), this.#object("a")];
    const message = { type: "object-delete", source: this.#id, ids, hasSplitCounts: false } as const;
    this.#plug.send(scaler.writeFromClient(message));
  }

  #object(what: string): Buffer {
    return Buffer.from(`${this.#plan.name}:${what}`);
  }

  #say(message: scaler.ClientMessage, asked: [string, string | undefined][] = []): void {
    const { line } = this.#plug;
    if (line === undefined || !this.#plug.send(scaler.writeFromClient(message))) {
      this.#unsent.push({ message, asked });
      return;
    }
    for (const [id, expected] of asked) this.#checker.asked(id, this.#plan.name, line, expected);
    if (asked.length > 0 && this.#random.chance(0.2)) {
      this.#remove();
      this.#world.plan(this.process, 0, () => this.#create());
    }
  }

  #name(what: string): string {
    this.#last += 1;
    return `${this.#plan.name}/${what}${this.#last}`;
  }

  #task(id: string, from: readonly string[]): scaler.TaskMessage {
    const taken = from.map((task) => ({ kind: "T" as const, id: Buffer.from(task) }));
    return {
      ...{ type: "task", task: Buffer.from(id), source: this.#id },
      metadata: scaler.taskMetadata(this.#random.integer(-1, 1)),
      function: this.#object("f"),
      arguments: [{ kind: "R", id: this.#object("a") }, ...taken],
    };
  }

  #submit(): void {
    const id = this.#name("t");
    const message = this.#task(id, []);
    this.#say(message, [[id, this.#valueOf(message, new Map())]]);
    if (this.#random.chance(0.1)) {
      this.#checker.repeated(id);
      this.#say(message);
    }
    if (this.#random.chance(this.#plan.cancelShare))
      this.#cancelLater([id], { type: "task-cancel", task: message.task, flags: noFlags });
  }

  /** The expected content of its result. */
  #valueOf({ task, arguments: args }: scaler.TaskMessage, values: ReadonlyMap<string, string>): string {
    const given = args.map(({ kind, id }) => (kind === "R" ? String(id) : values.get(String(id))));
    return `${task}(${given.join(",")})`;
  }

  #submitGraph(): void {
    const graph = this.#name("g");
    const names = Array.from({ length: this.#random.integer(1, 4) }, () => this.#name("n"));
    const values = new Map<string, string>();
    const nodes = names.map((name, index) => {
      const from = names.slice(0, index).filter(() => this.#random.chance(0.6));
      const node = this.#task(name, from);
      values.set(name, this.#valueOf(node, values));
      return node;
    });
    const targets = names.filter((_, index) => index === names.length - 1 || this.#random.chance(0.3));
    const asked = targets.map((name): [string, string | undefined] => [name, values.get(name)]);
    const message: scaler.GraphMessage = {
      ...{ type: "graph", graph: Buffer.from(graph), source: this.#id },
      ...{ targets: targets.map((name) => Buffer.from(name)), nodes },
    };
    this.#say(message, [...asked, [graph, undefined]]);
    if (this.#random.chance(this.#plan.cancelShare))
      this.#cancelLater([graph, ...names], { type: "graph-cancel", graph: message.graph });
  }

  #cancelLater(ids: readonly string[], message: scaler.ClientMessage): void {
    this.#world.plan(this.process, this.#random.between(1, 3_000), () => {
      if (this.#hasLeft) return;
      for (const id of ids) this.#checker.cancelled(id);
      this.#say(message);
    });
  }

  #receive(frames: Buffer[]): void {
    const reading = scaler.readAtClient(frames);
    if (!reading.ok) throw new Error(`${this.#plan.name} was sent what it cannot read: ${reading.fault}`);
    const { message } = reading;
    if (this.#hasLeft) return;
    if (message.type === "client-heartbeat-echo") this.#awaitsEcho = false;
    if (message.type === "task-result") {
      const id = String(message.task);
      this.#checker.told(this.#plan.name, id, message.status, message.results.length);
      const [result] = message.results;
      if (message.status !== "S" || result === undefined) return;
      if (this.#plan.isOriginal) {
        // Ignores an outcome that it already had.
        if (this.#told.has(id)) return;
        this.#told.add(id);
        this.#checker.awaits(this.#plan.name, id);
      }
      this.#wanted.set(String(result), id);
      this.#fetch(String(result));
    } else if (message.type === "object-answer") {
      const object = String(message.ids[0]);
      const id = this.#wanted.get(object);
      if (id === undefined) return;
      this.#wanted.delete(object);
      const [content] = message.bytes;
      this.#checker.fetched(this.#plan.name, id, content && String(content).trimEnd());
    }
  }

  #fetch(id: string): void {
    const message = { type: "object-request", ids: [Buffer.from(id)] } as const;
    if (this.#plan.isOriginal) this.#say(message);
    else this.#plug.send(scaler.writeFromClient(message));
  }
}

const heartbeat = scaler.writeFromClient({ type: "client-heartbeat", cpu: 0, rssBytes: 0n, latencyUs: 0 });
