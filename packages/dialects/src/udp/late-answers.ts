// [udp 3.9] Answers to tasks that a calculator does not hold: one that it lost, or one that it
// received before our restart. The core decides whether they count.

import type { Instant, Moment, TaskHead, TaskId, WorkerId } from "@yardmaster/core";
import { Recent } from "../recent.js";
import { nameTask, yardNumberIn } from "./bridge.js";
import type { HeldTask } from "./calculator-job.js";
import type { UdpDoorCalculator } from "./door-calculator.js";
import { keyOf } from "./door-clients.js";
import type { Packet, TaskNames } from "./messages.js";

/** Tasks of one calculator, or those that contain a word in one queue; the newest first. */
export type TaskSearch =
  | { readonly worker: WorkerId; readonly limit: number }
  | { readonly queue: string; readonly text: string; readonly limit: number };

export interface LateAnswersHost {
  /** `take` is called later, with undefined if there is no such task. */
  readTask(id: TaskId, take: (head: TaskHead | undefined) => void): void;
  findTasks(search: TaskSearch, take: (heads: readonly TaskHead[]) => void): void;
  fault(kind: string, peer: string): void;
}

/** Maximum number of lost tasks whose answers may still come; each is stored under two names. */
const lostMax = 20_000;
/** Longer than the grace period in which workers may come back for their tasks. */
const recoveryMs = 60_000;
/**
 * Maximum number of answers being looked up. More at once do not come from returning calculators.
 */
const lookUpsMax = 1_000;
/** Number of a worker's newest tasks to search: the one that it came back for is among them. */
const newestMax = 16;

export class LateAnswers {
  readonly #options: { readonly door: string; readonly queue: string };
  readonly #host: LateAnswersHost;
  readonly #lost = new Recent<string, HeldTask>(lostMax);
  #recoversUntil = 0 as Instant;
  #openedAt = 0;
  #lookUps = 0;

  constructor(options: { readonly door: string; readonly queue: string }, host: LateAnswersHost) {
    this.#options = options;
    this.#host = host;
  }

  /** From now on tasks from before the restart are looked up, for a while. */
  opened(now: Moment): void {
    this.#recoversUntil = (now.instant + recoveryMs) as Instant;
    this.#openedAt = now.wall;
  }

  /** The calculator no longer has this task, but its answer may still come. */
  remember({ address }: UdpDoorCalculator, held: HeldTask): void {
    for (const name of [held.uuid, held.taskId]) this.#lost.set(lostKey(address.name, name), held);
  }

  completed(calculator: UdpDoorCalculator, names: TaskNames, packet: Packet, now: Moment): void {
    const lost = this.#lost.get(lostKey(calculator.address.name, names.uuid ?? names.taskId));
    // The answer comes too late; it is acknowledged so that the calculator stops sending it.
    if (lost !== undefined) calculator.completedUnheld(lost, packet, () => true);
    else if (now.instant < this.#recoversUntil && this.#lookUps < lookUpsMax) {
      this.#lookUps += 1;
      this.#lookUp(calculator, names, (head) => {
        this.#lookUps -= 1;
        if (head === undefined) this.#notIts(calculator);
        else this.#recover(calculator, head, packet);
      });
    } else this.#notIts(calculator);
  }

  /** The calculator may have received the task before the restart. */
  #recover(calculator: UdpDoorCalculator, head: TaskHead, packet: Packet): void {
    const held = { ...nameTask(head, this.#options.door), task: head.id, attempt: undefined };
    calculator.completedUnheld(held, packet, () => {
      this.#host.fault("not_its_task", calculator.address.name);
      // If it had the task before the restart, its answer was accepted or is too late, so it may
      // stop.
      return head.submittedAt < this.#openedAt;
    });
  }

  #lookUp(
    { id }: UdpDoorCalculator,
    { uuid, taskId }: TaskNames,
    take: (head: TaskHead | undefined) => void,
  ): void {
    const { door, queue } = this.#options;
    if (uuid === undefined) {
      this.#host.findTasks({ worker: id, limit: newestMax }, (heads) =>
        take(heads.find((head) => String(nameTask(head, door).taskId) === String(taskId))),
      );
      return;
    }
    const number = yardNumberIn(uuid);
    if (number !== undefined) this.#host.readTask(number as TaskId, take);
    else this.#host.findTasks({ queue, text: keyOf(uuid), limit: 1 }, ([head]) => take(head));
  }

  /**
   * [udp 3.4] Only the calculator that holds a task can answer it, but the message shows that this
   * one is alive.
   */
  #notIts(calculator: UdpDoorCalculator): void {
    this.#host.fault("not_its_task", calculator.address.name);
    calculator.seemsReady(false);
  }
}

function lostKey(calculator: string, task: string | number | undefined): string {
  return `${calculator} ${task}`;
}
