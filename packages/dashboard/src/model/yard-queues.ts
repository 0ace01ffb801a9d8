// Which queues the yard draws, and in which order: by the door they come in by, then by name, so
// that lines never jump. Above twelve, those in trouble and the busiest are drawn, and the rest is
// one line.

import type { Queue } from "../live/api-shapes.js";
import { signalOf, troubleRank } from "./queue-signals.js";
import { mainDoor, queuesMax } from "./yard-layout.js";

export const doorOrder: readonly string[] = ["http", "pingpong", "pulse", "udp", "scaler", "monique"];

/**
 * The door a queue was last seen to come in by: kept, so that a quiet minute does not move its
 * track.
 */
const homeDoors = new Map<string, string>();

export interface ShownQueues {
  readonly shown: readonly Queue[];
  readonly folded: number;
}

export function yardQueues(queues: Iterable<Queue>, now: number, isOpen: boolean): ShownQueues {
  const all = [...queues].filter((queue) => !isUnused(queue));
  for (const queue of all) {
    const door = mainDoor(queue.inBy);
    if (doorOrder.includes(door) && !homeDoors.has(queue.name)) homeDoors.set(queue.name, door);
  }
  let shown = all;
  if (!isOpen && all.length > queuesMax) {
    shown = troubledAndBusy(all, now);
  }
  shown = [...shown].sort((a, b) => homeRank(a.name) - homeRank(b.name) || (a.name < b.name ? -1 : 1));
  return { shown, folded: all.length - shown.length };
}

/**
 * Half of the places are for queues in trouble, worst first, and half for the busiest: a hundred
 * queues without a worker must not hide those that work.
 */
function troubledAndBusy(all: readonly Queue[], now: number): Queue[] {
  const byTrouble = [...all].sort(
    (a, b) => troubleRank(signalOf(a, now)) - troubleRank(signalOf(b, now)) || weight(b) - weight(a),
  );
  const byWeight = [...all].sort((a, b) => weight(b) - weight(a));
  const chosen = new Set(byTrouble.slice(0, queuesMax / 2));
  const hasFlow = (queue: Queue) => queue.running + queue.inPerSecond[1] + queue.donePerSecond[1] > 0;
  for (const queue of [...byWeight.filter(hasFlow), ...byTrouble]) {
    if (chosen.size >= queuesMax) break;
    chosen.add(queue);
  }
  return [...chosen];
}

/**
 * A door's own queue is there before its first use; without tasks, workers and flow it is not
 * drawn.
 */
function isUnused(queue: Queue): boolean {
  return queue.waiting + queue.running + queue.workers === 0 && !queue.paused && weight(queue) === 0;
}

function weight(queue: Queue): number {
  return queue.inPerSecond[1] + queue.donePerSecond[1] + queue.waiting / 1e9;
}

function homeRank(name: string): number {
  const at = doorOrder.indexOf(homeDoors.get(name) ?? "");
  return at < 0 ? doorOrder.length : at;
}
