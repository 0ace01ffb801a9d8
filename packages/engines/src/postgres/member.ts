// One dispatcher among several with the same database: a standby that looks for its turn, then the
// owner, which beats to show that it lives. candidacy.ts decides what a look means.

import { StoreFault } from "../embedded/store-faults.js";
import type { CommitOutcome } from "../engine.js";
import { Candidacy, type ClaimReason } from "./candidacy.js";
import { type Clock, pause } from "./clock.js";
import { claim, confirm, endSessions, type LogTable, type OwnerRow, release } from "./log-table.js";
import { forgetNode, listNodes, type NodeView, noteNode } from "./nodes.js";
import { type Session, Unavailable } from "./session.js";

export interface ClusterOptions {
  /** The name of this dispatcher. */
  readonly node: string;
  /** The URL at which clients reach its http door. */
  readonly address?: string | undefined;
  /** An owner writes at least this often. */
  readonly beatMs: number;
  /** An owner that wrote nothing for this time is deposed. */
  readonly silenceMs: number;
}

export interface MemberParts {
  readonly instance: string;
  /** Looks, claims and beats, beside commits. */
  readonly session: Session;
  /** What operators see. */
  readonly notes: Session;
  readonly onNotice: (what: string) => void;
  /** Called with each look of a standby. Returns the last batch that the standby has. */
  readonly follow: (row: OwnerRow) => number;
}

const noteEveryMs = 1000;

export class Member {
  readonly node: string;
  readonly #options: ClusterOptions;
  readonly #parts: MemberParts;
  readonly #clock: Clock;
  readonly #candidacy: Candidacy;
  #seen: OwnerRow | undefined;
  /** Set when this dispatcher owns the database. */
  #owned: OwnerRow | undefined;
  #reason: ClaimReason | undefined;
  /** The highest batch that an owner acknowledged, as far as this dispatcher knows. */
  #acknowledged = 0;
  #isHalted = false;
  #isOver = false;
  /** When the last write began that proved the ownership. */
  #provenAt = Number.NEGATIVE_INFINITY;
  #notedAt = Number.NEGATIVE_INFINITY;
  #position = 0;
  #stopBeats = () => {};
  readonly #doubtful = new Set<(isProven: boolean) => void>();

  constructor(options: ClusterOptions, parts: MemberParts) {
    this.node = options.node;
    this.#options = options;
    this.#parts = parts;
    this.#clock = parts.session.clock;
    this.#candidacy = new Candidacy(options.silenceMs);
  }

  /** Absent until this dispatcher has claimed the database. */
  get takeOver(): ClaimReason | undefined {
    return this.#reason;
  }

  get epoch(): number | undefined {
    return this.#owned?.epoch;
  }

  /** True while the database is behind what an owner acknowledged, so that nothing is claimed. */
  get isHalted(): boolean {
    return this.#isHalted;
  }

  /** False for a standby, and for an owner that may have been deposed without knowing it yet. */
  get isOwner(): boolean {
    if (this.#owned === undefined || this.#isOver) return false;
    return this.#clock.now() - this.#provenAt <= this.#options.silenceMs;
  }

  /**
   * Waits for an owner whose last write takes longer than usual. True if it is proven to be the
   * owner, false if it is not, or not soon.
   */
  whenProven(): Promise<boolean> {
    if (this.isOwner || this.#owned === undefined || this.#isOver) return Promise.resolve(this.isOwner);
    return new Promise((resolve) => {
      const settle = (isProven: boolean) => {
        stopTimer();
        this.#doubtful.delete(settle);
        resolve(isProven);
      };
      const stopTimer = this.#clock.setTimer(this.#options.silenceMs, () => settle(false));
      this.#doubtful.add(settle);
    });
  }

  /** Where clients reach the owner; null if that is not known. */
  get ownerAddress(): string | null {
    if (this.isOwner) return this.#options.address ?? null;
    return this.#owned === undefined ? (this.#seen?.address ?? null) : null;
  }

  nodes(): Promise<readonly NodeView[]> {
    return listNodes(this.#parts.notes);
  }

  /** Waits until it is this dispatcher's turn, and claims the database. */
  async claimInTurn(): Promise<OwnerRow> {
    const { session } = this.#parts;
    let predecessor = "";
    while (!this.#isOver) {
      try {
        const row = await this.#look();
        if (row.instance !== "" && row.instance !== this.#parts.instance) predecessor = row.instance;
        const owner = await this.#claimIf(row);
        if (owner !== undefined) {
          this.#owned = owner;
          if (predecessor !== "") await endSessions(session, predecessor, owner);
          return owner;
        }
      } catch (error) {
        if (!(error instanceof Unavailable)) throw error;
        this.#candidacy.missed();
      }
      await pause(this.#clock, this.#options.beatMs / 2);
    }
    throw new StoreFault("failed", "the dispatcher was stopped while it waited as a standby");
  }

  /** Beats from now on. `onLost` is called once, if another dispatcher has claimed the database. */
  lead(log: LogTable, onLost: (outcome: CommitOutcome) => void): void {
    let isBeating = false;
    const beat = async () => {
      const startedAt = this.#clock.now();
      if (isBeating || startedAt - this.#provenAt < this.#options.beatMs) return;
      isBeating = true;
      const outcome = await log.beat().catch(({ message }: Error) => {
        this.#parts.onNotice(`The owner's beat could not be written: ${message}`);
        return undefined;
      });
      isBeating = false;
      if (this.#isOver || outcome === undefined) return;
      if (outcome.type === "done") this.proved(startedAt);
      else if (outcome.type === "fenced" || outcome.type === "regressed") onLost(outcome);
      else return;
      void this.#note(this.#position);
    };
    // Twice as often as `beatMs` says: a beat that is not quite due is skipped until the next call.
    const again = () => {
      this.#stopBeats = this.#clock.setIdleTimer(this.#options.beatMs / 2, again);
      void beat();
    };
    again();
  }

  /** A write that began then was confirmed. `position`: the last batch. */
  proved(startedAt: number, position = this.#position): void {
    this.#provenAt = Math.max(startedAt, this.#provenAt);
    this.#position = position;
    if (this.isOwner) for (const settle of this.#doubtful) settle(true);
  }

  /** It owns the database no more, or never will. */
  end(): void {
    this.#isOver = true;
    this.#stopBeats();
    for (const settle of this.#doubtful) settle(false);
  }

  /** Leaves the database to a standby. */
  async stepDown(): Promise<void> {
    const owned = this.#isOver ? undefined : this.#owned;
    this.end();
    if (owned === undefined) return;
    const { session, notes, instance } = this.#parts;
    await forgetNode(notes, instance).catch(() => {});
    await release(session, owned).catch(() => {});
  }

  async #look(): Promise<OwnerRow> {
    const { session, follow } = this.#parts;
    const text = `select epoch, start, position, safe, beat, instance, node, address, exists (
        select 1 from pg_stat_activity where application_name = instance) as "hasSession" from owner`;
    const { rows } = await session.query<OwnerRow & { hasSession: boolean }>({ text, name: "look" });
    const row = rows[0];
    if (row === undefined) throw new StoreFault("damaged", "Postgres: the owner row is not there");
    const { connections: connection } = session;
    this.#seen = row;
    this.#acknowledged = Math.max(this.#acknowledged, row.safe);
    this.#reason = this.#candidacy.saw({ ...row, connection }, this.#clock.now());
    void this.#note(follow(row));
    return row;
  }

  /** A claim whose answer was lost is found at the next look, and counts once it is confirmed. */
  async #claimIf(row: OwnerRow): Promise<OwnerRow | undefined> {
    const { session, instance } = this.#parts;
    if (!this.#mayClaim(row)) return undefined;
    const { node, address } = this.#options;
    const startedAt = this.#clock.now();
    const isOurs = row.instance === instance;
    if (!isOurs && this.#reason === undefined) return undefined;
    const owner = isOurs
      ? (await confirm(session, row)) && row
      : await claim(session, row, { instance, node, address }, true);
    if (owner !== undefined) this.proved(startedAt, owner.position);
    return owner;
  }

  #mayClaim({ position }: OwnerRow): boolean {
    const isBehind = position < this.#acknowledged;
    if (isBehind && !this.#isHalted) {
      this.#parts.onNotice(
        `The database ends at batch ${position}, and batch ${this.#acknowledged} was acknowledged: it has lost tasks. This dispatcher claims nothing until it is restarted.`,
      );
    }
    this.#isHalted = isBehind;
    return !isBehind;
  }

  async #note(position: number): Promise<void> {
    const now = this.#clock.now();
    if (now - this.#notedAt < noteEveryMs) return;
    this.#notedAt = now;
    const { instance, notes } = this.#parts;
    const { node, address } = this.#options;
    await noteNode(notes, { node, instance, address, position }).catch(() => {});
  }
}
