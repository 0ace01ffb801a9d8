// Events with large bodies. The engine stores such a body before the core hears of the event, so
// the batch that makes the event durable does not wait for it, and neither does any other event.
//
// The rules of order: later events of the same client, or about the same attempt, wait too. So does
// a search for the key of a waiting task. A worker leaves only after its answer, and gets nothing
// new in between. All others pass. A client that gets a reply to each request keeps its own order,
// so its requests are independent.

import {
  type Dispatcher,
  Fifo,
  type RequestId,
  type TaskId,
  type WorkerId,
  type YardEvent,
} from "@yardmaster/core";
import type { BodyPart, Engine } from "@yardmaster/engines";
import type { Commits, EarlyBody } from "./commits.js";

/** Smaller bodies are stored with their batch: several hundred of them take one write. */
const largeBodyBytesDefault = 262_144;

/** Bodies that are stored at once. Each waits for the others, so more would only take longer. */
const storingMax = 4;

/**
 * Maximum size of all events that wait here. Beyond it an event passes on at once, and its batch
 * waits for its body. The core's limits then apply to it.
 */
const waitingBytesMax = 536_870_912;
/** The size that is counted for an event without a large body. */
const eventBytes = 1_024;

export interface ArrivingBodiesOptions {
  readonly engine: Pick<Engine, "putBody" | "inlineBytesMax">;
  /** Bodies of this size and above are stored early. */
  readonly largeBodyBytes?: number;
  /** Both exist once doors post. */
  readonly parts: () => { readonly core: Dispatcher; readonly commits: Commits };
  readonly pass: (door: string, event: YardEvent) => void;
  /** A body could not be stored, so the process must end. */
  readonly onFault: (fault: Error) => void;
}

interface WaitingEvent {
  readonly door: string;
  readonly event: YardEvent;
  readonly size: number;
}

/** Events in order, of one door or more. The first one's body is being stored, or will be. */
interface Lane {
  readonly waiting: Fifo<WaitingEvent>;
  /** For each of its names, the number of its events that have the name. */
  readonly names: Map<string, number>;
  /** The body of the first event. */
  body: EarlyBody | undefined;
}

export class ArrivingBodies {
  readonly #options: ArrivingBodiesOptions;
  /** By each name under which events join it. */
  readonly #lanes = new Map<string, Lane>();
  /** Lanes whose first body is not being stored yet. */
  readonly #unstored: Lane[] = [];
  #storing = 0;
  #bytes = 0;

  constructor(options: ArrivingBodiesOptions) {
    this.#options = options;
  }

  get isEmpty(): boolean {
    return this.#lanes.size === 0;
  }

  /** Returns true if the event must wait. It is then passed on later. */
  take(door: string, event: YardEvent): boolean {
    const size = sizeOf(event);
    const isLarge = this.#isLarge(size);
    if (!isLarge && this.#lanes.size === 0) return false;
    const lane = this.#laneOf(door, event, isLarge);
    if (lane !== undefined) this.#join(lane, { door, event, size });
    else if (isLarge && this.#bytes + size <= waitingBytesMax) return this.#open({ door, event, size });
    return lane !== undefined;
  }

  #isLarge(size: number): boolean {
    const { engine, largeBodyBytes = largeBodyBytesDefault } = this.#options;
    return size >= largeBodyBytes && size > engine.inlineBytesMax;
  }

  #laneOf(door: string, event: YardEvent, isLarge: boolean): Lane | undefined {
    for (const name of namesOf(door, event, isLarge)) {
      const lane = this.#lanes.get(name);
      if (lane !== undefined) return lane;
    }
    return undefined;
  }

  #join(lane: Lane, waiting: WaitingEvent): void {
    const { door, event, size } = waiting;
    const { core } = this.#options.parts();
    if (isDeparture(event)) core.expectDeparture(door, event.worker);
    if (event.type === "attempt-done") core.expectAnswer(event);
    lane.waiting.push(waiting);
    this.#name(lane, waiting);
    this.#bytes += size + eventBytes;
    if (this.#bytes > waitingBytesMax) this.#passAll(lane);
  }

  #open(waiting: WaitingEvent): boolean {
    const lane: Lane = { waiting: new Fifo(), names: new Map(), body: undefined };
    lane.waiting.push(waiting);
    if (!this.#storeFirst(lane)) return false;
    this.#name(lane, waiting);
    this.#bytes += waiting.size + eventBytes;
    this.#storeNext();
    return true;
  }

  /** False if the lane's first event has no body to store, so that it can pass on. */
  #storeFirst(lane: Lane): boolean {
    const first = lane.waiting.first();
    if (first === undefined || !this.#isLarge(first.size)) return false;
    lane.body = this.#earlyBody(first.event);
    if (lane.body === undefined) return false;
    this.#unstored.push(lane);
    return true;
  }

  /** Undefined if the event passes on at once. So does one that the core would refuse now. */
  #earlyBody(event: YardEvent): EarlyBody | undefined {
    const { core, commits } = this.#options.parts();
    if (event.type === "task-submitted") {
      // What it depends on was looked up when it came, and may be forgotten later.
      if (event.submission.after !== undefined || !core.admits(event.submission)) return undefined;
      const task = core.reserveTask();
      commits.reserve(task);
      return { task, part: "payload", body: event.submission.payload, storing: undefined };
    }
    if (event.type !== "attempt-done" || !core.expectAnswer(event)) return undefined;
    return { task: event.task, part: "result", body: event.result, storing: undefined };
  }

  #storeNext(): void {
    while (this.#storing < storingMax) {
      const lane = this.#unstored.shift();
      const body = lane?.body;
      if (lane === undefined || body === undefined) return;
      this.#storing += 1;
      body.storing = this.#put(body, body.part);
      body.storing.then(
        () => {
          this.#storing -= 1;
          body.storing = undefined;
          if (lane.body === body) this.#stored(lane);
          this.#storeNext();
        },
        (error: unknown) => this.#fail(error),
      );
    }
  }

  #put({ task, body }: EarlyBody, part: BodyPart): Promise<void> {
    return this.#options.engine.putBody(task, part, body);
  }

  /** Passes on the first event, and those after it up to the next one with a body to store. */
  #stored(lane: Lane): void {
    do this.#passFirst(lane);
    while (lane.waiting.size > 0 && !this.#storeFirst(lane));
  }

  /** Passes on everything in a lane: the next batch waits for the body. */
  #passAll(lane: Lane): void {
    const position = this.#unstored.indexOf(lane);
    if (position >= 0 && lane.body !== undefined) {
      this.#unstored.splice(position, 1);
      lane.body.storing = this.#put(lane.body, lane.body.part);
      lane.body.storing.catch((error: unknown) => this.#fail(error));
    }
    while (lane.waiting.size > 0) this.#passFirst(lane);
  }

  #passFirst(lane: Lane): void {
    const { body } = lane;
    const first = lane.waiting.shift();
    if (first === undefined) return;
    lane.body = undefined;
    this.#unname(lane, first);
    this.#bytes -= first.size + eventBytes;
    if (body !== undefined) this.#options.parts().commits.expect(body);
    this.#options.pass(first.door, withId(first.event, body));
  }

  #fail(error: unknown): void {
    const reason = error instanceof Error ? error.message : String(error);
    this.#options.onFault(new Error(`A body could not be stored, so nothing more is accepted: ${reason}`));
  }

  /** A name that another lane has stays with it: that lane is the earlier one. */
  #name(lane: Lane, { door, event }: WaitingEvent): void {
    for (const name of ownNamesOf(door, event)) {
      if ((this.#lanes.get(name) ?? lane) !== lane) continue;
      this.#lanes.set(name, lane);
      lane.names.set(name, (lane.names.get(name) ?? 0) + 1);
    }
  }

  #unname(lane: Lane, { door, event }: WaitingEvent): void {
    for (const name of ownNamesOf(door, event)) {
      const count = lane.names.get(name) ?? 0;
      if (count > 1) lane.names.set(name, count - 1);
      else if (lane.names.delete(name)) this.#lanes.delete(name);
    }
  }
}

/** The size of the body that a batch would wait for; 0 if there is none. */
function sizeOf(event: YardEvent): number {
  if (event.type === "task-submitted") return event.submission.payload.bytes?.length ?? 0;
  if (event.type === "attempt-done") return event.result.bytes?.length ?? 0;
  if (event.type === "attempt-failed") return event.result?.bytes?.length ?? 0;
  return event.type === "task-answered" && "result" in event ? (event.result.bytes?.length ?? 0) : 0;
}

function isDeparture(
  event: YardEvent,
): event is Extract<YardEvent, { type: "worker-left" | "worker-retired" }> {
  return event.type === "worker-left" || event.type === "worker-retired";
}

function withId(event: YardEvent, body: EarlyBody | undefined): YardEvent {
  return event.type === "task-submitted" && body !== undefined ? { ...event, id: body.task } : event;
}

/** The names of the lanes that an event must not overtake. */
function namesOf(door: string, event: YardEvent, isLarge: boolean): string[] {
  switch (event.type) {
    case "task-submitted":
      return event.request === undefined ? [clientName(door, event)] : [];
    case "task-sought":
      return [keyName(event.queue, event.key)];
    case "request-dropped":
      return [requestName(door, event.request)];
    // A worker that changes its slots holds what it held, and must get no more than it can take.
    case "worker-joined":
      return [departureName(event.worker)];
    case "worker-left":
    case "worker-retired":
      return [workerName(event.worker)];
    case "attempt-done":
      return isLarge ? [taskName(event.task), workerName(event.worker)] : [taskName(event.task)];
    case "attempt-failed":
    case "attempt-lost":
    case "attempt-returned":
    case "task-answered":
      return [taskName(event.task)];
    default:
      return [];
  }
}

/** The names that a lane has while this event waits in it. */
function ownNamesOf(door: string, event: YardEvent): string[] {
  const names = "request" in event && event.request !== undefined ? [requestName(door, event.request)] : [];
  if (event.type === "attempt-done") names.push(taskName(event.task), workerName(event.worker));
  if (isDeparture(event) || event.type === "worker-joined") names.push(departureName(event.worker));
  if (event.type !== "task-submitted") return names;
  if (event.request === undefined) names.push(clientName(door, event));
  const { queue, key } = event.submission;
  if (key !== undefined) names.push(keyName(queue, key));
  if (event.watch !== undefined) names.push(requestName(door, event.watch.request));
  return names;
}

function clientName(door: string, { submission }: Extract<YardEvent, { type: "task-submitted" }>): string {
  return `client ${door} ${submission.replyTo?.address ?? ""}`;
}

function keyName(queue: string, key: string): string {
  return `key ${queue} ${key}`;
}

function requestName(door: string, request: RequestId): string {
  return `request ${door} ${request}`;
}

function workerName(worker: WorkerId): string {
  return `worker ${worker}`;
}

function departureName(worker: WorkerId): string {
  return `departure ${worker}`;
}

function taskName(task: TaskId): string {
  return `task ${task}`;
}
