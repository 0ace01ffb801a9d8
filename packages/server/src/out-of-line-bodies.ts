// Effects whose bodies, or objects that these name, are still in the engine. Effects for one peer
// keep their order: while one waits for its bytes, later ones wait too. Effects for other peers do
// not wait.

import type { Body, Effect, RequestId, WorkerId } from "@yardmaster/core";
import type { BodyPart, Engine } from "@yardmaster/engines";
import type { PayloadReader } from "./door-kit/door.js";

/**
 * Simultaneous reads: enough to keep a disk busy, few enough that large bodies do not fill memory.
 */
const readsMax = 8;

export interface OutOfLineBodiesOptions {
  readonly read: Engine["body"];
  /** False when the door reads this payload itself. */
  readonly readsHere: (effect: OutOfLineEffect) => boolean;
  /** The reader that makes the worker's payload, if that needs to read something. */
  readonly reader: (effect: OutOfLineEffect) => PayloadReader | undefined;
  /** False once the effect is obsolete: its body is not read, and nothing waits behind it. */
  readonly isWanted: (effect: Effect) => boolean;
  /** Receives effects that have waited, in order and with their bytes, without obsolete ones. */
  readonly release: (effects: readonly Effect[]) => void;
  readonly onUnreadable: (effect: OutOfLineEffect, message: string) => void;
}

/** The effects that carry a body. */
export type OutOfLineEffect = Extract<Effect, { type: "assign" | "tell" }>;

/**
 * The order that an effect keeps: that of a request if it answers one, otherwise that of a worker.
 */
type Recipient = RequestId | WorkerId;

interface WaitingEffect {
  effect: Effect;
  /** True once it has its bytes, or if it needs none. */
  isReady: boolean;
  hasLeft: boolean;
}

interface Lane {
  readonly door: string;
  /** Undefined for an outcome, which keeps no order. */
  readonly peer: Recipient | undefined;
  readonly effects: WaitingEffect[];
}

interface BodyRead {
  readonly lane: Lane;
  readonly waiting: WaitingEffect;
  readonly effect: OutOfLineEffect;
  /** Undefined if the body itself must be read first. */
  readonly reader: PayloadReader | undefined;
}

export class OutOfLineBodies {
  readonly #options: OutOfLineBodiesOptions;
  /** By door and peer. A lane exists while an effect waits in it. */
  readonly #lanes = new Map<string, Map<Recipient, Lane>>();
  readonly #unread: BodyRead[] = [];
  #reading = 0;

  constructor(options: OutOfLineBodiesOptions) {
    this.#options = options;
  }

  /** Returns true if the effect must wait. It is then released later. */
  take(effect: Effect): boolean {
    const needsBytes = isOutOfLine(effect) && this.#options.readsHere(effect);
    const reader = !needsBytes && effect.type === "assign" ? this.#options.reader(effect) : undefined;
    if (!needsBytes && reader === undefined && this.#lanes.size === 0) return false;
    const peer = recipientOf(effect);
    const lane = this.#laneOf(effect.door, peer);
    if (needsBytes || reader !== undefined) {
      this.#read(effect as OutOfLineEffect, lane ?? this.#openLane(effect.door, peer), reader);
      return true;
    }
    lane?.effects.push({ effect, isReady: true, hasLeft: false });
    return lane !== undefined;
  }

  /** The lane in which earlier effects of this peer wait. Obsolete ones are removed first. */
  #laneOf(door: string, peer: Recipient | undefined): Lane | undefined {
    const lane = peer === undefined ? undefined : this.#lanes.get(door)?.get(peer);
    if (lane !== undefined) this.#advance(lane);
    return lane?.effects.length === 0 ? undefined : lane;
  }

  #openLane(door: string, peer: Recipient | undefined): Lane {
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

  #read(effect: OutOfLineEffect, lane: Lane, reader: PayloadReader | undefined): void {
    const waiting = { effect, isReady: false, hasLeft: false };
    lane.effects.push(waiting);
    this.#unread.push({ lane, waiting, effect, reader });
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

  async #fill({ lane, waiting, effect, reader }: BodyRead): Promise<void> {
    const part: BodyPart = effect.type === "assign" ? "payload" : "result";
    let body: Body | undefined;
    let message = `the ${part} of task ${effect.task.id} is not there`;
    try {
      body = await (reader === undefined ? this.#bodyOf(effect, part) : reader());
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

  /** The body in the form that the worker receives. */
  async #bodyOf(effect: OutOfLineEffect, part: BodyPart): Promise<Body | undefined> {
    const body = await this.#options.read(effect.task.id, part);
    const isPayload = body?.bytes !== undefined && effect.type === "assign";
    const reader = isPayload ? this.#options.reader(withBody(effect, body)) : undefined;
    return reader === undefined ? body : reader();
  }

  /** Releases the effects that have nothing waiting before them. */
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

function recipientOf(effect: Effect): Recipient | undefined {
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

function isOutOfLine(effect: Effect): effect is OutOfLineEffect {
  if (effect.type === "assign") return isOutside(effect.task.payload);
  return effect.type === "tell" && isOutside(effect.outcome.result);
}

function isOutside(body: Body | undefined): boolean {
  return body !== undefined && body.bytes === undefined && body.size > 0;
}

/** The same effect with these bytes. */
export function withBody(effect: OutOfLineEffect, body: Body): OutOfLineEffect {
  return effect.type === "assign"
    ? { ...effect, task: { ...effect.task, payload: body } }
    : { ...effect, outcome: { ...effect.outcome, result: { ...effect.outcome.result, ...body } } };
}
