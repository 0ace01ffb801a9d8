// A simulated monique component that asks: a PUSH and a SUB around the real session of that end. It hears everybody's
// answers, kills some of its questions, asks some past their time, and dies, pauses and comes back as the seed has it.

import type { Instant, Moment, WallTime } from "@yardmaster/core";
import { monique } from "@yardmaster/dialects";
import type { MoniqueChecker } from "./monique-checker.js";
import { Plug } from "./plug.js";
import type { Random } from "./random.js";
import type { Streams } from "./streams.js";
import { Process, type World } from "./world.js";

export interface MoniqueAskerPlan {
  readonly name: string;
  readonly spec: string;
  readonly form: monique.MoniqueForm;
  readonly questions: number;
  readonly overMs: number;
  readonly killShare: number;
  readonly pastShare: number;
  /** Hears questions, too, and not only answers. */
  readonly isObserver: boolean;
  /**
   * "careful" asks when it is known to have subscribed. Those that are late ask whenever they have a PUSH, as ZeroMQ does
   * with what it kept, and subscribe when their SUB is there, too; "late-unknown" has a host that it shares with others.
   */
  readonly habit: "careful" | "late" | "late-unknown";
}

/** Longer than anything takes on a wire: by then the subscription is there. */
const settledMs = 2_000;
/** [monique 2.8] What is read of a connection is a second old at least; and what a subscription takes on a quiet wire. */
const readAfterMs = 1_000;
const onWireMs = 200;

/** Asked by one that is late, and not known to be heard. */
interface Unawaited {
  readonly id: string;
  readonly askedOn: number;
  /** When it is read at the earliest. */
  readonly readAt: number;
}

export class MoniqueAsker {
  process: Process;
  readonly plan: MoniqueAskerPlan;
  readonly #world: World;
  readonly #streams: Streams;
  readonly #random: Random;
  readonly #checker: MoniqueChecker;
  #session: monique.MoniqueComponentSession<number>;
  #sub: Plug | undefined;
  #push: Plug | undefined;
  #tech: Plug | undefined;
  /** The connection on which it is known to have subscribed. */
  #settled: number | undefined;
  /** The greatest number it ever used: a question has a number of its own in all its lives. */
  #last = 0;
  #lives = 0;
  #unasked = 0;
  #pushCameAt = 0;
  #unawaited: Unawaited[] = [];

  constructor(
    world: World,
    streams: Streams,
    random: Random,
    checker: MoniqueChecker,
    plan: MoniqueAskerPlan,
  ) {
    this.#world = world;
    this.#streams = streams;
    this.#random = random;
    this.#checker = checker;
    this.plan = plan;
    this.process = new Process(plan.name);
    this.#session = this.#makeSession();
    this.start();
  }

  /** Comes to life, with all of its plan before it; it knows nothing of what it asked before. */
  start(): void {
    const { name, questions, overMs } = this.plan;
    this.process = new Process(name);
    this.#lives += 1;
    this.#session = this.#makeSession();
    this.#settled = undefined;
    this.#unasked = 0;
    this.#sub = this.#plug("out", "SUB", (line) => this.#subscribe(line));
    this.#unawaited = [];
    this.#push = this.#plug("in", "PUSH", () => {
      this.#pushCameAt = this.#world.time;
      this.#askNext();
    });
    this.#tech = this.#plug("techIn", "PUSH", () => {});
    for (let count = questions; count > 0; count -= 1) {
      this.#world.plan(this.process, this.#random.between(0, overMs), () => {
        this.#unasked += 1;
        this.#askNext();
      });
    }
  }

  #makeSession(): monique.MoniqueComponentSession<number> {
    const { name, form } = this.plan;
    let last = 0;
    return new monique.MoniqueComponentSession({
      // Another creator in every life: ids of the older forms are made of it and the time.
      creator: `${name}.${this.#lives}`,
      form,
      makeId: () => {
        last += 1;
        return `${name}.${this.#lives}.${last}`;
      },
    });
  }

  #plug(endpoint: string, socketType: "SUB" | "PUSH", came: (line: number) => void): Plug {
    return new Plug(this.#world, this.#streams, this.#random, {
      ...{ process: this.process, endpoint, socketType, identity: "", came },
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
    this.#world.plan(this.process, settledMs, () => {
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

  /** It has subscribed on this line: what is not answered before that arrives will be heard. */
  #awaitOn(line: number): void {
    const arrivesAt = this.#world.time + onWireMs;
    for (const { id, askedOn, readAt } of this.#unawaited.splice(0)) {
      const isInTime = this.plan.habit === "late" || arrivesAt <= readAt;
      if (isInTime && this.#push?.line === askedOn) this.#checker.awaited(id, line);
    }
  }

  #ask(askedOn: number, awaitedOn: number | undefined): void {
    const random = this.#random;
    const { name, spec, form, killShare, pastShare } = this.plan;
    this.#last += 1;
    const number = this.#last;
    const data = `${name}/${number}/${"x".repeat(random.integer(0, 12))}`;
    const isPast = random.chance(pastShare);
    const expiresAt = isPast ? 1 : random.chance(0.1) ? this.#now().wall + 1e9 : 0;
    const said = { spec, data: Buffer.from(data), expiresAt: Math.floor(expiresAt) };
    const question = this.#session.ask(said, number, this.#now());
    this.#checker.asked({ id: question.id, asker: name, number, data, askedOn, awaitedOn, isPast });
    this.#push?.send(monique.writeMessage(question, form));
    if (awaitedOn === undefined && this.#sub?.line === undefined) {
      const readAt = Math.max(this.#world.time, this.#pushCameAt + readAfterMs);
      this.#unawaited.push({ id: question.id, askedOn, readAt });
    }
    if (!random.chance(killShare)) return;
    this.#world.plan(this.process, random.between(0, 2_000), () => {
      this.#tech?.send(monique.writeMessage(this.#session.kill(question.id, this.#now()), form));
    });
  }

  #receive(line: number, frames: Buffer[]): void {
    const reading = monique.readMessage(frames);
    if (!reading.ok || reading.content === undefined)
      throw new Error(`${this.plan.name} cannot read ${frames}`);
    const { header, content } = reading;
    const data = monique.dataIn(content, frames[1] as Buffer).toString("latin1");
    if (header.type === "config") this.#checker.published(data);
    else {
      this.#session.take(header);
      this.#checker.answered(this.plan.name, line, header, data);
    }
  }

  #now(): Moment {
    const wall = 1_800_000_000_000 + this.#world.time + this.#world.wallOffset;
    return { instant: this.#world.time as Instant, wall: wall as WallTime };
  }
}
