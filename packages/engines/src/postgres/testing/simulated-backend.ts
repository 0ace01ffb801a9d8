// One session on the simulated primary: it runs statements, holds locks until its transaction ends,
// and waits for the standby as Postgres does. While a commit waits, no other session sees it. If
// the wait is cancelled or terminated, all see it, although the standby may not have it.

import type { Statement } from "../session.js";
import type { SimulatedServers } from "./simulated-servers.js";
import { planOf } from "./simulated-sql.js";
import type { Row, RowChange, TableName } from "./simulated-tables.js";

export interface Answered {
  readonly rows: readonly Row[];
  readonly count: number;
  /** The wait for the standby was cancelled. */
  readonly isDoubtful: boolean;
}

export type Ending = "replicated" | "cancelled" | "terminated";

/** `idle_in_transaction_session_timeout` of the sessions. */
const idleMs = 10_000;

const none: Answered = { rows: [], count: 0, isDoubtful: false };

export class Backend {
  readonly instance: string;
  isEnded = false;
  /** Ends a wait for the standby or for a lock. */
  interrupt: ((how: Ending) => void) | undefined;
  readonly #servers: SimulatedServers;
  readonly #onEnd: () => void;
  #isSync = true;
  #hasLockLimit = false;
  /** Present during a transaction. */
  #transaction: { readonly changes: RowChange[]; readonly isSync: boolean } | undefined;
  #isBusy = false;
  #isHungUp = false;
  #queries = 0;

  /** `onEnd`: the server ended the session. */
  constructor(servers: SimulatedServers, instance: string, onEnd: () => void) {
    this.#servers = servers;
    this.instance = instance;
    this.#onEnd = onEnd;
  }

  async query({ text, values = [] }: Statement): Promise<Answered> {
    this.#isBusy = true;
    const number = ++this.#queries;
    try {
      return await this.#run(text, values);
    } catch (error) {
      this.#end();
      throw error;
    } finally {
      this.#isBusy = false;
      if (this.#isHungUp) this.#end();
      const isIdle = () => number === this.#queries && this.#transaction !== undefined;
      if (isIdle()) this.#servers.world.plan(undefined, idleMs, () => isIdle() && this.terminate());
    }
  }

  /** The client has closed the connection. A statement that runs is run to its end. */
  hangUp(): void {
    this.#isHungUp = true;
    if (!this.#isBusy) this.#end();
  }

  terminate(): void {
    if (this.isEnded) return;
    const { interrupt } = this;
    // A statement that waits fails, and that ends the session.
    if (interrupt !== undefined) return interrupt("terminated");
    this.#end();
    this.#onEnd();
  }

  /** The server is gone. `isHeard`: the client is told. */
  lose(isHeard: boolean): void {
    this.isEnded = true;
    if (isHeard) this.#onEnd();
  }

  #end(): void {
    this.isEnded = true;
    this.#transaction = undefined;
    this.#servers.remove(this);
  }

  async #run(text: string, values: readonly unknown[]): Promise<Answered> {
    if (text.startsWith("set search_path")) {
      this.#isSync = !text.includes("synchronous_commit = off");
      this.#hasLockLimit = text.includes("lock_timeout");
      return none;
    }
    if (text.startsWith("begin")) {
      const isSync = this.#isSync && !text.includes("synchronous_commit = off");
      this.#transaction = { changes: [], isSync };
      return none;
    }
    if (text === "commit") {
      const { changes, isSync } = this.#transaction ?? { changes: [], isSync: false };
      this.#transaction = undefined;
      return { ...none, isDoubtful: await this.#commit(changes, isSync) };
    }
    if (text.includes("pg_terminate_backend")) {
      const [instance, epoch] = values as [string, number];
      if (this.#servers.tables.owner.get(1)?.epoch === epoch) this.#servers.endSessions(instance, this);
      return none;
    }
    return this.#runPlanned(text, values);
  }

  async #runPlanned(text: string, values: readonly unknown[]): Promise<Answered> {
    const servers = this.#servers;
    const plan = planOf(text);
    const seenOwner = servers.tables.owner.get(1) as Row;
    if (plan.locks !== undefined) await this.#lock(plan.locks);
    const { rows = [], count = 0, changes = [] } = plan.run(servers.tables, values, seenOwner);
    const transaction = this.#transaction;
    transaction?.changes.push(...changes);
    const isDoubtful = transaction === undefined && (await this.#commit(changes, this.#isSync));
    return { rows: rows.map((row) => servers.withSession(row)), count, isDoubtful };
  }

  async #lock(table: TableName): Promise<void> {
    const waiting = this.#servers.lock(table, this);
    if (waiting === undefined) return;
    const interrupted = new Promise<never>((_, reject) => {
      const fail = (message: string, code: string) => reject(Object.assign(new Error(message), { code }));
      this.interrupt = () => fail("interrupted while waiting for a lock", "57P01");
      const late = () => fail("canceling statement due to lock timeout", "55P03");
      if (this.#hasLockLimit) this.#servers.world.plan(undefined, 5000, late);
    });
    await Promise.race([waiting, interrupted]).finally(() => {
      this.interrupt = undefined;
    });
  }

  /** True if the standby may not have it. */
  async #commit(changes: readonly RowChange[], isSync: boolean): Promise<boolean> {
    const how = changes.length === 0 ? "replicated" : await this.#servers.write(changes, isSync, this);
    this.#servers.unlock(this);
    if (how === "terminated") throw Object.assign(new Error("terminating connection"), { code: "57P01" });
    return how === "cancelled";
  }
}
