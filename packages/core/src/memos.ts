// What doors want to find again after a restart. The core has it committed in the order in which it was posted, with the
// rest of the turn, and keeps none of it.

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
  // A char is at most three bytes of UTF-8.
  if (name === "" || name.length * 3 > memoNameMax) {
    yard.counters.senseless.add(door.name, event.type);
    const message = `The name of a memo has 1 to ${Math.floor(memoNameMax / 3)} characters.`;
    yard.reply(door, request, { type: "refused", code: "bad_request", message });
    return;
  }
  yard.step.change({ kind: "memo", memo: { door: door.name, name, bytes } });
  yard.reply(door, request, { type: "granted" });
}
