// Programs that are not ours, as peers in tests: run where they are found, skipped with a word where not. With
// YARD_REQUIRE_INTEROP=1 a skip is a failure, so that CI cannot lose them unseen.

import { spawnSync } from "node:child_process";

/** Why a test that needs this program cannot run here; false when it can. */
export function skipReason(program: string, args: readonly string[]): string | false {
  const { status } = spawnSync(program, args, { stdio: "ignore" });
  if (status === 0) return false;
  const reason = `${[program, ...args].join(" ")} does not run here`;
  if (process.env.YARD_REQUIRE_INTEROP === "1") throw new Error(`YARD_REQUIRE_INTEROP is set, but ${reason}`);
  return reason;
}
