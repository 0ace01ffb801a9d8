// Records that doors need after a restart. The core commits them in the order of the posts, with
// the rest of the turn, and keeps none of them.

import type { DoorState } from "./door-state.js";
import type { YardEvent } from "./events.js";
import { memoNameMax } from "./records.js";
import type { Yard } from "./yard.js";

export function handleMemo(
  yard: Yard,
  door: DoorState,
  event: Extract<YardEvent, { type: "memo-written" }>,
): void {
  const { name, bytes, request } = event;
  // A UTF-16 unit takes at most three bytes of UTF-8.
  if (name === "" || name.length * 3 > memoNameMax) {
    yard.counters.senseless.add(door.name, event.type);
    const message = `The name of a memo has 1 to ${Math.floor(memoNameMax / 3)} characters.`;
    yard.reply(door, request, { type: "refused", code: "bad_request", message });
    return;
  }
  yard.step.change({ kind: "memo", memo: { door: door.name, name, bytes } });
  yard.reply(door, request, { type: "granted" });
}
