// Which part of the core handles which event, and what is done when a deadline is due.

import { handleCancelAsked, handleSubmitted } from "./accepting.js";
import { handleAnswered, handleSought } from "./answering.js";
import { giveBack, handleAttempt, handleLeaseOver } from "./attempts.js";
import { levelLoad } from "./balance.js";
import { handleActionStepped } from "./bulk-action.js";
import { endUnserved, handleWanted } from "./claims.js";
import { releaseDependents } from "./dependencies.js";
import type { DoorState } from "./door-state.js";
import type { YardEvent } from "./events.js";
import { expire } from "./expiry.js";
import { handleGraph } from "./graph.js";
import { forgetKeys } from "./key-ageing.js";
import { refill } from "./matching.js";
import { handleMemo } from "./memos.js";
import type { TaskId } from "./names.js";
import { dropClaim } from "./offers.js";
import { wake } from "./placing.js";
import { handleOrder } from "./queue-orders.js";
import { handleSettings } from "./queue-settings.js";
import { endGrace, giveUpOn } from "./recovery.js";
import { recordReport } from "./reports.js";
import {
  handleScheduleDropped,
  handleScheduleOrdered,
  handleSchedulePut,
  runSchedule,
} from "./scheduling.js";
import { trimHistory } from "./settling.js";
import { endTellings, endTellingsAhead, handleTold, handleUndelivered, tell, tellAgain } from "./telling.js";
import type { Timed } from "./timed.js";
import { dropWatch, endWatch, handleWatched } from "./watches.js";
import { drainWorker, endHold, handleBeat, handleJoined, handleRetired, loseWorkers } from "./workers.js";
import type { Yard } from "./yard.js";

export function handleEvent(yard: Yard, door: DoorState, event: YardEvent): void {
  switch (event.type) {
    case "task-submitted":
      return handleSubmitted(yard, door, event);
    case "attempt-done":
    case "attempt-failed":
    case "attempt-lost":
    case "attempt-returned":
    case "attempt-beat":
      return handleAttempt(yard, door, event);
    case "outcomes-told":
      return handleAllTold(yard, door, event.tasks);
    case "outcome-undelivered":
      return handleUndelivered(yard, door, yard.tasks.get(event.task), event.again);
    case "worker-joined":
      return handleJoined(yard, door, event);
    case "worker-beat":
      return handleBeat(yard, door, event);
    case "work-claimed":
      return handleWanted(yard, door, event);
    case "worker-left":
      return handleLeft(yard, door, event);
    case "worker-retired":
      return handleRetired(yard, door, event);
    case "graph-submitted":
      return handleGraph(yard, door, event);
    case "cancel-asked":
      return handleCancelAsked(yard, door, event);
    case "task-sought":
      return handleSought(yard, door, event);
    case "task-answered":
      return handleAnswered(yard, door, event);
    case "task-watched":
      return handleWatched(yard, door, event);
    case "request-dropped":
      return handleDropped(yard, door, event.request);
    case "worker-drain-asked":
      return handleDrainAsked(yard, door, event);
    case "queue-order-given":
      return handleOrder(yard, door, event);
    case "action-stepped":
      return handleActionStepped(yard, door, event);
    case "schedule-put":
      return handleSchedulePut(yard, door, event);
    case "schedule-dropped":
      return handleScheduleDropped(yard, door, event);
    case "schedule-ordered":
      return handleScheduleOrdered(yard, door, event);
    case "queue-settings-given":
      return handleSettings(yard, door, event);
    case "memo-written":
      return handleMemo(yard, door, event);
    case "memo-dropped":
      return yard.step.change({ kind: "memo-gone", door: door.name, name: event.name });
    case "door-opened":
      door.forgets = event.forgets === true;
      door.resumes = event.resumes === true;
      if (door.forgets) giveUpOn(yard, door);
      return tellAgain(yard, door);
    case "store-room-changed":
      yard.shortage = event.shortage;
      return;
    case "memory-noted":
      yard.isShortOfMemory = event.isShort;
      return;
    case "yard-closing":
      yard.isClosing = true;
      for (const each of yard.doors.values()) endClaims(yard, each);
      return;
    case "yard-closed":
      return handleClosed(yard);
    default:
      event satisfies never;
  }
}

function handleAllTold(yard: Yard, door: DoorState, tasks: readonly TaskId[]): void {
  const { step } = yard;
  const { isUrgent } = step;
  for (const task of tasks) handleTold(yard, door, yard.tasks.get(task));
  step.isUrgent = isUrgent;
}

function handleLeft(yard: Yard, door: DoorState, event: Extract<YardEvent, { type: "worker-left" }>): void {
  const worker = yard.workers.get(event.worker);
  if (worker === undefined || worker.door !== door) yard.counters.senseless.add(door.name, "worker-left");
  else loseWorkers(yard, [worker], event.reason, event.message);
}

function handleDropped(yard: Yard, door: DoorState, request: number): void {
  const offer = door.claims.get(request)?.offer;
  if (offer !== undefined) dropClaim(yard, offer);
  const watch = door.watches.get(request);
  if (watch !== undefined) dropWatch(yard, watch);
}

function handleDrainAsked(
  yard: Yard,
  door: DoorState,
  event: Extract<YardEvent, { type: "worker-drain-asked" }>,
): void {
  const worker = yard.workers.get(event.worker);
  if (worker === undefined) {
    const message = `There is no worker ${event.worker}.`;
    yard.reply(door, event.request, { type: "refused", code: "not_found", message });
    return;
  }
  drainWorker(yard, worker);
  yard.reply(door, event.request, { type: "granted" });
}

function endClaims(yard: Yard, door: DoorState): void {
  for (const { offer } of [...door.claims.values()]) if (offer !== undefined) endUnserved(yard, offer);
}

function handleClosed(yard: Yard): void {
  yard.isClosing = true;
  for (const worker of yard.workers.values()) {
    // Stays recorded as running, as after a crash. A worker that still runs it after the next
    // start gets its lease back.
    if (worker.door.resumes) continue;
    for (let lease = worker.newest; lease !== undefined; ) {
      const { older } = lease;
      if (!lease.isRevoked && !lease.hasAnswered) giveBack(yard, lease, "drain", 0);
      lease = older;
    }
  }
  endTellingsAhead(yard);
}

export function handleDue(yard: Yard, due: Timed): void {
  switch (due.type) {
    case "wake":
      return wake(yard, due.task);
    case "expire":
      return expire(yard, due.task);
    case "tell":
      return tell(yard, due.task);
    case "tellings":
      return endTellings(yard);
    case "lease":
      return handleLeaseOver(yard, due.lease);
    case "report":
      return recordReport(yard, due.lease);
    case "claim":
      if (due.claim.offer !== undefined) endUnserved(yard, due.claim.offer);
      return;
    case "watch":
      return endWatch(yard, due.watch, false);
    case "hold":
      return endHold(yard, due.worker);
    case "linger":
      return yard.dropIfEmpty(due.queue);
    case "balance":
      return levelLoad(yard, due.queue);
    case "releases":
      return releaseDependents(yard);
    case "rate":
      return refill(yard, due.queue);
    case "grace":
      return endGrace(yard);
    case "schedule":
      return runSchedule(yard, due.schedule);
    case "keys":
      return forgetKeys(yard);
    case "retention":
      return trimHistory(yard);
    default:
      due satisfies never;
  }
}
