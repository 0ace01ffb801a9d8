// The core's own memos, given back to it at a restart. Each name has a prefix that says what it is.

import { laneMemoPrefix } from "./histories.js";
import { armBucket } from "./matching.js";
import type { Queue } from "./queue.js";
import { override, overridesIn, settingsMemo } from "./queue-settings.js";
import { rateMemo } from "./rate-bucket.js";
import { coreMemoDoor, type MemoRecord } from "./records.js";
import type { WallTime } from "./time.js";
import type { Yard } from "./yard.js";

export class OwnMemos {
  readonly #yard: Yard;
  /** When the token bucket of each queue is full again, by wall clock. */
  readonly #buckets = new Map<string, WallTime>();

  constructor(yard: Yard) {
    this.#yard = yard;
  }

  restore({ name, bytes }: MemoRecord): void {
    if (name.startsWith(settingsMemo(""))) this.#settings(name.slice(settingsMemo("").length), bytes);
    else if (name.startsWith(laneMemoPrefix))
      this.#yard.histories.restoreLane(name.slice(laneMemoPrefix.length), bytes);
    else if (name.startsWith(rateMemo(""))) this.#bucket(name.slice(rateMemo("").length), bytes);
  }

  /** Call it once all records are restored, because a bucket belongs to the settings in force. */
  finish(): void {
    const yard = this.#yard;
    for (const queue of yard.histories.queues) {
      const { settings } = yard.queues.get(queue) ?? {};
      const { retention } = settings ?? yard.options.queues.get(queue) ?? yard.options.queueDefaults;
      yard.histories.retain(queue, retention);
    }
    for (const [name, fullAt] of this.#buckets) {
      const { queues, queueDefaults } = yard.options;
      const hasRate = (queues.get(name) ?? queueDefaults).rate !== undefined;
      const { bucket } = hasRate ? this.#queue(name) : (yard.queues.get(name) ?? {});
      if (bucket === undefined)
        yard.step.change({ kind: "memo-gone", door: coreMemoDoor, name: rateMemo(name) });
      else {
        bucket.restore(fullAt, yard.now);
        armBucket(yard, bucket);
      }
    }
  }

  #settings(queue: string, bytes: Uint8Array): void {
    const overrides = overridesIn(bytes);
    if (overrides !== undefined) override(this.#yard, this.#queue(queue), overrides);
  }

  #bucket(queue: string, bytes: Uint8Array): void {
    const fullAt = Number(new TextDecoder().decode(bytes));
    if (Number.isFinite(fullAt)) this.#buckets.set(queue, fullAt as WallTime);
  }

  #queue(name: string): Queue {
    return this.#yard.queues.get(name) ?? this.#yard.addQueue(name);
  }
}
