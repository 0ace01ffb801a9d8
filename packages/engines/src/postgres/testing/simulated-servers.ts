// A primary server and its synchronous standby. The standby receives commits in their order, a
// little later than they were made. After a promotion there is only what it had received.

import { Backend, type Ending } from "./simulated-backend.js";
import {
  apply,
  copyOf,
  firstTables,
  type Row,
  type RowChange,
  type TableName,
  type Tables,
} from "./simulated-tables.js";
import type { World } from "./simulated-world.js";

interface Commit {
  readonly changes: readonly RowChange[];
  /** Present while a session waits for it. */
  settle?: ((how: Ending) => void) | undefined;
}

interface Lock {
  readonly holder: Backend;
  readonly queue: { readonly backend: Backend; readonly take: () => void }[];
}

/** The hosts at which there is a server. They take turns as the primary. */
const hosts = ["one", "two"] as const;
export const serversUrl = `postgres://${hosts.join()}/yard`;

export class SimulatedServers {
  readonly world: World;
  /** What sessions on the primary see. */
  tables = firstTables();
  /** Called when sessions on the primary may see something else. */
  onSeen: () => void = () => {};
  #standby = copyOf(this.tables);
  #isStandbyUp = true;
  #unsent: Commit[] = [];
  #isSending = false;
  /** Another number for each primary. */
  #generation = 0;
  readonly #backends = new Set<Backend>();
  readonly #locks = new Map<TableName, Lock>();

  constructor(world: World) {
    this.world = world;
  }

  isPrimary(url: string): boolean {
    return url.includes(hosts[this.#generation % 2] as string);
  }

  connect(instance: string, onEnd: () => void): Backend {
    const backend = new Backend(this, instance, onEnd);
    this.#backends.add(backend);
    return backend;
  }

  remove(backend: Backend): void {
    this.#backends.delete(backend);
    this.unlock(backend);
  }

  /** A row of the owner says whether the owner has a session. */
  withSession(row: Row): Row {
    if (row.instance === undefined) return row;
    return { ...row, hasSession: [...this.#backends].some(({ instance }) => instance === row.instance) };
  }

  endSessions(instance: string, except: Backend): void {
    for (const backend of [...this.#backends])
      if (backend.instance === instance && backend !== except) backend.terminate();
  }

  /** Undefined if the lock was free. */
  lock(table: TableName, backend: Backend): Promise<void> | undefined {
    const lock = this.#locks.get(table);
    if (lock?.holder === backend) return undefined;
    if (lock === undefined) {
      this.#locks.set(table, { holder: backend, queue: [] });
      return undefined;
    }
    return new Promise((take) => lock.queue.push({ backend, take }));
  }

  unlock(backend: Backend): void {
    for (const [table, { holder, queue }] of this.#locks) {
      if (holder !== backend) continue;
      const alive = queue.filter((each) => !each.backend.isEnded);
      const next = alive.shift();
      if (next === undefined) this.#locks.delete(table);
      else {
        this.#locks.set(table, { holder: next.backend, queue: alive });
        next.take();
      }
    }
  }

  /** Resolves when others may see it. */
  write(changes: readonly RowChange[], isSync: boolean, backend: Backend): Promise<Ending> {
    const commit: Commit = { changes };
    this.#unsent.push(commit);
    this.#send();
    const show = () => {
      apply(this.tables, changes);
      this.onSeen();
    };
    return new Promise((resolve) => {
      const settle = (how: Ending) => {
        commit.settle = undefined;
        backend.interrupt = undefined;
        show();
        resolve(how);
      };
      if (!isSync) return settle("replicated");
      commit.settle = settle;
      backend.interrupt = settle;
    });
  }

  /** Every session that waits for the standby stops waiting. */
  interruptWaits(how: "cancelled" | "terminated"): void {
    for (const { settle } of [...this.#unsent]) settle?.(how);
  }

  stopStandby(): void {
    this.#isStandbyUp = false;
  }

  startStandby(): void {
    this.#isStandbyUp = true;
    this.#send();
  }

  /** The primary starts again. It keeps what the standby does not have. */
  restart(): void {
    this.interruptWaits("terminated");
    for (const backend of [...this.#backends]) backend.terminate();
  }

  /** The primary is lost. The new one waits for a new standby before anything is done. */
  promote(isHeard: boolean): void {
    this.#startWith(this.#standby, isHeard);
    this.#isStandbyUp = false;
  }

  /** True if a promotion of the standby would not lose this batch. */
  standbyHas(position: number): boolean {
    return (this.#standby.owner.get(1) as Row).position >= position;
  }

  snapshot(): Tables {
    return copyOf(this.#standby);
  }

  /** An operator puts both servers back to what they were. */
  putBack(tables: Tables): void {
    this.#startWith(tables, true);
    this.startStandby();
  }

  #startWith(tables: Tables, isHeard: boolean): void {
    this.#generation += 1;
    this.#isSending = false;
    this.#unsent = [];
    this.#locks.clear();
    this.tables = copyOf(tables);
    this.#standby = copyOf(tables);
    for (const backend of this.#backends) backend.lose(isHeard);
    this.#backends.clear();
    this.onSeen();
  }

  #send(): void {
    if (this.#isSending || !this.#isStandbyUp || this.#unsent.length === 0) return;
    this.#isSending = true;
    const generation = this.#generation;
    const { world } = this;
    const inTurn = (ms: number, work: () => void) =>
      world.plan(undefined, ms, () => generation === this.#generation && work());
    inTurn(world.between(0.2, 2), () => {
      this.#isSending = false;
      if (!this.#isStandbyUp) return;
      const received = this.#unsent.splice(0);
      for (const { changes } of received) apply(this.#standby, changes);
      inTurn(world.between(0.2, 1), () => {
        for (const { settle } of received) settle?.("replicated");
      });
      this.#send();
    });
  }
}
