// The faults of a run and their frequency. Each kind occurs in some seeds and not in others,
// because all at once would hide the effect of one alone.

import type { DiskFaults } from "./disk.js";
import type { NetworkFaults } from "./network.js";
import type { Random } from "./random.js";
import type { StreamFaults } from "./streams.js";
import type { SocketFaults } from "./unix-sockets.js";

export interface Faults {
  readonly network: NetworkFaults;
  readonly disk: DiskFaults;
  /** Frequency of each, per second, over all peers. */
  readonly workerDeaths: number;
  readonly workerPauses: number;
  readonly clientDeaths: number;
  readonly forgeries: number;
  readonly crashes: number;
  readonly takeovers: number;
  readonly stalls: number;
  readonly clockJumps: number;
}

/** Further faults of pingpong's peers. */
export interface PingpongFaults {
  readonly streams: StreamFaults;
  /** Workers that restart on the same connection. */
  readonly restarts: number;
  readonly clientPauses: number;
  /** Clients that die and come back. */
  readonly clientLives: number;
}

/** Further faults of http's peers. */
export interface HttpFaults {
  readonly streams: StreamFaults;
  /** Workers that do not read their stream for a while. */
  readonly slowReaders: number;
  /** Workers that say goodbye and come back. */
  readonly departures: number;
}

export const noHttpFaults: HttpFaults = {
  streams: { late: 0, breaks: 0, pendingMax: 1_000 },
  slowReaders: 0,
  departures: 0,
};

export function drawHttpFaults(random: Random): HttpFaults {
  const some = (share: number, most: number) => (random.chance(share) ? random.between(0, most) : 0);
  return {
    streams: { late: some(0.5, 0.2), breaks: some(0.6, 1), pendingMax: random.pick([1, 3, 1_000, 1_000]) },
    slowReaders: some(0.4, 0.5),
    departures: some(0.4, 0.3),
  };
}

/** Further faults of pulse's workers. */
export interface PulseFaults {
  readonly sockets: SocketFaults;
  readonly shutdowns: number;
}

export const noPulseFaults: PulseFaults = { sockets: { cuts: 0, late: 0 }, shutdowns: 0 };

export const noFaults: Faults = {
  network: { loss: 0, repeat: 0, late: 0 },
  disk: { unknown: 0, unavailable: 0, broken: 0, full: 0, commitMsMax: 1 },
  workerDeaths: 0,
  workerPauses: 0,
  clientDeaths: 0,
  forgeries: 0,
  crashes: 0,
  takeovers: 0,
  stalls: 0,
  clockJumps: 0,
};

export const noPingpongFaults: PingpongFaults = {
  streams: { late: 0, breaks: 0, pendingMax: 1_000 },
  restarts: 0,
  clientPauses: 0,
  clientLives: 0,
};

export function drawFaults(random: Random): Faults {
  const some = (share: number, most: number) => (random.chance(share) ? random.between(0, most) : 0);
  return {
    network: { loss: some(0.6, 0.3), repeat: some(0.6, 0.3), late: some(0.5, 0.2) },
    disk: {
      unknown: some(0.4, 0.1),
      unavailable: some(0.4, 0.1),
      broken: some(0.2, 0.01),
      full: some(0.2, 0.01),
      commitMsMax: random.pick([0.2, 2, 20, 200]),
    },
    workerDeaths: some(0.6, 0.5),
    workerPauses: some(0.5, 0.5),
    clientDeaths: some(0.2, 0.1),
    forgeries: some(0.3, 1),
    crashes: some(0.5, 0.3),
    takeovers: some(0.2, 0.1),
    stalls: some(0.4, 0.3),
    clockJumps: some(0.4, 0.3),
  };
}

export function drawPingpongFaults(random: Random): PingpongFaults {
  const some = (share: number, most: number) => (random.chance(share) ? random.between(0, most) : 0);
  return {
    streams: { late: some(0.5, 0.2), breaks: some(0.6, 1), pendingMax: random.pick([1, 3, 1_000, 1_000]) },
    restarts: some(0.4, 1),
    clientPauses: some(0.4, 0.5),
    clientLives: some(0.4, 0.5),
  };
}

/** Up to 30 % of datagrams are lost, repeated or reordered, in both directions. */
export function drawDatagramFaults(random: Random): NetworkFaults {
  const some = () => random.pick([0, 0.1, 0.3]);
  return { loss: some(), repeat: some(), late: some() };
}

export function drawPulseFaults(random: Random): PulseFaults {
  const some = (share: number, most: number) => (random.chance(share) ? random.between(0, most) : 0);
  return { sockets: { cuts: some(0.6, 0.2), late: some(0.5, 0.2) }, shutdowns: some(0.4, 0.5) };
}
