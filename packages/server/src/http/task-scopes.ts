// The tasks whose changes are gathered for listeners: all, those of some queues, or those that are
// followed by id. A scope stays open for a while after its last listener left, so that a listener
// that returns misses nothing. Where nothing is wanted, nothing is gathered.

import { after, type Instant, type TaskId } from "@yardmaster/core";

/** For this long after the last listener left, changes are still gathered in case it returns. */
export const lingerMs = 30_000;

/** What a filter names. */
export interface ScopeFilter {
  readonly tasks?: ReadonlySet<TaskId> | undefined;
  readonly queues?: ReadonlySet<string> | undefined;
}

interface Scope {
  listeners: number;
  /** When it is closed; undefined while it has listeners. */
  closesAt: Instant | undefined;
  /** The number of the event from which its changes are told without a gap. */
  readonly from: number;
}

/** In place of a queue's name: the changes of all queues. */
const allQueues = Symbol("all queues");

export class TaskScopes {
  readonly #followed = new Map<TaskId, number>();
  readonly #scopes = new Map<string | typeof allQueues, Scope>();

  /** `nextNumber` makes the number of an event before which a new scope's changes are unknown. */
  open(filter: ScopeFilter, nextNumber: () => number): void {
    for (const id of filter.tasks ?? []) this.#followed.set(id, (this.#followed.get(id) ?? 0) + 1);
    for (const name of namesOf(filter)) {
      const scope = this.#scopes.get(name) ?? { listeners: 0, closesAt: undefined, from: nextNumber() };
      scope.listeners += 1;
      scope.closesAt = undefined;
      this.#scopes.set(name, scope);
    }
  }

  leave(filter: ScopeFilter, now: Instant): void {
    for (const id of filter.tasks ?? []) {
      const left = (this.#followed.get(id) ?? 0) - 1;
      if (left > 0) this.#followed.set(id, left);
      else this.#followed.delete(id);
    }
    for (const name of namesOf(filter)) {
      const scope = this.#scopes.get(name);
      if (scope === undefined) continue;
      scope.listeners -= 1;
      if (scope.listeners === 0) scope.closesAt = after(now, lingerMs);
    }
  }

  /** Closes the scopes whose listeners have been away for too long. */
  tidy(now: Instant): void {
    for (const [name, { closesAt }] of this.#scopes)
      if (closesAt !== undefined && closesAt <= now) this.#scopes.delete(name);
  }

  clear(): void {
    this.#followed.clear();
    this.#scopes.clear();
  }

  get isEmpty(): boolean {
    return this.#followed.size === 0 && this.#scopes.size === 0;
  }

  isFollowed(id: TaskId): boolean {
    return this.#followed.size > 0 && this.#followed.has(id);
  }

  /** True if a listener may hear of changes in this queue. */
  has(queue: string): boolean {
    return this.#scopes.has(allQueues) || this.#scopes.has(queue);
  }

  /** True if a listener filters by this queue. */
  isNamed(queue: string): boolean {
    return this.#scopes.has(queue);
  }

  /** The event from which a listener with this filter can continue without a gap. */
  toldFrom(filter: ScopeFilter): number {
    const all = this.#scopes.get(allQueues)?.from ?? Number.POSITIVE_INFINITY;
    const from = namesOf(filter).map((name) => Math.min(all, this.#scopes.get(name)?.from ?? all));
    return Math.max(0, ...from);
  }
}

/** A listener that follows tasks hears of no others. */
function namesOf({ tasks, queues }: ScopeFilter): (string | typeof allQueues)[] {
  if (tasks !== undefined) return [];
  return queues === undefined ? [allQueues] : [...queues];
}
