// Limits on the number of workers and of queue names, per door and per host. A host gets at most
// half of what the others have left, so a peer that invents names cannot lock out the rest.

import type { DoorState } from "./door-state.js";
import type { LimitName, Limits } from "./limits.js";

export interface WorkerQuotaRefusal {
  readonly limit: LimitName;
  readonly message: string;
}

/** Explains why there is no place for another worker of this host; undefined when there is one. */
export function workerQuotaRefusal(
  door: DoorState,
  host: string,
  all: number,
  limits: Limits,
): WorkerQuotaRefusal | undefined {
  if (all >= limits.workers)
    return { limit: "workers", message: `The limit of ${limits.workers} workers is reached.` };
  const { size } = door.workers;
  const max = limits.workersPerDoor;
  if (size >= max)
    return { limit: "workersPerDoor", message: `The limit of ${max} workers of a door is reached.` };
  const own = door.workersByHost.get(host) ?? 0;
  if (own + 1 <= shareOf(own, size, max, limits.workersPerHost)) return undefined;
  return { limit: "workersPerHost", message: `${host} has ${own} workers here, half of what others leave.` };
}

/**
 * The limit that keeps a peer of this door from naming another queue; undefined when there is none.
 * A host that is not known counts for the door alone.
 */
export function queueQuotaRefusal(
  door: DoorState,
  host: string | undefined,
  all: number,
  limits: Limits,
): LimitName | undefined {
  if (all >= limits.queues) return "queues";
  if (door.queuesNamed >= limits.queuesPerDoor) return "queuesPerDoor";
  if (host === undefined) return undefined;
  const own = door.queuesByHost.get(host) ?? 0;
  const share = shareOf(own, door.queuesNamed, limits.queuesPerDoor, limits.queuesPerHost);
  return own + 1 <= share ? undefined : "queuesPerHost";
}

/** Maximum for a host that has `own` of the `taken` entries: `perHost`, or half of the rest. */
function shareOf(own: number, taken: number, max: number, perHost: number): number {
  return Math.max(perHost, (max - (taken - own)) / 2);
}

export function takeQuota(byHost: Map<string, number>, host: string): void {
  byHost.set(host, (byHost.get(host) ?? 0) + 1);
}

export function freeQuota(byHost: Map<string, number>, host: string): void {
  const left = (byHost.get(host) ?? 0) - 1;
  if (left > 0) byHost.set(host, left);
  else byHost.delete(host);
}

/** An address without its scheme and port. A bare IPv6 address has neither. */
export function hostOf(address: string): string {
  const [, scheme, rest = ""] = /^(\w+:\/\/)?(.*)$/.exec(address) ?? [];
  const colons = rest.split(":").length - 1;
  if (scheme === undefined && colons > 1 && !rest.startsWith("[")) return rest;
  return rest.replace(/:\d+$/, "");
}
