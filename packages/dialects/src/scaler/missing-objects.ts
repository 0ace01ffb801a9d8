// Refuses tasks that name objects that do not exist, once there are too many of them.

import type { ScalerDoorClient } from "./door-client.js";
import { plainResult } from "./frames.js";
import type { ScalerHost } from "./line.js";
import type { TaskMessage } from "./messages.js";
import type { ObjectExchange } from "./object-exchange.js";
import type { ScalerObjects } from "./objects.js";

/**
 * [scaler 5.9] Returns true, and informs the client, if these tasks name objects that do not exist
 * and there is no room for more of those. `id` is the task or the graph. Tasks whose objects exist
 * are accepted, so that one client cannot keep the others from working.
 */
export function refusesMissingObjects(
  { objects }: ObjectExchange,
  host: ScalerHost,
  client: ScalerDoorClient,
  { id, tasks }: { readonly id: Buffer; readonly tasks: readonly TaskMessage[] },
): boolean {
  if (objects.hasRoomForMissing || !tasks.some((task) => namesMissing(objects, task))) return false;
  host.fault("object_places", client.name);
  client.tell(plainResult(Buffer.from(id), "W"));
  return true;
}

function namesMissing(objects: ScalerObjects, task: TaskMessage): boolean {
  const isMissing = (id: Buffer) => objects.get(id)?.isThere !== true;
  return isMissing(task.function) || task.arguments.some(({ kind, id }) => kind === "R" && isMissing(id));
}
