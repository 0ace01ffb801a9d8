// The card of one attempt: which task, how it went, and where the task went from there.

import { yard } from "../live/yard.js";
import { outcomes } from "../model/attempt-ring.js";
import { reasonClause } from "../model/reasons.js";
import { routeText } from "../model/route.js";
import { shownLine } from "../model/shown-text.js";
import { labelOf } from "../model/stream-layout.js";
import { duration } from "../model/time.js";
import { QueueName } from "../parts/controls.js";
import { Sign, type SignName } from "../parts/sign.js";

export function StreamCard(props: {
  slot: number;
  box: { x: number; y: number; width: number; height: number };
  width: number;
}) {
  const { slot, box, width } = props;
  const { ring } = yard;
  const task = String(ring.task[slot]);
  const outcome = outcomes[ring.outcome[slot] as number] ?? "running";
  const left = Math.max(0, Math.min(width - 340, box.x + 20));
  return (
    <div class="floating stream-card" style={{ left, top: box.y + box.height + 8 }}>
      <div class="row">
        <Sign name={outcome === "returned" ? "cancelled" : (outcome as SignName)} label={outcome} />
        <a class="strong" href={routeText("task", task)}>
          Task {task}
        </a>
        <span class="grow" />
        <QueueName name={ring.queues.name(ring.queue[slot] as number)} />
      </div>
      <p>{sentence(slot)}</p>
      <p class="faint">{nextSentence(slot)}</p>
      <div class="row faint card-keys">
        <kbd>enter</kbd> open <kbd>f</kbd> follow the task
      </div>
      <a class="button card-open" href={routeText("task", task)}>
        Open the task
      </a>
    </div>
  );
}

function workerName(slot: number): string {
  const id = yard.ring.workers.name(yard.ring.worker[slot] as number);
  const worker = yard.workers.get(id);
  return shownLine(worker ? labelOf(id, worker.door) : id);
}

function sentence(slot: number) {
  const { ring } = yard;
  const start = ring.start[slot] as number;
  const end = ring.end[slot] as number;
  const reason = ring.reasons.name(ring.reason[slot] as number);
  const number = ring.tryNumber[slot];
  const took = duration((Number.isNaN(end) ? yard.now() : end) - start);
  const name = <b>{workerName(slot)}</b>;
  switch (outcomes[ring.outcome[slot] as number]) {
    case "running":
      return (
        <>
          Attempt {number} on {name} has been running for {took}.
        </>
      );
    case "failed":
      return (
        <>
          Attempt {number} on {name} failed after {took}
          {reason ? `: ${shownLine(reason)}` : ""}.
        </>
      );
    case "lost":
      return (
        <>
          Attempt {number} on {name} was lost after {took}: {shownLine(reasonClause(reason))}.
        </>
      );
    case "cancelled":
      return (
        <>
          Attempt {number} on {name} was cancelled after {took}.
        </>
      );
    case "returned":
      return (
        <>
          Attempt {number} on {name} was given back after {took}; that costs no try.
        </>
      );
    default:
      return (
        <>
          Attempt {number} on {name} took {took}.
        </>
      );
  }
}

function nextSentence(slot: number): string {
  const { ring } = yard;
  for (const other of ring.newestFirst()) {
    if (ring.movedFrom[other] !== slot || ring.task[other] !== ring.task[slot]) continue;
    const after = duration((ring.start[other] as number) - (ring.end[slot] as number));
    const end = ring.end[other] as number;
    const how = Number.isNaN(end)
      ? "still running"
      : `${outcomes[ring.outcome[other] as number]} in ${duration(end - (ring.start[other] as number))}`;
    return `Attempt ${ring.tryNumber[other]} began ${after} later on ${workerName(other)}, ${how}.`;
  }
  return "";
}
