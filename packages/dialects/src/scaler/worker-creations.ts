// Objects that a worker creates: the results of what it runs, each for a client that there is [scaler 5.1].

import { yardSource } from "./bodies.js";
import type { WorkerHost } from "./door-worker-host.js";
import type { MadeObjects } from "./made-objects.js";
import type { ObjectCreate } from "./messages.js";
import type { ObjectExchange } from "./object-exchange.js";
import { keyOf } from "./objects.js";
import type { PackedFrames } from "./packed-frames.js";

const letterC = 0x43;
/** The counts of one id, one name and one object. */
const oneOfEach = Buffer.from([1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0]);

/** For a client there is, or for the door. */
export function create(
  message: ObjectCreate,
  worker: string,
  made: MadeObjects,
  exchange: ObjectExchange,
  host: WorkerHost,
): void {
  const { source } = message;
  if (!source.equals(yardSource) && !host.isClient(source)) return host.fault("unknown_source", worker);
  const owner = keyOf(source);
  for (const object of exchange.create(owner, message, worker)) made.add(object, owner);
}

/** One object as it came in form r, and nothing out of the ordinary; false where it is not that. */
export function createPacked(
  frames: PackedFrames,
  made: MadeObjects,
  exchange: ObjectExchange,
  host: WorkerHost,
): boolean {
  if (frames.count !== 7 || !frames.isLetter(1, letterC) || !frames.is(3, oneOfEach)) return false;
  const client = frames.lengthOf(4) === 0 ? undefined : host.clientIn(frames, 2);
  const object = client && exchange.createSmall(client.key, frames, 4);
  if (client === undefined || object === undefined) return false;
  made.add(object, client.key);
  return true;
}
