// A simulated pulse worker around the real session. Some work inside SET_TASK, like the document's
// own. They fail, are busy, send SHUTDOWN, die, pause and come back as the seed decides.

import type { Instant, Moment, WallTime } from "@yardmaster/core";
import { pulse } from "@yardmaster/dialects";
import type { PulseChecker } from "./pulse-checker.js";
import type { Random } from "./random.js";
import { mainPath, type SimulatedWire, type UnixSockets } from "./unix-sockets.js";
import { Process, type World } from "./world.js";

export interface PulseWorkerPlan {
  readonly name: string;
  readonly numbering: pulse.Numbering;
  readonly nextPulseSeconds: number;
  /** SET_TASK is answered when the task is done. */
  readonly worksInside: boolean;
  /** Shares of tasks. */
  readonly failShare: number;
  readonly busyShare: number;
  /** Share of control messages that are answered FAILED. */
  readonly brokenShare: number;
  /** Share of FETCHes that are accepted and never answered. */
  readonly muteShare: number;
  readonly isWordy: boolean;
  readonly workMsMax: number;
}

/** A controller that accepts a connection but does not answer within this time counts as absent. */
const answerMsMax = 10_000;
const empty = Buffer.alloc(0);

type Control = pulse.WithExtra<pulse.ControlMessage>;

export class SimulatedPulseWorker {
  process: Process;
  readonly plan: PulseWorkerPlan;
  readonly #world: World;
  readonly #sockets: UnixSockets;
  readonly #random: Random;
  readonly #checker: PulseChecker;
  #session: pulse.PulseWorkerSession;
  #path = "";
  #cancelTimer = () => {};
  /** The answer to SET_TASK, which waits until the task is done. */
  #late: () => void = () => {};

  constructor(
    world: World,
    sockets: UnixSockets,
    random: Random,
    checker: PulseChecker,
    plan: PulseWorkerPlan,
  ) {
    this.#world = world;
    this.#sockets = sockets;
    this.#random = random;
    this.#checker = checker;
    this.plan = plan;
    this.process = new Process(plan.name);
    this.#session = this.#makeSession();
    this.start();
  }

  /** Starts without memory. */
  start(): void {
    this.process = new Process(this.plan.name);
    this.#late = () => {};
    const session = this.#makeSession();
    this.#session = session;
    this.#turn(() => session.start(this.#now()));
  }

  /** Sends SHUTDOWN, and ends when it is answered. */
  shutDown(): void {
    this.#world.say(this.plan.name, () => "SHUTS DOWN");
    this.#turn(() => this.#session.stop(this.#now()));
  }

  #makeSession(): pulse.PulseWorkerSession {
    const { nextPulseSeconds } = this.plan;
    const { process } = this;
    const settings = {
      ...pulse.defaultPulseWorkerSettings,
      nextPulseSeconds,
      pulseMs: nextPulseSeconds * 500,
      retryMs: 200,
    };
    const session: pulse.PulseWorkerSession = new pulse.PulseWorkerSession(settings, {
      pulse: (message) => this.#pulse(session, message),
      listen: (id) => this.#listen(session, id),
      work: (_task, payload) => this.#work(session, payload),
      abandon: () => {},
      ended: () => {
        process.isDead = true;
        this.#sockets.died(process);
        if (this.#sockets.ownerOf(this.#path) === undefined) this.#sockets.unlink(this.#path);
      },
    });
    return session;
  }

  #pulse(session: pulse.PulseWorkerSession, message: pulse.WorkerPulse): void {
    const { process } = this;
    const { wire } = this.#sockets.dial(mainPath, process);
    let isOver = false;
    const over = (tell: () => void) => {
      if (isOver || session !== this.#session) return;
      isOver = true;
      cancel();
      wire?.destroy();
      this.#turn(tell);
    };
    const unanswered = () => over(() => session.unanswered(this.#now()));
    const cancel = this.#world.plan(process, wire === undefined ? 0 : answerMsMax, unanswered);
    if (wire === undefined) return;
    const { numbering, name } = this.plan;
    const framer = new pulse.MessageFramer(
      (bytes) => pulse.readPulseResponse(bytes, numbering),
      pulse.noExtra,
    );
    for (const event of ["error", "close", "end"]) wire.once(event, unanswered);
    wire.on("data", (chunk: Buffer) => {
      const reading = framer.push(chunk);
      if (reading === undefined || isOver) return;
      if (!reading.ok) throw new Error(`${name} was answered what it cannot read: ${reading.fault}`);
      const answer = reading.message.message;
      this.#world.say(name, () => `${show(message)} is answered ${show(answer)}`);
      if (message.type === "REGISTER" && answer.error === "OK")
        this.#checker.registered(process, answer.workerId);
      over(() => session.answered(answer, this.#now()));
    });
    wire.write(pulse.writePulse(message, numbering));
  }

  #listen(session: pulse.PulseWorkerSession, id: bigint): void {
    const { process } = this;
    if (this.#sockets.ownerOf(this.#path) === process) this.#sockets.unlink(this.#path);
    const path = `${id}.sock`;
    this.#path = path;
    this.#sockets.listen(path, { process, take: (wire) => this.#accept(session, path, wire) });
    this.#world.plan(process, this.#random.between(0, this.#random.chance(0.1) ? 300 : 2), () => {
      if (session === this.#session) this.#turn(() => session.listening(this.#now()));
    });
  }

  #accept(session: pulse.PulseWorkerSession, path: string, wire: SimulatedWire): void {
    const { numbering, name } = this.plan;
    const framer = new pulse.MessageFramer((bytes) => pulse.readControl(bytes, numbering), pulse.extraSizeOf);
    wire.once("error", () => wire.destroy());
    wire.on("data", (chunk: Buffer) => {
      // Messages to an earlier id are ignored.
      if (path !== this.#path) return wire.destroy();
      const reading = framer.push(chunk);
      if (reading === undefined) return;
      if (!reading.ok) throw new Error(`${name} was asked what it cannot read: ${reading.fault}`);
      this.#world.say(name, () => `is asked ${show(reading.message.message)} ${reading.message.extra}`);
      this.#turn(() => this.#answer(session, wire, reading.message));
    });
  }

  #answer(session: pulse.PulseWorkerSession, wire: SimulatedWire, asked: Control): void {
    if (asked.message.type === "FETCH" && this.#random.chance(this.plan.muteShare)) return;
    const isTask = asked.message.type === "SET_TASK";
    if (isTask) this.#checker.given(this.process, wire.peer, asked.message.taskId);
    const answer = this.#refusal(asked) ?? session.control(asked, this.#now());
    const { message, extra } = answer;
    const isTaken = isTask && message.error === "OK";
    if (isTaken) this.#checker.taken(this.process, wire.peer, asked);
    const send = () => {
      this.#world.say(this.plan.name, () => `answers ${show(message)}`);
      wire.write(pulse.writeWorkerResponse(message, this.plan.numbering));
      wire.end(extra);
    };
    if (asked.message.type === "FETCH" && message.error !== "NO_FETCH") this.#checker.fetched(this.process);
    if (isTaken && this.plan.worksInside) this.#late = send;
    else send();
  }

  /** The answer of a worker with its own faults. */
  #refusal({ message }: Control): pulse.WithExtra<pulse.WorkerResponse> | undefined {
    const { brokenShare, busyShare } = this.plan;
    const none = { taskId: 0n, extraSize: 0n };
    if (this.#random.chance(brokenShare)) return { message: { error: "FAILED", ...none }, extra: empty };
    const isBusy = message.type === "SET_TASK" && this.#session.isIdle && this.#random.chance(busyShare);
    return isBusy ? { message: { error: "BUSY", ...none }, extra: empty } : undefined;
  }

  #work(session: pulse.PulseWorkerSession, payload: Buffer): void {
    const { name, failShare, workMsMax, isWordy } = this.plan;
    const fails = this.#random.chance(failShare);
    // Contains the task and the worker, so that an answer to another task is noticed.
    const solution = Buffer.from(`- ${payload} ${name}${isWordy ? ` ${"x".repeat(1_100)}` : ""}`);
    this.#world.plan(this.process, this.#random.between(1, workMsMax), () => {
      if (session !== this.#session) return;
      this.#turn(() => {
        if (fails) session.fail("not that one", this.#now());
        else session.finish(solution, this.#now());
      });
      // FETCH_ME comes before the answer to SET_TASK, with a shorter or longer gap.
      const late = this.#late;
      this.#late = () => {};
      this.#world.plan(this.process, this.#random.between(0, this.#random.chance(0.5) ? 1 : 20), late);
    });
  }

  #turn(work: () => void): void {
    work();
    this.#cancelTimer();
    const deadline = this.#session.nextDeadline();
    if (deadline === undefined) return;
    const session = this.#session;
    this.#cancelTimer = this.#world.plan(this.process, Math.max(0, deadline - this.#world.time), () => {
      if (session === this.#session) this.#turn(() => session.handleTimeout(this.#now()));
    });
  }

  #now(): Moment {
    return { instant: this.#world.time as Instant, wall: 0 as WallTime };
  }
}

function show(message: object): string {
  return JSON.stringify(message, (_key, value) => (typeof value === "bigint" ? Number(value) : value));
}
