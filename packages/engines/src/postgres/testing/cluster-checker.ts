// What must hold under every fault:
//
// - An acknowledged batch is on the standby, and every later owner reads it, in order and once.
// - No other batch takes its place.
// - A deposed owner does not answer as the owner.
// - The tables hold the batches up to the fold row, and the log holds at least the rest.
// - A dispatcher that could know of a loss does not go on.

import { RecordReader, readDoor, recordKinds } from "../../records/index.js";
import type { ClaimReason } from "../candidacy.js";
import type { SimulatedServers } from "./simulated-servers.js";
import type { Row, Tables } from "./simulated-tables.js";

/** Each batch writes its position here. */
export const doorName = "sequence";

interface Ownership {
  readonly epoch: number;
  readonly instance: string;
  readonly since: number;
  /** True if no other dispatcher may have answered as the owner when it began. */
  readonly isAlone: boolean;
}

/** Reasons for a claim after which the previous owner can no longer be answering. */
const patientReasons: ReadonlySet<ClaimReason | undefined> = new Set(["vacant", "stepped-down", "silent"]);

const reader = new RecordReader();

export class ClusterChecker {
  violation: string | undefined;
  acknowledged = 0;
  takeOvers = 0;
  regressions = 0;
  /** An operator has put the database back. */
  isPutBack = false;
  /** A dispatcher that could not know took over a database that was put back. */
  isLossUnnoticeable = false;
  readonly #servers: SimulatedServers;
  readonly #silenceMs: number;
  readonly #reasonOf: (instance: string) => ClaimReason | undefined;
  /** The label of each batch that was acknowledged or read by an owner, by its position. */
  readonly #batches: string[] = [];
  #lastEpoch = 0;
  /** How many batches there were when an epoch began. */
  readonly #loads: { readonly epoch: number; readonly count: number }[] = [];
  readonly #ownerships: Ownership[] = [];
  #foldRow: Row | undefined;

  constructor(
    servers: SimulatedServers,
    silenceMs: number,
    reasonOf: (instance: string) => ClaimReason | undefined,
  ) {
    this.#servers = servers;
    this.#silenceMs = silenceMs;
    this.#reasonOf = reasonOf;
    servers.onSeen = () => this.#see(servers.tables);
  }

  fail(what: string): void {
    this.violation ??= what;
  }

  /**
   * An owner was told that a batch is done. `isLate`: it was offered before the database was put
   * back.
   */
  done(node: string, epoch: number, position: number, label: string, isLate: boolean): void {
    if (this.isPutBack) {
      if (!isLate) this.fail(`${node} goes on with a database that lost what was acknowledged`);
      return;
    }
    this.acknowledged += 1;
    const known = this.#batches[position - 1];
    if (known !== undefined && known !== label)
      this.fail(`${node} was told that ${label} is batch ${position}, which is ${known}`);
    if (known === undefined && epoch < this.#lastEpoch)
      this.fail(`${label} was acknowledged in epoch ${epoch}, and epoch ${this.#lastEpoch} did not read it`);
    if (!this.#servers.standbyHas(position)) this.fail(`${label} is done, and the standby does not have it`);
    if (known === undefined && position !== this.#batches.length + 1)
      this.fail(`batch ${position} follows batch ${this.#batches.length}`);
    this.#batches[position - 1] = label;
  }

  /**
   * An owner has loaded. `labels`: what it read, by position. `safe`: the last batch of which it
   * could know that it had been acknowledged.
   */
  loaded(node: string, epoch: number, labels: readonly string[], mark: number, safe: number): void {
    this.takeOvers += 1;
    if (mark !== labels.length) this.fail(`${node} read ${labels.length} batches, and the last is ${mark}`);
    if (this.isPutBack && safe <= labels.length) {
      this.isLossUnnoticeable = true;
      return;
    }
    const next = this.#loads.find((load) => load.epoch >= epoch);
    const expected = this.#batches.slice(0, next?.count);
    const lost = expected.findIndex((label, index) => labels[index] !== label);
    if (lost >= 0) this.fail(`${node} read ${labels[lost]} as batch ${lost + 1}, which is ${expected[lost]}`);
    if (next !== undefined) {
      // It was deposed while it loaded, and has read what the next owner read.
      if (labels.length > expected.length || next.epoch === epoch)
        this.fail(
          `${node} read ${labels.length} batches in epoch ${epoch}, and epoch ${next.epoch} ${next.count}`,
        );
      return;
    }
    this.#loads.push({ epoch, count: labels.length });
    this.#lastEpoch = epoch;
    this.#batches.splice(0, this.#batches.length, ...labels);
  }

  /** A dispatcher says that the database has gone back. */
  regressed(node: string, message: string): void {
    this.regressions += 1;
    if (!this.isPutBack) this.fail(`${node} says without a reason: ${message}`);
  }

  /** A dispatcher answers as the owner at this moment. */
  answersAsOwner(node: string, instance: string, epoch: number): void {
    const index = this.#ownerships.findLastIndex((one) => one.instance === instance && one.epoch === epoch);
    const next = this.#ownerships[index + 1];
    if (index < 0) return this.fail(`${node} answers as the owner of epoch ${epoch}, which it never was`);
    if (next === undefined) return;
    const lateMs = this.#servers.world.time - next.since;
    if (lateMs > (next.isAlone ? 0 : this.#silenceMs))
      this.fail(`${node} answers as the owner of epoch ${epoch}, ${lateMs.toFixed()} ms after its end`);
  }

  /** Sessions on the primary may see something new. */
  #see({ owner, fold, log, items }: Tables): void {
    const { epoch, instance, position } = owner.get(1) as Row;
    const last = this.#ownerships.at(-1);
    if (last?.epoch !== epoch || last?.instance !== instance) {
      const since = this.#servers.world.time;
      const isAlone =
        instance === "" || (epoch > (last?.epoch ?? 0) && patientReasons.has(this.#reasonOf(instance)));
      this.#ownerships.push({ epoch, instance, since, isAlone });
    }
    const foldRow = fold.get(1) as Row;
    // Folded batches stay in the log for a while.
    let unfolded = 0;
    for (const at of log.keys()) if (Number(at) > foldRow.position) unfolded += 1;
    if (unfolded !== position - foldRow.position)
      this.fail(`the log has ${unfolded} batches between ${foldRow.position} and ${position}`);
    if (foldRow === this.#foldRow) return;
    this.#foldRow = foldRow;
    const mark = markIn(items.get(`${recordKinds.door} ${doorName}`));
    if (mark !== foldRow.position || items.size !== (mark > 0 ? mark + 1 : 0))
      this.fail(`batch ${foldRow.position} is folded: ${items.size} records, and the last is of ${mark}`);
  }
}

function markIn(row: Row | undefined): number {
  if (row === undefined) return 0;
  reader.begin(row.bytes, 0, row.bytes.length);
  return readDoor(reader).mark;
}
