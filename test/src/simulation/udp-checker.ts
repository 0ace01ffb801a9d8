// The part of the promise that udp's peers can see, together with the content of the disk: an ack
// means that the task is on the disk; every accepted task has one outcome; a living client receives
// a success, always the same, until it acknowledges it. Tasks and results here identify themselves.

import { isDeepStrictEqual } from "node:util";
import type { TaskHead, TaskProgress } from "@yardmaster/core";
import { udp } from "@yardmaster/dialects";
import type { MemoryStore } from "@yardmaster/engines";
import { fail } from "./checker.js";
import { type DiskTask, DiskTasks, isFinished } from "./disk-tasks.js";
import type { Process } from "./world.js";

interface Question {
  readonly client: string;
  readonly taskId: udp.UdpTaskId;
  /** Unique for each task. */
  readonly mark: string;
  /** The client's process. */
  readonly process: Process;
}

interface SubmittedTask extends Question {
  isAccepted: boolean;
  /** The client does not know whether it was accepted, and has stopped asking. */
  isGivenUp: boolean;
  /** The first outcome that it received. */
  told: udp.Params | undefined;
}

const statesOf: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries({
    success: ["done"],
    error: ["failed", "cancelled"],
    failed_post: ["expired"],
  }),
);

export class UdpChecker {
  readonly #disk: DiskTasks;
  readonly #asked = new Map<string, SubmittedTask>();
  readonly #byMark = new Map<string, SubmittedTask>();
  /** Every pair of calculator and task that was ever sent, and the last calculator of each task. */
  readonly #given = new Set<string>();
  readonly #lastGiven = new Map<string, { readonly worker: string; readonly params: udp.Params }>();

  /** Answers for a task that may count although the calculator never had it, as `worker mark`. */
  readonly #believed = new Set<string>();

  /**
   * False if calculators never die with their tasks. Then no task may end as one that kills its
   * workers.
   */
  loses = true;

  /** True if a worker of another dialect received this. */
  wasGivenElsewhere: (worker: string, mark: string) => boolean = () => false;

  constructor(store: MemoryStore) {
    this.#disk = new DiskTasks(store, "udp");
  }

  asked(question: Question): void {
    const asked = { ...question, isAccepted: false, isGivenUp: false, told: undefined };
    this.#asked.set(udp.uuidOf(question.client, question.taskId), asked);
    this.#byMark.set(question.mark, asked);
  }

  gaveUp(mark: string): void {
    const asked = this.#byMark.get(mark);
    if (asked !== undefined) asked.isGivenUp = true;
  }

  /** An ack of add_task has arrived. */
  accepted(client: string, taskId: unknown): void {
    const asked = this.#of(client, taskId);
    asked.isAccepted = true;
    if (this.#stored(asked.mark).length === 0) fail(`${asked.mark} was acknowledged but is not on the disk`);
  }

  /** A packet other than an ack has arrived at a client. */
  told(client: string, { method, params }: udp.Packet): void {
    if (method !== "notify_task") fail(`${client} was sent ${method}`);
    const asked = this.#of(client, params.task_id);
    const { mark, told } = asked;
    if (told !== undefined && !isDeepStrictEqual(told, params))
      fail(`${mark} was told ${JSON.stringify(told)} and then ${JSON.stringify(params)}`);
    asked.told = params;
    const [stored] = this.#stored(mark);
    const state = stored?.progress?.state ?? "not there";
    if (statesOf.get(String(params.status))?.includes(state) !== true)
      fail(`${mark} was told as ${params.status} but is ${state} on the disk`);
    if (params.status === "success") this.#checkResult(mark, params, stored?.progress);
  }

  #checkResult(mark: string, params: udp.Params, progress: TaskProgress | undefined): void {
    if (params.truncated === true) {
      if (params.size !== progress?.result?.size) fail(`${mark} was told a size that its result has not`);
      return;
    }
    const { result, encoding } = params;
    const text = encoding === "base64" ? Buffer.from(String(result), "base64").toString() : String(result);
    const [, , worker = ""] = text.split(" ");
    if (!text.includes(mark)) fail(`${mark} was told the result of another task: ${text}`);
    const mayCount = this.wasGiven(worker, mark) || this.#believed.has(`${worker} ${mark}`);
    if (!mayCount && !this.wasGivenElsewhere(worker, mark))
      fail(`${mark} was done by ${worker}, which never had it`);
  }

  /**
   * The dispatcher has sent it there. Answers name no attempt, so from now on an answer from there
   * may count.
   */
  given(worker: string, mark: string): void {
    this.#given.add(`${worker} ${mark}`);
  }

  workArrived(worker: string, params: udp.Params): void {
    const mark = String(params.mark);
    if (this.#stored(mark).length === 0) fail(`${worker} was given ${mark}, which is not on the disk`);
    this.#lastGiven.set(mark, { worker, params });
  }

  /**
   * A dispatcher starts. Returns the marks of tasks that wait and have no recorded attempt. Each
   * may have been sent just before the crash, so its first answer is believed (docs/guarantees.md).
   */
  started(): Set<string> {
    const waiting = this.#disk
      .all()
      .filter(({ state, progress }) => state === "waiting" && !progress?.attempt);
    return new Set(waiting.map(({ head }) => this.#markOf(head)));
  }

  /** An answer reached a dispatcher that has not sent the task yet, and started with these. */
  answerArrived(result: unknown, unrecorded: ReadonlySet<string>): void {
    const [, mark = "", worker = ""] = String(result).split(" ");
    if (unrecorded.has(mark)) this.#believed.add(`${worker} ${mark}`);
  }

  wasGiven(worker: string, mark: string): boolean {
    return this.#given.has(`${worker} ${mark}`);
  }

  /** A task that another worker received last, and this worker never. */
  taskOfAnother(worker: string): udp.Params | undefined {
    const others = [...this.#lastGiven].reverse();
    return others.find(([mark]) => !this.wasGiven(worker, mark))?.[1].params;
  }

  get acceptedCount(): number {
    return this.#disk.all().length;
  }

  /** True if everything on the disk has ended and every waiting client knows it. */
  isComplete(): boolean {
    return this.#disk.all().every((task) => this.#complaint(task) === undefined);
  }

  finish(): void {
    const seen = new Set<string>();
    for (const task of this.#disk.all()) {
      const mark = this.#markOf(task.head);
      if (seen.has(mark)) fail(`${mark} was accepted twice`);
      seen.add(mark);
      const complaint = this.#complaint(task);
      if (complaint !== undefined) fail(complaint);
    }
    for (const { mark, isAccepted } of this.#asked.values())
      if (isAccepted && !seen.has(mark)) fail(`${mark} was acknowledged and is lost`);
  }

  #complaint({ head, progress, state }: DiskTask): string | undefined {
    const mark = this.#markOf(head);
    if (!isFinished(state)) return `${mark} was accepted and is lost: it is ${state}`;
    if (!this.loses && progress?.error?.code === "poison")
      fail(`${mark} was given up: ${progress.error.message}`);
    const asked = this.#byMark.get(mark) ?? fail(`${mark} was accepted and nobody asked for it`);
    // Only a success is repeated until it is acknowledged.
    if (state !== "done" || asked.isGivenUp || asked.process.isDead) return undefined;
    if (asked.told === undefined) return `${mark} is done, its client lives, and was never told`;
    if ((progress?.settled ?? 0) === 0) return `${mark} is done, its client was told, and is told still`;
    return undefined;
  }

  #stored(mark: string): DiskTask[] {
    return this.#disk.all().filter(({ head }) => this.#markOf(head) === mark);
  }

  #of(client: string, taskId: unknown): SubmittedTask {
    const uuid = udp.uuidOf(client, taskId as udp.UdpTaskId);
    return this.#asked.get(uuid) ?? fail(`${client} hears of ${taskId}, which it never asked for`);
  }

  #markOf(head: TaskHead): string {
    return String((JSON.parse(this.#disk.textOf(head)) as udp.Params).mark);
  }
}
