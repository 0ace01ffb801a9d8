// Places for workers: how many each door has, and how many of them one host may take. What one host takes is no more than half
// of what the others have left, so that a peer that invents names cannot lock out the others.

import type { DoorState } from "./door-state.js";
import type { LimitName, Limits } from "./limits.js";

export interface NoPlace {
  readonly limit: LimitName;
  readonly message: string;
}

/** Why there is no place for one more worker of this host; undefined where there is. */
export function noPlaceFor(door: DoorState, host: string, all: number, limits: Limits): NoPlace | undefined {
  if (all >= limits.workers)
    return { limit: "workers", message: `The limit of ${limits.workers} workers is reached.` };
  const { size } = door.workers;
  const max = limits.workersPerDoor;
  if (size >= max)
    return { limit: "workersPerDoor", message: `The limit of ${max} workers of a door is reached.` };
  const own = door.workersByHost.get(host) ?? 0;
  const share = Math.max(limits.workersPerHost, (max - (size - own)) / 2);
  if (own + 1 <= share) return undefined;
  return { limit: "workersPerHost", message: `${host} has ${own} workers here, half of what others leave.` };
}

export function takePlace(door: DoorState, host: string): void {
  door.workersByHost.set(host, (door.workersByHost.get(host) ?? 0) + 1);
}

export function freePlace(door: DoorState, host: string): void {
  const left = (door.workersByHost.get(host) ?? 0) - 1;
  if (left > 0) door.workersByHost.set(host, left);
  else door.workersByHost.delete(host);
}

/** An address without its scheme and port. A bare IPv6 address has neither. */
export function hostOf(address: string): string {
  const [, scheme, rest = ""] = /^(\w+:\/\/)?(.*)$/.exec(address) ?? [];
  const colons = rest.split(":").length - 1;
  if (scheme === undefined && colons > 1 && !rest.startsWith("[")) return rest;
  return rest.replace(/:\d+$/, "");
}
