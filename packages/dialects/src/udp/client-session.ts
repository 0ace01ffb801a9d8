// A client's end of the dialect: many tasks at once over one socket, each under a task_id of its own.

import type { Instant, Moment } from "@yardmaster/core";
import { Recent } from "../recent.js";
import { isTaskId, readDispatcherRequest } from "./codec.js";
import type { AckWaiter, Asked, UdpAddress, UdpExchange } from "./exchange.js";
import type { NotifiedStatus, Packet, Params, ParamsText, UdpTaskId } from "./messages.js";

export interface UdpClientSettings {
  /** [udp 2.4] Asking again is safe: an add_task that is not acknowledged is said again after so long, for so long. */
  readonly askAgainMs: number;
  readonly askMsMax: number;
}

export const defaultUdpClientSettings: UdpClientSettings = { askAgainMs: 500, askMsMax: 10_000 };

/** Who waits for a task. Accepted first, or not at all; then what came of it. */
export interface TaskWaiter {
  accepted(): void;
  /** Nobody answered: whether the task was taken is not known. */
  unanswered(): void;
  ended(status: NotifiedStatus, params: Params): void;
}

/** Tasks that ended lately, and may be told once more. */
const endedMax = 10_000;

export class UdpClientSession {
  readonly #dispatcher: UdpAddress;
  readonly #settings: UdpClientSettings;
  readonly #exchange: UdpExchange;
  readonly #asked = new Map<UdpTaskId, Asking>();
  readonly #ended = new Recent<UdpTaskId, true>(endedMax);
  readonly #again = new Set<Asking>();
  #last = 0;

  constructor(dispatcher: UdpAddress, settings: UdpClientSettings, exchange: UdpExchange) {
    this.#dispatcher = dispatcher;
    this.#settings = settings;
    this.#exchange = exchange;
  }

  get waiting(): number {
    return this.#asked.size;
  }

  /**
   * Under the task_id in its params, else under one of ours. What the task is called; undefined when its params do not fit
   * in a datagram. Throws where somebody waits for that task_id already, or it is none.
   */
  submit(params: Params, waiter: TaskWaiter, now: Moment): UdpTaskId | undefined {
    const taskId = params.task_id === undefined ? this.#newId(now) : readGivenId(params.task_id);
    if (this.#asked.has(taskId)) throw new RangeError(`task_id ${taskId} is waited for already`);
    const asking = new Asking(this, JSON.stringify({ ...params, task_id: taskId }), taskId, waiter);
    asking.askUntil = (now.instant + this.#settings.askMsMax) as Instant;
    if (!this.#ask(asking, now)) return undefined;
    this.#asked.set(taskId, asking);
    return taskId;
  }

  /** [udp 2.2] From the clock: a client that starts anew on the same port must not seem to say its old tasks again. */
  #newId(now: Moment): UdpTaskId {
    this.#last = Math.max(this.#last + 1, Math.floor(now.wall));
    return this.#last;
  }

  /** Any packet from the dispatcher that is no ack. */
  receive(packet: Packet): void {
    const reading = readDispatcherRequest(packet);
    if (!reading.ok || reading.message.type !== "notify_task") return;
    const { taskId, status } = reading.message;
    const asking = this.#asked.get(taskId);
    // [udp 2.6] One that is told once more is acknowledged once more; one that is not ours is not.
    if (asking === undefined && !this.#ended.has(taskId)) return;
    this.#exchange.acknowledge(this.#dispatcher, packet);
    if (asking === undefined) return;
    this.#forget(asking);
    this.#ended.set(taskId, true);
    asking.accept();
    asking.waiter.ended(status, packet.params);
  }

  /** Nobody waits any more. */
  takeAll(): TaskWaiter[] {
    const waiters = [...this.#asked.values()].map(({ waiter }) => waiter);
    for (const asking of this.#asked.values()) this.#drop(asking);
    this.#asked.clear();
    this.#again.clear();
    return waiters;
  }

  nextDeadline(): Instant | undefined {
    let next: Instant | undefined;
    for (const { againAt } of this.#again) if (next === undefined || againAt < next) next = againAt;
    return next;
  }

  handleTimeout(now: Moment): void {
    for (const asking of this.#again) {
      if (asking.againAt > now.instant) continue;
      this.#again.delete(asking);
      this.#ask(asking, now);
    }
  }

  /** Called by what was asked. */
  unanswered(asking: Asking, now: Moment): void {
    if (now.instant >= asking.askUntil) {
      this.#forget(asking);
      asking.waiter.unanswered();
      return;
    }
    asking.againAt = (now.instant + this.#settings.askAgainMs) as Instant;
    this.#again.add(asking);
  }

  #ask(asking: Asking, now: Moment): boolean {
    const asked = this.#exchange.ask(this.#dispatcher, "add_task", asking.params, asking, now);
    if (asked === undefined) return false;
    asking.asked = asked;
    return true;
  }

  #forget(asking: Asking): void {
    this.#drop(asking);
    this.#again.delete(asking);
    this.#asked.delete(asking.taskId);
  }

  #drop({ asked }: Asking): void {
    if (asked !== undefined) this.#exchange.drop(asked);
  }
}

/** [udp 2.1] */
function readGivenId(given: unknown): UdpTaskId {
  if (isTaskId(given)) return given;
  throw new RangeError("a task_id is a whole number or a string of 1 to 128 characters");
}

class Asking implements AckWaiter {
  readonly params: ParamsText;
  readonly taskId: UdpTaskId;
  readonly waiter: TaskWaiter;
  readonly #session: UdpClientSession;
  #isAccepted = false;
  /** The add_task that was said last. */
  asked: Asked | undefined;
  askUntil = 0 as Instant;
  againAt = 0 as Instant;

  constructor(session: UdpClientSession, params: ParamsText, taskId: UdpTaskId, waiter: TaskWaiter) {
    this.#session = session;
    this.params = params;
    this.taskId = taskId;
    this.waiter = waiter;
  }

  acknowledged(): void {
    this.accept();
  }

  /** The outcome says so too, where the ack was lost. */
  accept(): void {
    if (this.#isAccepted) return;
    this.#isAccepted = true;
    this.waiter.accepted();
  }

  unanswered(now: Moment): void {
    this.#session.unanswered(this, now);
  }
}
