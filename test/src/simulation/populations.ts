// Which dialects take part in a run.

import { defaultQueueSettings, type QueueSettings } from "@yardmaster/core";
import { MoniqueSide } from "./monique-side.js";
import { PingpongSide } from "./pingpong-side.js";
import { PulseSide } from "./pulse-side.js";
import { ScalerSide } from "./scaler-side.js";
import type { Side, SideOptions } from "./side.js";
import { UdpSide } from "./udp-side.js";

/**
 * Whose peers are there. Several on one queue is how dialects are bridged: `both` is signals and pingpong, `bridge` signals
 * and monique, `field` is udp with workers of pulse besides, and pulse, which has no askers, works on what those of the
 * simulator's own dialect ask.
 */
export const populations = [
  "signals",
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
 * Peers with the habits of the original programs, run by name, so that seeds keep the population they draw. `market` is
 * pingpong with workers that say READY while they work; `mutes` is udp with calculators that say they are ready and
 * take nothing; `latecomers` is monique with clients whose PUSH is there before their SUB.
 */
export const habits = ["market", "mutes", "latecomers"] as const;
export const namedPopulations = [...populations, ...habits] as const;
export type Population = (typeof namedPopulations)[number];

/** Populations with workers of the simulator's own dialect, and with askers. */
export const withWorkers: readonly Population[] = ["signals", "both", "bridge"];
export const withAskers: readonly Population[] = [...withWorkers, "pulse"];
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

/** `optionsFor` a side whose queue has this name, unless dialects share one. */
export function makeSides(population: Population, optionsFor: (queue: string) => SideOptions): Sides {
  const has = (...these: readonly Population[]) => these.includes(population);
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
  if (pulse !== undefined && udp !== undefined)
    udp.checker.wasGivenElsewhere = (worker, mark) => pulse.wasGiven(worker, mark);
  return {
    sides: [pingpong, monique, udp, pulse, scaler].filter((side) => side !== undefined),
    queueDefaults: pingpong?.queueSettings ?? monique?.queueSettings ?? defaultQueueSettings,
  };
}
