// All attacks at once, over and over, for minutes: what one of them leaves behind must not add up.

import { besiege, type SiegeOptions, type SiegeReport } from "./siege.js";

export interface SoakOptions extends Pick<SiegeOptions, "attacks" | "launch"> {
  readonly minutes: number;
}

export function soak({ attacks, minutes, launch }: SoakOptions): Promise<SiegeReport> {
  const attackMsMax = minutes * 60_000;
  return besiege({ attacks, attackMsMax, rounds: Number.POSITIVE_INFINITY, ...(launch && { launch }) });
}
