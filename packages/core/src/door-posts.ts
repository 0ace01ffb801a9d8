// The numbers of a door's posts: a repeated post has no effect, and a gap means that posts were
// lost.

import type { DoorState } from "./door-state.js";
import type { Post } from "./events.js";
import { dropClaim } from "./offers.js";
import { dropWatch } from "./watches.js";
import { loseWorkers } from "./workers.js";
import type { Yard } from "./yard.js";

/**
 * True if a post is new. A gap in the numbers means that posts, and thus messages of the door's
 * peers, were lost.
 */
export function takeIn(yard: Yard, door: DoorState, { event, number }: Post): boolean {
  if (event.type === "door-opened" && event.incarnation !== door.incarnation) {
    loseDoor(yard, door);
    door.incarnation = event.incarnation;
  } else if (number <= door.mark) {
    yard.counters.repeatedPosts.add(door.name);
    return false;
  } else if (number > door.mark + 1) {
    loseDoor(yard, door);
  }
  door.mark = number;
  yard.step.mark(door);
  return true;
}

/**
 * Drops the door's peers and requests. Its requests are not answered, because their clients are
 * gone.
 */
function loseDoor(yard: Yard, door: DoorState): void {
  for (const { offer } of [...door.claims.values()]) if (offer !== undefined) dropClaim(yard, offer);
  loseWorkers(yard, [...door.workers], "door_lost");
  for (const watch of [...door.watches.values()]) dropWatch(yard, watch);
}
