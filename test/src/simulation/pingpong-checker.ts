// The part of the promise that pingpong's peers can see, together with the content of the disk. The
// danger is a result that is taken for another job's, because answers in document form name
// nothing. So jobs and results here identify themselves.

import type { pingpong } from "@yardmaster/dialects";
import type { MemoryStore } from "@yardmaster/engines";
import { fail } from "./checker.js";
import { DiskTasks, isFinished } from "./disk-tasks.js";

interface Question {
  readonly client: string;
  readonly number: number;
  readonly line: number;
  readonly parts: readonly Buffer[];
  /** True if the answer may come over a later connection of this client. */
  readonly isFollowed: boolean;
}

interface Arrival {
  readonly worker: string;
  readonly line: number;
  readonly parts: readonly Buffer[];
  /** The job's name in program form. */
  readonly client: Buffer | undefined;
}

interface SubmittedJob extends Question {
  /** The unique beginning of its payload. */
  readonly mark: string;
  /** The connections on which it was answered. */
  readonly answeredOn: number[];
}

const markPattern = /(?:asker|client)-\d+\/\d+\//g;
/** Refusals that are possible before there is a task. */
const refusals = new Set(["queue_full", "payload_too_large", "not_ready"]);

export class PingpongChecker {
  readonly #disk: DiskTasks;
  readonly #asked = new Map<string, SubmittedJob>();
  /** Jobs by connection that were not answered on it; in program form with their names. */
  readonly #held = new Map<number, { readonly mark: string; readonly name: string | undefined }>();
  /** Every pair of worker and job that was ever sent. */
  readonly #given = new Set<string>();

  constructor(store: MemoryStore) {
    this.#disk = new DiskTasks(store, "pingpong");
  }

  asked(question: Question): void {
    const mark = `${question.client}/${question.number}/`;
    if (this.#asked.has(mark)) fail(`the simulation has ${mark} asked twice`);
    this.#asked.set(mark, { ...question, mark, answeredOn: [] });
  }

  /**
   * `number` is the request that the client matches to this answer; undefined if it has forgotten
   * it.
   */
  answered(client: string, line: number, number: number | undefined, answer: pingpong.ClientAnswer): void {
    // An error does not name its job. If the client cannot match it, the checker cannot either.
    if (number === undefined && answer.type === "error" && this.#isFollowed(client)) return;
    const mark =
      number === undefined && answer.type === "result"
        ? markOf(textOf(answer.parts))
        : `${client}/${number}/`;
    const asked = this.#asked.get(mark) ?? fail(`${client} was answered ${mark}, which nobody asked for`);
    const { answeredOn, isFollowed } = asked;
    if (asked.client !== client) fail(`${client} was sent the answer to ${mark}`);
    if (asked.line !== line && !isFollowed)
      fail(`${mark} was asked on line ${asked.line} and answered on line ${line}, another connection`);
    if (number === undefined && asked.line === line)
      fail(`${mark} was answered, and ${client} does not know it`);
    // A second answer is only possible after a crash before the delivery was committed, and then on
    // a new connection.
    if (answeredOn.includes(line) || (answeredOn.length > 0 && !isFollowed))
      fail(`${mark} was answered twice`);
    answeredOn.push(line);
    if (answer.type === "result") this.#checkResult(asked, answer.parts);
    else this.#checkError(mark, answer.code);
  }

  #isFollowed(client: string): boolean {
    return [...this.#asked.values()].some((asked) => asked.client === client && asked.isFollowed);
  }

  #checkResult({ mark, parts: job }: SubmittedJob, parts: readonly Buffer[]): void {
    const text = textOf(parts);
    if (markOf(text) !== mark) fail(`${mark} was answered with the result of another job: ${text}`);
    const isOfPingpong = text.startsWith("- ");
    const [first = Buffer.alloc(0), ...others] = parts;
    const worker = first.toString("latin1").split(" ").pop() ?? "";
    if (isOfPingpong) {
      const isWhole =
        first.toString("latin1") === `- ${job[0]?.toString("latin1")} ${worker}` &&
        textOf(others) === textOf(job.slice(1));
      if (!isWhole) fail(`${mark} was answered with something that its job does not give: ${text}`);
      if (!this.wasGiven(worker, mark)) fail(`${mark} was answered by ${worker}, which never had it`);
    }
    const state = this.#disk.stateOf(mark);
    if (state !== "done") fail(`${mark} was answered with a result but is ${state} on the disk`);
  }

  #checkError(mark: string, code: string): void {
    const state = this.#disk.stateOf(mark);
    const isTrue =
      state === undefined ? refusals.has(code) : ["failed", "cancelled", "expired"].includes(state);
    if (!isTrue) fail(`${mark} was answered with error ${code} but is ${state} on the disk`);
  }

  wasGiven(worker: string, payload: string): boolean {
    return this.#given.has(`${worker} ${markOf(payload)}`);
  }

  jobArrived({ worker, line, parts, client }: Arrival): void {
    const mark = markOf(textOf(parts));
    const held = this.#held.get(line);
    if (held !== undefined) fail(`${worker} was given ${mark} on line ${line} while it had ${held.mark}`);
    if (this.#disk.stateOf(mark) === undefined) fail(`${worker} was given ${mark}, which is not on the disk`);
    const asked = this.#asked.get(mark);
    if (asked !== undefined && textOf(parts) !== textOf(asked.parts))
      fail(`${mark} reached ${worker} as another job: ${textOf(parts)}`);
    this.#held.set(line, { mark, name: client?.toString() });
    this.#given.add(`${worker} ${mark}`);
  }

  /**
   * In document form any message except a PING ends the worker's job on this connection: it is the
   * result, or says that there is none. In program form only an answer that names the job does.
   */
  workerSaid(line: number, frames: readonly Buffer[]): void {
    const { name } = this.#held.get(line) ?? {};
    const ends =
      name === undefined
        ? textOf(frames.slice(1)) !== "PING"
        : frames.length > 3 && frames[2]?.toString() === name;
    if (ends) this.#held.delete(line);
  }

  get acceptedCount(): number {
    return this.#disk.all().length;
  }

  /** True if everything on the disk has ended and every reachable client was answered. */
  isComplete(isWhole: (line: number) => boolean): boolean {
    for (const { line, answeredOn } of this.#asked.values())
      if (answeredOn.length === 0 && isWhole(line)) return false;
    return this.#disk.areFinished();
  }

  finish(isWhole: (line: number) => boolean): void {
    const marks = new Set<string>();
    for (const { head, state } of this.#disk.all()) {
      const mark = markOf(this.#disk.textOf(head));
      if (marks.has(mark)) fail(`${mark} was accepted twice`);
      marks.add(mark);
      if (!this.#asked.has(mark)) fail(`${mark} was accepted and nobody asked for it`);
      if (!isFinished(state)) fail(`${mark} was accepted and is lost: it is ${state}`);
    }
    for (const { mark, line, answeredOn } of this.#asked.values()) {
      if (answeredOn.length === 0 && isWhole(line))
        fail(`${mark} was never answered although its connection, line ${line}, lives`);
    }
  }
}

function textOf(parts: readonly Buffer[]): string {
  return parts.map((part) => part.toString("latin1")).join("|");
}

function markOf(text: string): string {
  const [mark, other] = new Set(text.match(markPattern) ?? []);
  if (mark === undefined || other !== undefined) fail(`this is not of one job: ${text}`);
  return mark;
}
