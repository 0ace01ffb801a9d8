// Operators' orders to a queue: pause, resume, drain.

import { refuseQueue } from "./admission.js";
import type { DoorState } from "./door-state.js";
import type { YardEvent } from "./events.js";
import { askForBalance, serveQueue } from "./matching.js";
import type { Queue } from "./queue.js";
import type { WallTime } from "./time.js";
import type { Yard } from "./yard.js";

type OrderGiven = Extract<YardEvent, { type: "queue-order-given" }>;

/** True for configured queues and the doors' own queues too, which exist before their first use. */
export function isThere({ queues, options }: Yard, name: string): boolean {
  return queues.has(name) || options.queues.has(name);
}

function giveOrder(queue: Queue, { order, by }: OrderGiven, now: WallTime): void {
  if (order === "drain") queue.isDraining = true;
  else if (order === "resume") {
    queue.isPaused = false;
    queue.isDraining = false;
  } else if (!queue.isPaused) {
    queue.isPaused = true;
    queue.pausedAt = now;
    queue.pausedBy = by;
  }
}

export function handleOrder(yard: Yard, door: DoorState, event: OrderGiven): void {
  if (event.mustExist === true && !isThere(yard, event.queue)) {
    const message = `There is no queue ${event.queue} now.`;
    yard.reply(door, event.request, { type: "refused", code: "not_found", message });
    return;
  }
  const queue = yard.queue(event.queue, door, event.host);
  if (queue === undefined) {
    yard.reply(door, event.request, { type: "refused", ...refuseQueue(event.queue) });
    return;
  }
  giveOrder(queue, event, yard.now.wall);
  const { name, isPaused: paused, isDraining: draining } = queue;
  if (paused || draining) yard.step.change({ kind: "queue", queue: { name, paused, draining } });
  else yard.step.change({ kind: "queue-gone", name });
  serveQueue(yard, queue);
  askForBalance(yard, queue);
  yard.reply(door, event.request, { type: "granted" });
  yard.dropIfEmpty(queue);
}
