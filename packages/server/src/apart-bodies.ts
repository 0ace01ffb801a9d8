// Effects on their way out whose bodies are still in the engine. Effects for one peer keep their order: while one of
// them waits for its bytes, those behind it wait too. Effects for other peers do not wait.

import type { Body, Effect, RequestId, WorkerId } from "@yardmaster/core";
import type { BodyPart, Engine } from "@yardmaster/engines";

/** Reads in flight at once: enough to keep a disk busy, few enough that large bodies do not fill memory. */
const readsMax = 8;

export interface ApartBodiesOptions {
  readonly read: Engine["body"];
  /** False when the door reads this payload itself. */
  readonly readsHere: (effect: ApartEffect) => boolean;
  /** False once nobody waits for the effect: its body is not read, and nothing waits behind it. */
  readonly isWanted: (effect: Effect) => boolean;
  /** Takes effects that have waited, in order and with their bytes, except those that are not wanted. */
  readonly release: (effects: readonly Effect[]) => void;
  readonly onUnreadable: (effect: ApartEffect, message: string) => void;
}

/** The effects that carry a body. */
export type ApartEffect = Extract<Effect, { type: "assign" | "tell" }>;

/** Whose order is kept: a request's where the effect answers one, otherwise a worker's. */
type Peer = RequestId | WorkerId;

interface Waiting {
  effect: Effect;
  /** It has its bytes, or needs none. */
  isReady: boolean;
  hasLeft: boolean;
}

interface Lane {
  readonly door: string;
  /** Undefined for an outcome, which is in nobody's order. */
  readonly peer: Peer | undefined;
  readonly effects: Waiting[];
}

interface Read {
  readonly lane: Lane;
  readonly waiting: Waiting;
  readonly effect: ApartEffect;
}

export class ApartBodies {
  readonly #options: ApartBodiesOptions;
  /** By door and peer. A lane is here while an effect waits in it. */
  readonly #lanes = new Map<string, Map<Peer, Lane>>();
  readonly #unread: Read[] = [];
  #reading = 0;

  constructor(options: ApartBodiesOptions) {
    this.#options = options;
  }

  /** True when the effect has to wait: then it is released later. */
  take(effect: Effect): boolean {
    const needsBytes = isApart(effect) && this.#options.readsHere(effect);
    if (!needsBytes && this.#lanes.size === 0) return false;
    const peer = peerOf(effect);
    const lane = this.#laneOf(effect.door, peer);
    if (needsBytes) {
      this.#read(effect, lane ?? this.#openLane(effect.door, peer));
      return true;
    }
    lane?.effects.push({ effect, isReady: true, hasLeft: false });
    return lane !== undefined;
  }

  /** The lane in which others of this peer still wait. Those that are no longer wanted leave it now. */
  #laneOf(door: string, peer: Peer | undefined): Lane | undefined {
    const lane = peer === undefined ? undefined : this.#lanes.get(door)?.get(peer);
    if (lane !== undefined) this.#advance(lane);
    return lane?.effects.length === 0 ? undefined : lane;
  }

  #openLane(door: string, peer: Peer | undefined): Lane {
    const lane: Lane = { door, peer, effects: [] };
    if (peer === undefined) return lane;
    const lanes = this.#lanes.get(door);
    if (lanes === undefined) this.#lanes.set(door, new Map([[peer, lane]]));
    else lanes.set(peer, lane);
    return lane;
  }

  #closeLane(lane: Lane): void {
    const { door, peer } = lane;
    const lanes = this.#lanes.get(door);
    if (peer === undefined || lanes?.get(peer) !== lane) return;
    lanes.delete(peer);
    if (lanes.size === 0) this.#lanes.delete(door);
  }

  #read(effect: ApartEffect, lane: Lane): void {
    const waiting = { effect, isReady: false, hasLeft: false };
    lane.effects.push(waiting);
    this.#unread.push({ lane, waiting, effect });
    this.#readNext();
  }

  #readNext(): void {
    while (this.#reading < readsMax) {
      const next = this.#unread.shift();
      if (next === undefined) return;
      if (next.waiting.hasLeft) continue;
      if (!this.#options.isWanted(next.effect)) {
        next.waiting.isReady = true;
        this.#advance(next.lane);
        continue;
      }
      this.#reading += 1;
      void this.#fill(next).finally(() => {
        this.#reading -= 1;
        this.#readNext();
      });
    }
  }

  async #fill({ lane, waiting, effect }: Read): Promise<void> {
    const part: BodyPart = effect.type === "assign" ? "payload" : "result";
    let body: Body | undefined;
    let message = `the ${part} of task ${effect.task.id} is not there`;
    try {
      body = await this.#options.read(effect.task.id, part);
    } catch (error) {
      message = error instanceof Error ? error.message : String(error);
    }
    if (waiting.hasLeft) return;
    if (body?.bytes !== undefined) {
      waiting.effect = withBody(effect, body);
      waiting.isReady = true;
    } else {
      waiting.hasLeft = true;
      lane.effects.splice(lane.effects.indexOf(waiting), 1);
      if (this.#options.isWanted(effect)) this.#options.onUnreadable(effect, message);
      else this.#options.release([effect]);
    }
    this.#advance(lane);
  }

  /** Releases what nothing stands before any more. */
  #advance(lane: Lane): void {
    const released: Effect[] = [];
    for (let first = lane.effects[0]; first !== undefined; first = lane.effects[0]) {
      if (!first.isReady && this.#options.isWanted(first.effect)) break;
      first.hasLeft = true;
      lane.effects.shift();
      released.push(first.effect);
    }
    if (lane.effects.length === 0) this.#closeLane(lane);
    if (released.length > 0) this.#options.release(released);
  }
}

function peerOf(effect: Effect): Peer | undefined {
  switch (effect.type) {
    case "assign":
      return effect.request ?? effect.worker;
    case "reply":
      return effect.request;
    case "revoke":
    case "recall":
    case "dismiss":
    case "drained":
      return effect.worker;
    case "tell":
    case "refuse":
      return undefined;
    default:
      return effect satisfies never;
  }
}

function isApart(effect: Effect): effect is ApartEffect {
  if (effect.type === "assign") return isOutside(effect.task.payload);
  return effect.type === "tell" && isOutside(effect.outcome.result);
}

function isOutside(body: Body | undefined): boolean {
  return body !== undefined && body.bytes === undefined && body.size > 0;
}

/** The same effect with these bytes. */
export function withBody(effect: ApartEffect, body: Body): Effect {
  return effect.type === "assign"
    ? { ...effect, task: { ...effect.task, payload: body } }
    : { ...effect, outcome: { ...effect.outcome, result: body } };
}
