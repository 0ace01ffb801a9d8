// The part of the promise that monique's peers can see, together with the content of the disk.
// Answers carry no attempt. So the checks are that each question ends once, that nothing is visible
// before it is committed, and that subscribers receive the answer.

import type { monique } from "@yardmaster/dialects";
import type { MemoryStore } from "@yardmaster/engines";
import { fail } from "./checker.js";
import { DiskTasks, isFinished } from "./disk-tasks.js";

export interface AskedQuestion {
  readonly id: string;
  readonly client: string;
  readonly number: number;
  readonly data: string;
  /** The connections over which it was asked and on which its answer is awaited. */
  readonly askedOn: number;
  /** Undefined if the client may miss the answer. */
  readonly awaitedOn: number | undefined;
  /** Its time was over when it was asked. */
  readonly isPast: boolean;
}

const markPattern = /(?:quizzer|client)-\d+\/\d+\//g;

export class MoniqueChecker {
  readonly #disk: DiskTasks;
  readonly #asked = new Map<string, AskedQuestion>();
  /** `line id` of every answer that was received. */
  readonly #heard = new Set<string>();
  /** Questions by connection that were not answered on it. */
  readonly #held = new Map<number, string>();
  /** Every pair of worker and question that was ever sent. */
  readonly #given = new Set<string>();
  /** Questions that some worker has answered, whether or not the answer arrived. */
  readonly #answered = new Set<string>();
  /** Connections that were skipped because they were behind. */
  readonly #missed = new Set<number>();

  /**
   * True if two dispatchers ran at the same time. A deposed one that does not know it passes on
   * answers to questions that only the other knows, and kills them: for it they are not tasks.
   */
  readonly #hadTwoYards: () => boolean;

  constructor(store: MemoryStore, hadTwoYards: () => boolean) {
    this.#hadTwoYards = hadTwoYards;
    this.#disk = new DiskTasks(store, "monique");
  }

  asked(question: AskedQuestion): void {
    if (this.#asked.has(question.id)) fail(`the simulation has ${question.id} asked twice`);
    this.#asked.set(question.id, question);
  }

  /** Its client has subscribed since, in time to receive the answer. */
  awaited(id: string, awaitedOn: number): void {
    const question = this.#asked.get(id);
    if (question !== undefined) this.#asked.set(id, { ...question, awaitedOn });
  }

  missed(line: number): void {
    this.#missed.add(line);
  }

  /** A question that is a task was published. */
  published(data: string): void {
    const mark = markOf(data);
    if (this.#disk.stateOf(mark) === undefined) fail(`${mark} was published, and is not on the disk`);
  }

  given(worker: string, line: number, header: monique.MoniqueHeader, data: string): void {
    const mark = markOf(data);
    const held = this.#held.get(line);
    // [monique 4.7] Another peer's answer may have counted as this worker's.
    if (held !== undefined && !this.#answered.has(held) && !isFinished(this.#disk.stateOf(held)))
      fail(`${worker} was given ${mark} on line ${line} while it had ${held}`);
    if (this.#disk.stateOf(mark) === undefined) fail(`${worker} was given ${mark}, which is not on the disk`);
    const asked = this.#asked.get(header.id);
    if (asked === undefined && header.creator !== "yardmaster")
      fail(`${worker} was given ${header.id}, which nobody asked`);
    if (asked !== undefined && asked.data !== data) fail(`${mark} reached ${worker} as ${data}`);
    if (asked?.isPast) fail(`${mark} was given to ${worker} although its time was over`);
    this.#held.set(line, mark);
    this.#given.add(`${worker} ${mark}`);
  }

  /** The worker has finished with it in some way. */
  workedOn(line: number, data: string): void {
    const mark = markOf(data);
    this.#answered.add(mark);
    if (this.#held.get(line) === mark) this.#held.delete(line);
  }

  answered(listener: string, line: number, header: monique.MoniqueHeader, data: string): void {
    const asked = this.#asked.get(header.pid);
    // The answer to a question of another dialect, for observers.
    if (asked === undefined) {
      if (!/\bclient-\d/.test(data)) fail(`${listener} heard the answer to what nobody asked: ${data}`);
      return;
    }
    const mark = `${asked.client}/${asked.number}/`;
    const hearing = `${line} ${header.pid}`;
    if (this.#heard.has(hearing)) fail(`${mark} was answered twice on line ${line}`);
    this.#heard.add(hearing);
    const state = this.#disk.stateOf(mark);
    if (header.type === "result") this.#checkResult(mark, asked, data, state);
    else if (
      state !== undefined &&
      !["failed", "cancelled", "expired"].includes(state) &&
      !this.#hadTwoYards()
    )
      fail(`${mark} was answered with ${data} but is ${state} on the disk`);
  }

  #checkResult(
    mark: string,
    { data: asked, isPast }: AskedQuestion,
    data: string,
    state: string | undefined,
  ): void {
    if (state !== "done" && !this.#hadTwoYards())
      fail(`${mark} was answered with a result but is ${state} on the disk`);
    if (isPast) fail(`${mark} was answered with a result although its time was over`);
    const [by, echo, worker = ""] = data.split(" ");
    if (echo !== asked) fail(`${mark} was answered with something that it does not give: ${data}`);
    if (by === "-" && !this.wasGiven(worker, mark))
      fail(`${mark} was answered by ${worker}, which never had it`);
  }

  wasGiven(worker: string, payload: string): boolean {
    return this.#given.has(`${worker} ${markOf(payload)}`);
  }

  get acceptedCount(): number {
    return this.#disk.all().length;
  }

  isComplete(isWhole: (line: number) => boolean): boolean {
    for (const question of this.#asked.values()) if (this.#isOwed(question, isWhole)) return false;
    return this.#disk.areFinished();
  }

  finish(isWhole: (line: number) => boolean): void {
    const marks = new Set<string>();
    for (const { head, state } of this.#disk.all()) {
      const mark = markOf(this.#disk.textOf(head));
      if (marks.has(mark)) fail(`${mark} was accepted twice`);
      marks.add(mark);
      if (!isFinished(state)) fail(`${mark} was accepted and is lost: it is ${state}`);
    }
    for (const question of this.#asked.values()) {
      if (this.#isOwed(question, isWhole))
        fail(`${question.client}/${question.number}/ was never answered although everybody is there`);
    }
  }

  /** Nothing interrupted its client's connections, and the client has not received the outcome. */
  #isOwed({ id, askedOn, awaitedOn }: AskedQuestion, isWhole: (line: number) => boolean): boolean {
    if (awaitedOn === undefined) return false;
    if (this.#heard.has(`${awaitedOn} ${id}`) || this.#missed.has(awaitedOn)) return false;
    return isWhole(askedOn) && isWhole(awaitedOn);
  }
}

function markOf(text: string): string {
  const [mark, other] = new Set(text.match(markPattern) ?? []);
  if (mark === undefined || other !== undefined) fail(`this is not of one question: ${text}`);
  return mark;
}
