// Decides when a standby may claim the database: pure, with time as an argument.
//
// - A database without an owner is claimed at once.
// - Otherwise an owner must have been silent for `silenceMs`: its row did not change. Every commit
//   and every beat changes it.
// - The end of the owner's sessions is a hint that shortens the wait. It counts only if this
//   standby saw a session on the same connection before, because after a change of the primary the
//   owner may not have connected yet.
//
// Silence is summed up over looks, and the time between two looks counts only up to a limit. So a
// standby that was stopped itself, or a machine that was, has to look again several times before it
// claims, and an owner that was stopped with it has time to beat.

/** What one look at the database showed. */
export interface Sighting {
  readonly epoch: number;
  readonly position: number;
  readonly beat: number;
  /** Empty if the owner stepped down, or if there never was one. */
  readonly instance: string;
  /** True if the owner has a connection to the server. */
  readonly hasSession: boolean;
  /** Another number for each connection over which looks are made. */
  readonly connection: number;
}

export const claimReasons = ["vacant", "stepped-down", "session-ended", "silent"] as const;

/** Why a standby may claim. */
export type ClaimReason = (typeof claimReasons)[number];

/** How long the owner's sessions must be gone. A connection that is reset is made again sooner. */
const sessionGoneMs = 150;
/** The longest time between two looks that counts, as a share of the limit. */
const countedShare = { silence: 1 / 4, session: 1 / 3 };

export class Candidacy {
  readonly #silenceMs: number;
  #last: { readonly sighting: Sighting; readonly at: number } | undefined;
  #silentMs = 0;
  /** How long no session was seen; undefined if none was seen on this connection before. */
  #goneMs: number | undefined;

  constructor(silenceMs: number) {
    this.#silenceMs = silenceMs;
  }

  /** Takes a look at this instant. Returns the reason if the standby may claim now. */
  saw(sighting: Sighting, now: number): ClaimReason | undefined {
    if (sighting.instance === "") return sighting.epoch === 0 ? "vacant" : "stepped-down";
    const last = this.#last;
    this.#last = { sighting, at: now };
    if (last === undefined || last.sighting.connection !== sighting.connection) {
      this.#silentMs = 0;
      this.#goneMs = sighting.hasSession ? 0 : undefined;
      return undefined;
    }
    const sinceMs = Math.max(0, now - last.at);
    this.#noteRow(last.sighting, sighting, sinceMs);
    this.#noteSession(last.sighting, sighting, sinceMs);
    if (this.#silentMs >= this.#silenceMs) return "silent";
    return (this.#goneMs ?? 0) >= sessionGoneMs ? "session-ended" : undefined;
  }

  /** A look failed: nothing is known about the time since the last one. */
  missed(): void {
    this.#last = undefined;
  }

  #noteRow(before: Sighting, now: Sighting, sinceMs: number): void {
    const isSame = before.epoch === now.epoch && before.position === now.position && before.beat === now.beat;
    this.#silentMs = isSame ? this.#silentMs + Math.min(sinceMs, this.#silenceMs * countedShare.silence) : 0;
  }

  #noteSession(before: Sighting, now: Sighting, sinceMs: number): void {
    if (now.hasSession) this.#goneMs = 0;
    else if (before.instance !== now.instance) this.#goneMs = undefined;
    else if (this.#goneMs !== undefined)
      this.#goneMs += Math.min(sinceMs, sessionGoneMs * countedShare.session);
  }
}
