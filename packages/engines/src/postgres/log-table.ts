// The log: where a batch first becomes durable. Batches have a position, which grows by one over
// all owners. The owner row says who may append and how far the log goes, and one statement checks
// that row, moves it on and inserts the batch. So a deposed owner can append nothing.
//
// A batch that is in the log is not yet done: the server may have given up waiting for its standby.
// After any doubt, only a later write to the owner row that is itself confirmed proves that
// everything before it is replicated.

import { StoreFault } from "../embedded/store-faults.js";
import type { CommitOutcome } from "../engine.js";
import { type Session, Unavailable } from "./session.js";

export interface OwnerRow {
  readonly epoch: number;
  /** The position after which this epoch begins. */
  readonly start: number;
  /** The last batch of the log. */
  readonly position: number;
  /** A batch that the owner had acknowledged when it wrote the row. */
  readonly safe: number;
  readonly beat: number;
  /** Empty if the owner stepped down. */
  readonly instance: string;
  readonly node: string | null;
  readonly address: string | null;
}

export interface Claimant {
  readonly instance: string;
  readonly node?: string | undefined;
  readonly address?: string | undefined;
}

const done: CommitOutcome = { type: "done" };

export async function readOwner(session: Session): Promise<OwnerRow> {
  const text = "select epoch, start, position, safe, beat, instance, node, address from owner";
  const { rows } = await session.query<OwnerRow>({ text, name: "owner" });
  if (rows[0] === undefined) throw new StoreFault("damaged", "Postgres: the owner row is not there");
  return rows[0];
}

/**
 * Becomes the owner, if the owner is still the one that was seen. Returns undefined if another was
 * faster. `isExact`: only if it has written nothing since.
 */
export async function claim(
  session: Session,
  seen: OwnerRow,
  { instance, node, address }: Claimant,
  isExact = false,
): Promise<OwnerRow | undefined> {
  const text = `update owner set epoch = epoch + 1, start = position, beat = beat + 1,
      instance = $2, node = $3, address = $4
    where epoch = $1 and ($5::bigint < 0 or (position = $5 and beat = $6::bigint))`;
  const exact = isExact ? [seen.position, seen.beat] : [-1, -1];
  const values = [seen.epoch, instance, node, address, ...exact];
  const claimed = await session.query({ text, values });
  const row = await readOwner(session);
  if (row.instance !== instance || row.epoch !== seen.epoch + 1) return undefined;
  // The row may be that of an earlier try whose answer was lost, and of which nothing is proven.
  const isProven = claimed.count === 1 && !claimed.isDoubtful;
  return isProven || (await confirm(session, row)) ? row : undefined;
}

/**
 * A write that counts as a sign of life, and proves that what came before it is replicated. `safe`:
 * the last batch that was acknowledged, if it is known.
 */
export async function confirm(
  session: Session,
  { epoch, instance, position }: Pick<OwnerRow, "epoch" | "instance" | "position">,
  safe = 0,
): Promise<true | undefined> {
  const text = `update owner set beat = beat + 1, safe = greatest(safe, $3::bigint)
    where epoch = $1 and instance = $4 and position >= $2`;
  const values = [epoch, position, safe, instance];
  const { count, isDoubtful } = await session.query({ text, name: "confirm", values });
  if (isDoubtful) throw new Unavailable("the server did not wait for its standby");
  return count === 1 ? true : undefined;
}

/** Leaves the database without an owner, so that a standby claims it at once. */
export async function release(session: Session, { epoch, instance }: OwnerRow): Promise<void> {
  const text = `update owner set instance = '', node = null, address = null, beat = beat + 1
    where epoch = $1 and instance = $2`;
  await session.query({ text, values: [epoch, instance] });
}

/**
 * Ends the sessions of an earlier owner: one that was stopped during a fold holds locks. If the
 * earlier owner has claimed again in the meantime, nothing happens: otherwise two claimants would
 * end each other.
 */
export async function endSessions(session: Session, instance: string, { epoch }: OwnerRow): Promise<void> {
  const text = `select pg_terminate_backend(pid) from pg_stat_activity, owner
    where application_name = $1 and usename = current_user and pid <> pg_backend_pid() and epoch = $2`;
  await session.query({ text, values: [instance, epoch] });
}

/**
 * What one owner appends. An owner is an epoch and an instance: the epoch of a claim that a new
 * primary does not have is given again.
 */
export class LogTable {
  readonly #session: Session;
  readonly #epoch: number;
  readonly #instance: string;
  /** The last position whose replication is proven. */
  #safe: number;

  constructor(session: Session, { epoch, instance, position }: OwnerRow) {
    this.#session = session;
    this.#epoch = epoch;
    this.#instance = instance;
    this.#safe = position;
  }

  /** The position must be the one after the last that was done. */
  async append(position: number, bytes: Uint8Array): Promise<CommitOutcome> {
    const outcome = await this.#tried(
      async () => (await this.#insert(position, bytes)) ?? this.#look(position),
    );
    if (outcome.type === "done") this.#safe = position;
    return outcome;
  }

  /** Writes a sign of life. The outcome is `fenced` if this is no longer the owner. */
  beat(): Promise<CommitOutcome> {
    return this.#tried(async () => {
      const position = this.#safe;
      return (await this.#confirm(position, position)) ? done : this.#look(position);
    });
  }

  /** Undefined if the outcome is in doubt and must be looked up. */
  async #insert(position: number, bytes: Uint8Array): Promise<CommitOutcome | undefined> {
    const text = `with own as (
        update owner set position = $2, safe = $2 - 1, beat = beat + 1
        where epoch = $1 and instance = $4 and position = $2 - 1
        returning position)
      insert into log (position, bytes) select position, $3 from own`;
    const values = [this.#epoch, position, bytes, this.#instance];
    try {
      const { count, isDoubtful } = await this.#session.query({ text, name: "append", values });
      return count === 1 && !isDoubtful ? done : undefined;
    } catch (error) {
      if (error instanceof Unavailable) return undefined;
      throw error;
    }
  }

  async #look(position: number): Promise<CommitOutcome> {
    const row = await readOwner(this.#session);
    if (row.epoch > this.#epoch || (row.epoch === this.#epoch && row.instance === "")) {
      const message = `epoch ${row.epoch} has the database; this engine opened it in epoch ${this.#epoch}`;
      return { type: "fenced", message };
    }
    if (row.epoch < this.#epoch || row.instance !== this.#instance || row.position < this.#safe) {
      const message = `the database is at epoch ${row.epoch} and batch ${row.position}, and batch ${this.#safe} of epoch ${this.#epoch} was acknowledged`;
      return { type: "regressed", message };
    }
    if (row.position < position) return { type: "unavailable", message: "the batch was not written" };
    return (await this.#confirm(position)) ? done : this.#look(position);
  }

  #confirm(position: number, safe?: number): Promise<true | undefined> {
    return confirm(this.#session, { epoch: this.#epoch, instance: this.#instance, position }, safe);
  }

  async #tried(work: () => Promise<CommitOutcome>): Promise<CommitOutcome> {
    try {
      return await work();
    } catch (error) {
      const { message } = error as Error;
      if (error instanceof Unavailable) return { type: "unknown", message };
      if (error instanceof StoreFault && error.code === "full") return { type: "full", message };
      throw error;
    }
  }
}
