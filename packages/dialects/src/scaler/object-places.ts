// The refusal of tasks that name too many objects which are not there.

import type { ScalerDoorClient } from "./door-client.js";
import { plainResult } from "./frames.js";
import type { ScalerHost } from "./line.js";
import type { ObjectExchange } from "./object-exchange.js";

/** [scaler 5.9] Whether too many objects are named that nobody has created; then the client is told so. */
export function lacksPlaces(
  { objects }: ObjectExchange,
  host: ScalerHost,
  client: ScalerDoorClient,
  task: Buffer,
): boolean {
  if (objects.hasRoomForPlaces) return false;
  host.fault("object_places", client.name);
  client.tell(plainResult(Buffer.from(task), "W"));
  return true;
}
