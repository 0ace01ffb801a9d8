// A simulated monique component that asks: a PUSH and a SUB around the real client session. It
// receives all answers, kills some of its questions, asks some after their time, and dies, pauses
// and comes back as the seed decides.

import type { Instant, Moment, WallTime } from "@yardmaster/core";
import { monique } from "@yardmaster/dialects";
import type { MoniqueChecker } from "./monique-checker.js";
import type { Plug } from "./plug.js";
import { StreamPeer } from "./stream-peer.js";

export interface MoniqueClientPlan {
  readonly name: string;
  readonly spec: string;
  readonly form: monique.MoniqueForm;
  readonly questions: number;
  readonly overMs: number;
  readonly killShare: number;
  readonly pastShare: number;
  /** Subscribes to questions as well as answers. */
  readonly isObserver: boolean;
  /**
   * "careful" asks only when its subscription is known to be in place. The late ones ask whenever
   * their PUSH is connected, as ZeroMQ does with queued messages, and subscribe when their SUB is
   * connected. "late-unknown" shares its host with others.
   */
  readonly habit: "careful" | "late" | "late-unknown";
}

/** Longer than any delay on a wire: by then the subscription is in place. */
const settledMs = 2_000;
/**
 * [monique 2.8] How long a new connection is not read, and how long a subscription takes on a quiet
 * wire.
 */
const readAfterMs = 1_000;
const onWireMs = 200;

/** A question of a late client, which may miss the answer. */
interface Unawaited {
  readonly id: string;
  readonly askedOn: number;
  /** When the question is read at the earliest. */
  readonly readAt: number;
}

export class MoniqueClient extends StreamPeer<MoniqueChecker, MoniqueClientPlan> {
  #sub: Plug | undefined;
  #push: Plug | undefined;
  #tech: Plug | undefined;
  /** The connection on which its subscription is known to be in place. */
  #settled: number | undefined;
  /** The highest number it ever used, so that a question's number is unique across its restarts. */
  #last = 0;
  #lives = 0;
  #session: monique.MoniqueComponentSession<number> = this.#makeSession();
  #unasked = 0;
  #pushCameAt = 0;
  #unawaited: Unawaited[] = [];

  constructor(...given: ConstructorParameters<typeof StreamPeer<MoniqueChecker, MoniqueClientPlan>>) {
    super(...given);
    this.start();
  }

  protected begin(): void {
    const { questions, overMs } = this.plan;
    this.#lives += 1;
    this.#session = this.#makeSession();
    this.#settled = undefined;
    this.#unasked = 0;
    this.#sub = this.#plug("out", "SUB", (line) => this.#subscribe(line));
    this.#unawaited = [];
    this.#push = this.#plug("in", "PUSH", () => {
      this.#pushCameAt = this.world.time;
      this.#askNext();
    });
    this.#tech = this.#plug("techIn", "PUSH", () => {});
    for (let count = questions; count > 0; count -= 1) {
      this.world.plan(this.process, this.random.between(0, overMs), () => {
        this.#unasked += 1;
        this.#askNext();
      });
    }
  }

  #makeSession(): monique.MoniqueComponentSession<number> {
    const { name, form } = this.plan;
    let last = 0;
    return new monique.MoniqueComponentSession({
      // A different creator after each restart: ids of the older forms consist of creator and time.
      creator: `${name}.${this.#lives}`,
      form,
      makeId: () => {
        last += 1;
        return `${name}.${this.#lives}.${last}`;
      },
    });
  }

  #plug(endpoint: string, socketType: "SUB" | "PUSH", came: (line: number) => void): Plug {
    return this.connect({
      ...{ endpoint, socketType, came },
      receive: (line, frames) => this.#receive(line, frames),
      gone: (line) => {
        if (this.#settled === line) this.#settled = undefined;
      },
    });
  }

  #subscribe(line: number): void {
    const { form, spec, isObserver } = this.plan;
    const types = isObserver ? (["result", "error", "config"] as const) : (["result", "error"] as const);
    const prefixes = new Set([
      ...types.map((type) => monique.prefixOf(form, type, spec)),
      monique.prefixOf(form, "error", "error"),
    ]);
    for (const prefix of prefixes) this.#sub?.send([Buffer.from(`\x01${prefix}`, "latin1")]);
    this.#awaitOn(line);
    this.world.plan(this.process, settledMs, () => {
      if (this.#sub?.line !== line) return;
      this.#settled = line;
      this.#askNext();
    });
  }

  #askNext(): void {
    const askedOn = this.#push?.line;
    const isReady = this.plan.habit !== "careful" || this.#settled !== undefined;
    while (this.#unasked > 0 && askedOn !== undefined && isReady) {
      this.#unasked -= 1;
      this.#ask(askedOn, this.#settled);
    }
  }

  /**
   * It has subscribed on this line. It will receive answers that are sent after the subscription
   * arrives.
   */
  #awaitOn(line: number): void {
    const arrivesAt = this.world.time + onWireMs;
    for (const { id, askedOn, readAt } of this.#unawaited.splice(0)) {
      const isInTime = this.plan.habit === "late" || arrivesAt <= readAt;
      if (isInTime && this.#push?.line === askedOn) this.checker.awaited(id, line);
    }
  }

  #ask(askedOn: number, awaitedOn: number | undefined): void {
    const random = this.random;
    const { name, spec, form, killShare, pastShare } = this.plan;
    this.#last += 1;
    const number = this.#last;
    const data = `${name}/${number}/${"x".repeat(random.integer(0, 12))}`;
    const isPast = random.chance(pastShare);
    const expiresAt = isPast ? 1 : random.chance(0.1) ? this.#now().wall + 1e9 : 0;
    const said = { spec, data: Buffer.from(data), expiresAt: Math.floor(expiresAt) };
    const question = this.#session.ask(said, number, this.#now());
    this.checker.asked({ id: question.id, client: name, number, data, askedOn, awaitedOn, isPast });
    this.#push?.send(monique.writeMessage(question, form));
    if (awaitedOn === undefined && this.#sub?.line === undefined) {
      const readAt = Math.max(this.world.time, this.#pushCameAt + readAfterMs);
      this.#unawaited.push({ id: question.id, askedOn, readAt });
    }
    if (!random.chance(killShare)) return;
    this.world.plan(this.process, random.between(0, 2_000), () => {
      this.#tech?.send(monique.writeMessage(this.#session.kill(question.id, this.#now()), form));
    });
  }

  #receive(line: number, frames: Buffer[]): void {
    const reading = monique.readMessage(frames);
    if (!reading.ok || reading.content === undefined)
      throw new Error(`${this.plan.name} cannot read ${frames}`);
    const { header, content } = reading;
    const data = monique.dataIn(content, frames[1] as Buffer).toString("latin1");
    if (header.type === "config") this.checker.published(data);
    else {
      this.#session.take(header);
      this.checker.answered(this.plan.name, line, header, data);
    }
  }

  #now(): Moment {
    const wall = 1_800_000_000_000 + this.world.time + this.world.wallOffset;
    return { instant: this.world.time as Instant, wall: wall as WallTime };
  }
}
