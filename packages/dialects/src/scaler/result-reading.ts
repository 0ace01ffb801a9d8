// Reads a result that is only in the engine before the core is given its bytes.

import type { ObjectExchange, ObjectRequester } from "./object-exchange.js";
import type { ScalerObject } from "./scaler-object.js";

/**
 * Calls `goOn` when the bytes are in memory or cannot be read. Nothing else is read from the worker
 * meanwhile.
 */
export function withBytes(
  object: ScalerObject,
  worker: ObjectRequester,
  exchange: ObjectExchange,
  goOn: () => void,
): void {
  const { line } = worker;
  line.hold();
  exchange.storage.read(object, (bytes) => {
    line.release();
    // The worker may have left.
    if (line.session !== worker) return;
    if (bytes !== undefined) object.lendBytes(bytes);
    goOn();
    object.dropBytes();
  });
}
