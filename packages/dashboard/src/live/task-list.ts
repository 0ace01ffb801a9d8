// The list of tasks that match a filter: pages by cursor, what is new since, and how many there
// are.

import { useEffect, useRef } from "preact/hooks";
import type { Task, TaskPage } from "./api-shapes.js";
import { getJson, Refusal } from "./session.js";
import { useRender } from "./ticker.js";

const pageSize = 100;
const newEveryMs = 2_000;

/** What `GET /v1/tasks:count` says; a dispatcher that lacks it has no counts. */
export interface TaskCount {
  readonly count: number;
  /** There are more than were counted. */
  readonly isMore?: boolean;
  readonly byQueue?: Readonly<Record<string, number>>;
  readonly histogram?: {
    readonly from: string;
    readonly stepMs: number;
    readonly queues: Readonly<Record<string, readonly number[]>>;
  };
}

export class TaskList {
  items: Task[] = [];
  cursor: string | null = null;
  fresh: Task[] = [];
  count: TaskCount | undefined;
  /** False once the dispatcher said that it has no such route. */
  hasCounts = true;
  isLoading = true;
  fault: unknown;
  tookMs = 0;
  /** By the clock of this computer: a search that takes long says so. */
  startedAt = Date.now();
  readonly filter: Readonly<Record<string, string>>;
  readonly #changed: () => void;
  #stop = new AbortController();
  #timer: ReturnType<typeof setInterval> | undefined;
  /** Raised by each load, so that an answer from before it is recognised. */
  #loads = 0;
  #isLooking = false;
  #counts = 0;

  constructor(filter: Readonly<Record<string, string>>, changed: () => void) {
    this.filter = filter;
    this.#changed = changed;
  }

  start(): void {
    void this.reload();
    this.#timer = setInterval(() => {
      if (!document.hidden) void this.#lookForNew();
    }, newEveryMs);
  }

  close(): void {
    clearInterval(this.#timer);
    this.#stop.abort();
  }

  /** Ends a search that takes too long; what was found stays. */
  stop(): void {
    this.#stop.abort();
    this.#stop = new AbortController();
    this.isLoading = false;
    this.#changed();
  }

  async reload(): Promise<void> {
    const before = performance.now();
    this.startedAt = Date.now();
    await this.#load(async () => {
      const page = await this.#page(null);
      this.items = [...page.items];
      this.cursor = page.cursor;
      this.fresh = [];
      this.tookMs = Math.round(performance.now() - before);
    });
    await this.#countAll();
  }

  async more(): Promise<void> {
    if (this.isLoading || this.cursor === null) return;
    await this.#load(async () => {
      const page = await this.#page(this.cursor);
      this.items = [...this.items, ...page.items];
      this.cursor = page.cursor;
    });
  }

  showNew(): void {
    this.items = [...this.fresh, ...this.items];
    this.fresh = [];
    this.#changed();
  }

  async #load(work: () => Promise<void>): Promise<void> {
    const { signal } = this.#stop;
    this.#loads += 1;
    const number = this.#loads;
    this.isLoading = true;
    this.fault = undefined;
    this.#changed();
    try {
      await work();
    } catch (fault) {
      if (!signal.aborted) this.fault = fault;
    }
    // Stopped, and another one runs.
    if (number !== this.#loads) return;
    this.isLoading = false;
    this.#changed();
  }

  #page(cursor: string | null, limit = pageSize): Promise<TaskPage> {
    const query = new URLSearchParams({ ...this.filter, limit: String(limit) });
    if (cursor !== null) query.set("cursor", cursor);
    return getJson<TaskPage>(`v1/tasks?${query}`, { signal: this.#stop.signal });
  }

  async #countAll(): Promise<void> {
    if (!this.hasCounts) return;
    this.#counts += 1;
    const number = this.#counts;
    try {
      const count = await getJson<TaskCount>(
        `v1/tasks:count?${new URLSearchParams({ ...this.filter, buckets: "60" })}`,
      );
      if (number === this.#counts) this.count = count;
    } catch (fault) {
      if (fault instanceof Refusal && (fault.status === 404 || fault.status === 405)) this.hasCounts = false;
    }
    this.#changed();
  }

  /**
   * Tasks that are listed are brought up to date where they are; new ones gather behind a button.
   */
  async #lookForNew(): Promise<void> {
    if (this.isLoading || this.#isLooking) return;
    const loads = this.#loads;
    this.#isLooking = true;
    const page = await this.#page(null).catch(() => undefined);
    this.#isLooking = false;
    // What was loaded meanwhile is newer than this answer.
    if (!page || loads !== this.#loads) return;
    const known = new Map(page.items.map((task) => [task.id, task]));
    this.items = this.items.map((task) => known.get(task.id) ?? task);
    const listed = new Set(this.items.map(({ id }) => id));
    this.fresh = page.items.filter(({ id }) => !listed.has(id));
    if (this.items.length === 0 && this.fresh.length > 0) this.showNew();
    void this.#countAll();
    this.#changed();
  }
}

export function useTaskList(key: string, filter: Readonly<Record<string, string>>): TaskList {
  const render = useRender();
  const held = useRef<{ key: string; list: TaskList } | undefined>(undefined);
  if (held.current?.key !== key) held.current = { key, list: new TaskList(filter, render) };
  const { list } = held.current;
  useEffect(() => {
    list.start();
    return () => list.close();
  }, [list]);
  return list;
}
