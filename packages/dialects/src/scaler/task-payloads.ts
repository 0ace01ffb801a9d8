// [scaler 7.1] The payload that a worker of another dialect receives: the bytes of the objects that
// the task names.

import type { Body, TaskHead } from "@yardmaster/core";
import { arrayOfParts } from "../parts.js";
import { taskIn, taskMediaType } from "./bodies.js";
import type { ObjectExchange } from "./object-exchange.js";
import type { ScalerObject } from "./scaler-object.js";

/** Undefined if an object does not exist or must be read first. */
export function payloadFor({ payload }: TaskHead, exchange: ObjectExchange): Body | undefined {
  // The payload was converted before, so it is ready for the worker.
  if (payload.mediaType !== taskMediaType) return payload;
  const parts = objectsOf(payload, exchange)?.map(({ bytes }) => bytes);
  return parts?.every((part) => part !== undefined) ? arrayOfParts(parts) : undefined;
}

/** True if any of its objects is only in the engine. */
export function isPayloadOutOfLine({ payload }: TaskHead, exchange: ObjectExchange): boolean {
  return objectsOf(payload, exchange)?.some(({ isOutOfLine }) => isOutOfLine) === true;
}

/**
 * Like `payloadFor`, including objects that are only in the engine. They are read one after the
 * other, so that few are in memory at a time.
 */
export function readPayloadFor(
  { payload }: TaskHead,
  exchange: ObjectExchange,
  take: (body: Body | undefined) => void,
): void {
  const objects = objectsOf(payload, exchange);
  const parts: Buffer[] = [];
  const next = (): void => {
    const object = objects?.[parts.length];
    if (object === undefined) return take(objects && arrayOfParts(parts));
    exchange.storage.read(object, (bytes) => {
      if (bytes === undefined) return take(undefined);
      parts.push(bytes);
      next();
    });
  };
  next();
}

/** The function's object and those of the arguments, if all exist. */
function objectsOf(payload: Body, exchange: ObjectExchange): ScalerObject[] | undefined {
  const message = taskIn(payload);
  if (message === undefined) return undefined;
  const objects: ScalerObject[] = [];
  for (const id of [message.function, ...message.arguments.map((each) => each.id)]) {
    const object = exchange.objects.get(id);
    if (object?.isThere !== true) return undefined;
    objects.push(object);
  }
  return objects;
}
