// All attacks together, repeated for minutes: what each of them leaves behind must not add up.

import { besiege, type SiegeOptions, type SiegeReport } from "./siege.js";

export interface SoakOptions
  extends Pick<SiegeOptions, "attacks" | "launch" | "nice" | "config" | "onPhase"> {
  readonly minutes: number;
}

export function soak({ minutes, ...options }: SoakOptions): Promise<SiegeReport> {
  return besiege({
    ...options,
    attackMsMax: minutes * 60_000,
    rounds: Number.POSITIVE_INFINITY,
    // A p99 over a few seconds would depend on a few answers.
    undisturbedMs: 15_000,
    // Tasks that wait forever would take memory legitimately, which would hide a leak.
    expires: "20s",
    settleMs: 90_000,
  });
}
