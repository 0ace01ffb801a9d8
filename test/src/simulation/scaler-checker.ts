// Checks scaler's clients and workers from outside: the outcomes and objects they receive, and the
// content of the disk.

import type { Body, TaskHead } from "@yardmaster/core";
import { partsOf } from "@yardmaster/dialects";
import type { MemoryStore } from "@yardmaster/engines";
import { fail } from "./checker.js";
import { DiskTasks, isFinished } from "./disk-tasks.js";

interface SubmittedWork {
  readonly client: string;
  /** The connection on which it was sent; 0 while it was not. */
  line: number;
  /** The content of its result; undefined for a graph. */
  readonly expected: string | undefined;
  told: string | undefined;
}

const stateOfStatus: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries({
    S: ["done"],
    F: ["failed"],
    C: ["cancelled"],
    K: ["failed"],
  }),
);

export class ScalerChecker {
  readonly #store: MemoryStore;
  readonly #disk: DiskTasks;
  readonly #asked = new Map<string, SubmittedWork>();
  readonly #gone = new Set<string>();
  readonly #cancelled = new Set<string>();
  /** Which worker forged an answer to a task, and which received which task. */
  readonly #forged = new Map<string, string>();
  readonly #given = new Set<string>();
  /** Submitted twice: the second is a new task if the first has ended by then. */
  readonly #repeated = new Set<string>();

  /** Results for which clients wait that request only once, and their clients. */
  readonly #awaited = new Map<string, string>();

  constructor(store: MemoryStore) {
    this.#store = store;
    this.#disk = new DiskTasks(store, "scaler");
  }

  asked(id: string, client: string, line: number, expected: string | undefined): void {
    this.#asked.set(id, { client, line, expected, told: undefined });
  }

  cancelled(id: string): void {
    this.#cancelled.add(id);
  }

  repeated(id: string): void {
    this.#repeated.add(id);
  }

  /** A client said goodbye or died, so nothing is owed to it. */
  clientGone(client: string): void {
    this.#gone.add(client);
  }

  /** An outcome reached its client. */
  told(client: string, id: string, status: string, results: number): void {
    const asked = this.#asked.get(id);
    if (asked === undefined) fail(`${client} was told of ${id}, which nobody asked for`);
    if (asked.client !== client) fail(`${client} was told of ${id}, which is ${asked.client}'s`);
    if (status === "N") return;
    if (asked.told !== undefined && asked.told !== status && !this.#repeated.has(id))
      fail(`${id} was told ${asked.told}, and then ${status}`);
    asked.told = status;
    const isGraph = asked.expected === undefined;
    if (!isGraph && (status === "S" || status === "F") !== (results === 1))
      fail(`${id} was told ${status} with ${results} results`);
    if (status === "C" && !this.#cancelled.has(id)) fail(`${id} was told cancelled, and nobody cancelled it`);
    const state = this.#stateOf(id);
    if (
      state !== undefined &&
      !this.#repeated.has(id) &&
      stateOfStatus.get(status)?.includes(state) === false
    )
      fail(`${id} was told ${status}, and is ${state} on the disk`);
    if (state === undefined && status === "S" && !isGraph)
      fail(`${id} was told done, and is not on the disk`);
  }

  forged(worker: string, id: string): void {
    this.#forged.set(id, worker);
  }

  /** A client has requested a result and will not repeat the request. */
  awaits(client: string, id: string): void {
    this.#awaited.set(id, client);
  }

  /** A worker received a task that was already in its queue, which hangs the original. */
  repeatedTask(worker: string, id: string): void {
    fail(`${worker} was given ${id}, which it had in its queue`);
  }

  /** A result was fetched after its task was reported done. */
  fetched(client: string, id: string, content: string | undefined): void {
    this.#awaited.delete(id);
    const { expected } = this.#asked.get(id) ?? {};
    // It received the task while its forged answer was in transit.
    if (content === undefined && this.#given.has(`${this.#forged.get(id)} ${id}`)) return;
    if (content !== expected) fail(`${client} found ${content} as the result of ${id}, and not ${expected}`);
  }

  /** A worker received a task. */
  given(worker: string, id: string): void {
    this.#given.add(`${worker} ${id}`);
    if (this.#stateOf(id) === undefined) fail(`${worker} was given ${id}, which is not on the disk`);
  }

  /** A worker was told that an object of its task does not exist. */
  missing(worker: string, id: string): void {
    const asked = this.#asked.get(id);
    const state = this.#stateOf(id);
    if (asked === undefined || this.#cancelled.has(id) || this.#gone.has(asked.client)) return;
    if (state === "waiting" || state === "running") fail(`${worker} did not find what ${id} needs`);
  }

  #firstAwaited(): string | undefined {
    for (const [id, client] of this.#awaited) if (!this.#gone.has(client)) return id;
    return undefined;
  }

  get acceptedCount(): number {
    return this.#disk.all().length;
  }

  isComplete(isWhole: (line: number) => boolean): boolean {
    for (const asked of this.#asked.values()) if (this.#isOwed(asked, isWhole)) return false;
    if (this.#openGraph() !== undefined || this.#firstAwaited() !== undefined) return false;
    return this.#disk.areFinished();
  }

  finish(isWhole: (line: number) => boolean): void {
    const graph = this.#openGraph();
    if (graph !== undefined) fail(`${graph} was accepted and has not ended`);
    const awaited = this.#firstAwaited();
    if (awaited !== undefined) fail(`the result of ${awaited} never came`);
    const seen = new Set<string>();
    for (const { head, state } of this.#disk.all()) {
      const id = this.#idOf(head);
      if (seen.has(id) && !this.#repeated.has(id)) fail(`${id} was accepted twice`);
      seen.add(id);
      if (!isFinished(state)) fail(`${id} was accepted and is lost: it is ${state}`);
    }
    for (const [id, asked] of this.#asked)
      if (this.#isOwed(asked, isWhole)) fail(`${id} was never told although its connection lives`);
  }

  /** When all clients are gone, nothing of theirs is kept. */
  isClear(): boolean {
    return this.#kept().length === 0;
  }

  finishClear(): void {
    const kept = this.#kept();
    if (kept.length > 0) fail(`all clients are gone, and ${kept.length} memos are kept: ${kept.slice(0, 3)}`);
  }

  /** A graph on the disk whose client is alive. */
  #openGraph(): string | undefined {
    for (const name of this.#kept()) {
      if (!name.startsWith("g.")) continue;
      const graph = Buffer.from(name.slice(2), "hex").toString();
      if (!this.#gone.has(this.#asked.get(graph)?.client ?? "")) return graph;
    }
    return undefined;
  }

  #kept(): string[] {
    const kept: string[] = [];
    this.#store.load((item) => {
      const memo = item.type === "memo" ? item.memo : item.type === "large-memo" ? item : undefined;
      if (memo?.door === "scaler") kept.push(memo.name);
    });
    return kept;
  }

  #isOwed({ client, line, told }: SubmittedWork, isWhole: (line: number) => boolean): boolean {
    return told === undefined && line > 0 && isWhole(line) && !this.#gone.has(client);
  }

  #stateOf(id: string): string | undefined {
    return this.#disk.all().findLast(({ head }) => this.#idOf(head) === id)?.state;
  }

  #idOf(head: TaskHead): string {
    return idIn(this.#disk.payloadOf(head));
  }
}

function idIn(payload: Body): string {
  const parts = partsOf({ ...payload, mediaType: "application/vnd.yardmaster.parts+msgpack" });
  return String(parts[0]);
}
