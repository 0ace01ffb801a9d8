// A client's end of the dialect: many tasks at once over one socket, each under its own task_id.

import type { Instant, Moment } from "@yardmaster/core";
import { Recent } from "../recent.js";
import { isTaskId, readDispatcherRequest } from "./codec.js";
import type { AckWaiter, SentRequest, UdpAddress, UdpExchange } from "./exchange.js";
import type { NotifiedStatus, Packet, Params, ParamsText, UdpTaskId } from "./messages.js";

export interface UdpClientSettings {
  /**
   * [udp 2.4] Repeating is safe: interval between repeats of an unacknowledged add_task, and how
   * long it is repeated.
   */
  readonly askAgainMs: number;
  readonly askMsMax: number;
}

export const defaultUdpClientSettings: UdpClientSettings = { askAgainMs: 500, askMsMax: 10_000 };

/** The waiter for a task. It is accepted first, or not at all; then comes the outcome. */
export interface TaskWaiter {
  accepted(): void;
  /** No answer came: it is not known whether the task was accepted. */
  unanswered(): void;
  ended(status: NotifiedStatus, params: Params): void;
}

/** Tasks that ended recently and may be reported again. */
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
   * Submits under the task_id in its params, or under a new one. Returns the id; undefined when the
   * params do not fit into a datagram. Throws if that task_id is in use or invalid.
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

  /**
   * [udp 2.2] From the clock: a client that restarts on the same port must not seem to repeat its
   * old tasks.
   */
  #newId(now: Moment): UdpTaskId {
    this.#last = Math.max(this.#last + 1, Math.floor(now.wall));
    return this.#last;
  }

  /** Handles any packet from the dispatcher that is not an ack. */
  receive(packet: Packet): void {
    const reading = readDispatcherRequest(packet);
    if (!reading.ok || reading.message.type !== "notify_task") return;
    const { taskId, status } = reading.message;
    const asking = this.#asked.get(taskId);
    // [udp 2.6] A repeated outcome is acknowledged again; an unknown one is not.
    if (asking === undefined && !this.#ended.has(taskId)) return;
    this.#exchange.acknowledge(this.#dispatcher, packet);
    if (asking === undefined) return;
    this.#forget(asking);
    this.#ended.set(taskId, true);
    asking.accept();
    asking.waiter.ended(status, packet.params);
  }

  /** Removes and returns all waiters. */
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

  /** Called by the request itself. */
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
  /** The last add_task sent. */
  asked: SentRequest | undefined;
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

  /** If the ack was lost, the outcome also means acceptance. */
  accept(): void {
    if (this.#isAccepted) return;
    this.#isAccepted = true;
    this.waiter.accepted();
  }

  unanswered(now: Moment): void {
    this.#session.unanswered(this, now);
  }
}
