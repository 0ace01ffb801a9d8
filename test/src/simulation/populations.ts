// The dialects that take part in a run.

import { defaultQueueSettings, type QueueSettings } from "@yardmaster/core";
import type { Checker } from "./checker.js";
import type { ClientPlan } from "./http-client.js";
import { HttpSide } from "./http-side.js";
import { MoniqueSide } from "./monique-side.js";
import { PingpongSide } from "./pingpong-side.js";
import { PulseSide } from "./pulse-side.js";
import { ScalerSide } from "./scaler-side.js";
import { ScheduleSide } from "./schedule-side.js";
import type { Side, SideOptions } from "./side.js";
import { UdpSide } from "./udp-side.js";

/**
 * The peers of a run. Several dialects on one queue are bridged: `both` is http and pingpong,
 * `bridge` is http and monique, `field` is udp with additional pulse workers. Pulse has no clients,
 * so its workers serve those of http.
 */
export const populations = [
  "http",
  "pingpong",
  "both",
  "udp",
  "pulse",
  "field",
  "monique",
  "bridge",
  "scaler",
] as const;

/**
 * Peers that behave like the original programs, and special cases. They are run by name, so that
 * seeds keep the population that they draw. `market` is pingpong with workers that send READY while
 * they work; `mutes` is udp with calculators that say they are ready and accept nothing;
 * `latecomers` is monique with clients whose PUSH connects before their SUB. `chains` is http
 * with tasks that depend on earlier ones. `timetable` is http with schedules, and `limited` is http
 * on a queue with limits, with tasks in groups.
 */
export const habits = ["market", "mutes", "latecomers", "timetable", "chains", "limited"] as const;
export const namedPopulations = [...populations, ...habits] as const;
export type Population = (typeof namedPopulations)[number];

/** Populations with http's workers, and with its clients. */
const withWorkers: readonly Population[] = ["http", "both", "bridge", "timetable", "chains", "limited"];
const withClients: readonly Population[] = [...withWorkers, "pulse"];
/** What is special about http's clients. */
const clients: Readonly<Partial<Record<Population, Partial<ClientPlan>>>> = {
  chains: { tasks: 16, dependentShare: 0.6 },
  limited: { groups: ["a", "b", "c"], overMs: 6_000 },
};
/** The queue that dialects share. */
export const sharedQueues: Readonly<Partial<Record<Population, string>>> = {
  both: "sim",
  bridge: "sim",
  pulse: "sim",
  field: "field",
};

interface Sides {
  readonly sides: readonly Side[];
  readonly queueDefaults: QueueSettings;
}

/** `optionsFor` is called with the queue of a side, unless dialects share one. */
export function makeSides(
  population: Population,
  checker: Checker,
  optionsFor: (queue: string) => SideOptions,
): Sides {
  const has = (...these: readonly Population[]) => these.includes(population);
  const http = has(...withClients)
    ? new HttpSide(optionsFor("sim"), checker, {
        hasWorkers: has(...withWorkers),
        ...(clients[population] && { clients: clients[population] }),
      })
    : undefined;
  const pingpong = has("pingpong", "both", "market")
    ? new PingpongSide(optionsFor("pingpong"), { hasOriginals: has("market") })
    : undefined;
  const monique = has("monique", "bridge", "latecomers")
    ? new MoniqueSide(optionsFor("sim_echo"), { comesLate: has("latecomers") })
    : undefined;
  const pulse = has("pulse", "field") ? new PulseSide(optionsFor("pulse")) : undefined;
  const udp = has("udp", "field", "mutes")
    ? new UdpSide(optionsFor("udp"), { hasMutes: has("mutes") })
    : undefined;
  const scaler = has("scaler") ? new ScalerSide(optionsFor("scaler")) : undefined;
  const timetable = has("timetable") ? new ScheduleSide(optionsFor("timetable")) : undefined;
  if (pulse !== undefined && udp !== undefined)
    udp.checker.wasGivenElsewhere = (worker, mark) => pulse.wasGiven(worker, mark);
  return {
    sides: [http, pingpong, monique, udp, pulse, scaler, timetable].filter((side) => side !== undefined),
    queueDefaults: pingpong?.queueSettings ?? monique?.queueSettings ?? defaultQueueSettings,
  };
}
