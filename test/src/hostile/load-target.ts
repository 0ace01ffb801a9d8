// Where the real load and the attackers find the dispatcher.

import type { ServedYard } from "../end-to-end/served-yard.js";

export const moniqueSpec = "hostile_echo";
/** The queue of the http client. */
export const loadQueue = "hostile";

/** Doors that have a worker in the load. */
export const workedDoors = ["http", "pulse", "pingpong", "udp", "monique", "scaler"] as const;
export type WorkedDoor = (typeof workedDoors)[number];

export interface LoadTarget extends Pick<ServedYard, "doors" | "folder" | "url"> {
  /** Process id of the dispatcher. */
  readonly pid: number;
  /** Process ids of the load's workers. */
  readonly workerPids: readonly number[];
}

/** The URL of each dialect, for the SDK. */
export function urlsOf({ doors, folder, url }: Pick<ServedYard, "doors" | "folder" | "url">) {
  const { monique = {}, pingpong = {}, scaler = {}, udp = {}, pulse = {} } = doors;
  const port = (address: string | undefined) => address?.split(":").at(-1);
  return {
    http: url,
    pulse: `pulse:${pulse.dir ?? `${folder}/controller`}`,
    pingpong: `pingpong://${pingpong.clients}`,
    pingpongWorkers: `pingpong://${pingpong.workers}`,
    udp: `udp://${udp.client_address ?? udp.listen}`,
    monique: `monique://${monique.in}?out=${port(monique.out)}&worker=${port(monique[`controllers.${moniqueSpec}`] ?? monique[moniqueSpec])}`,
    scaler: `scaler://${scaler.listen}`,
  };
}
