// Ways to break the dispatcher that the checker must notice. Each changes one place, which is
// described as `mutate.ts` says. If the place is not found, that is an error, so that a mutant
// cannot silently stop working.

import { dependencyMutants } from "./dependency-mutants.js";
import { httpMutants } from "./http-mutants.js";
import { limitsMutants } from "./limits-mutants.js";
import { moniqueMutants } from "./monique-mutants.js";
import type { Change } from "./mutate.js";
import { pingpongMutants } from "./pingpong-mutants.js";
import type { Population } from "./populations.js";
import { pulseMutants } from "./pulse-mutants.js";
import { scalerMutants } from "./scaler-mutants.js";
import { scheduleMutants } from "./schedule-mutants.js";
import { udpMutants } from "./udp-mutants.js";

export interface Mutant extends Change {
  readonly name: string;
  /** The seed to start from, if the first one that notices comes late. */
  readonly fromSeed?: number;
  /** The population whose peers must notice; all if absent. */
  readonly population?: Population;
}

export const mutants: readonly Mutant[] = [
  {
    name: "a lost worker keeps its leases",
    in: "core:loseWorkers",
    find: "lose($$$)",
    replace: "undefined",
  },
  {
    name: "a slot is not freed",
    in: "core:Worker.removeLease",
    find: "this.held -= 1",
    replace: "undefined",
  },
  {
    name: "a stale attempt is accepted",
    in: "core:currentLease",
    find: "event.attempt === undefined || $same",
    replace: "true",
    fromSeed: 255,
    population: "http",
  },
  {
    name: "any worker's answer is accepted",
    in: "core:currentLease",
    find: "lease.workerId !== event.worker",
    replace: "false",
  },
  {
    name: "a task is accepted twice",
    in: "core:taskWithKey",
    find: "queue.keys.get($$$)",
    replace: "undefined",
  },
  {
    name: "a key is forgotten when its task finishes",
    in: "core:ageKey",
    find: "yard.finishedKeys.add($$$)",
    replace: "$0, task.queue.keys.delete(key)",
  },
  {
    name: "keys do not come back after a restart",
    in: "server:restore",
    find: "core.recovery.key($$$)",
    replace: "undefined",
  },
  {
    name: "an outcome is told once, whether it is heard or not",
    in: "core:handleUndelivered",
    find: "const delayMs = $delay",
    replace: "return",
    fromSeed: 80,
  },
  {
    name: "outcomes are not told again after a restart",
    in: "core:handleEvent",
    find: "tellAgain($$$)",
    replace: "undefined",
    fromSeed: 310,
  },
  {
    name: "a task that is due to be tried again is not woken",
    in: "core:handleDue",
    find: "wake($$$)",
    replace: "undefined",
  },
  {
    name: "grace never ends",
    in: "core:handleDue",
    find: "endGrace($$$)",
    replace: "undefined",
  },
  {
    name: "a returned task is dropped",
    in: "core:giveBack",
    find: "retry($$$)",
    replace: "undefined",
  },
  {
    name: "an acknowledgement leaves before the commit",
    in: "server:Commits.#holdFor",
    find: 'if (effect.type !== "assign" || $other) $then',
    replace: 'if (effect.type === "reply") return now; $0',
  },
  {
    name: "an outcome leaves before the commit",
    in: "server:Commits.#holdFor",
    find: 'if (effect.type !== "assign" || $other) $then',
    replace: 'if (effect.type === "tell") return now; $0',
  },
  {
    name: "an uncommitted task is handed out",
    in: "server:Commits.#holdFor",
    find: "this.hasAccepted($$$)",
    replace: "true",
  },
  {
    name: "a failed commit is taken for done",
    in: "server:Commits.#settle",
    find: "if (this.#isStopped) $then",
    replace: '$0 if (outcome.type === "unknown") outcome = { type: "done" };',
  },
  {
    name: "what a door's post decides while effects go out is not delivered",
    in: "server:Commits.#commitNext",
    find: "for (const effect of step.takeEffects()) $push",
    replace: "{}",
    fromSeed: 250,
    population: "both",
  },
  ...pingpongMutants.map((mutant) => ({ population: "pingpong" as const, ...mutant })),
  ...dependencyMutants,
  ...httpMutants,
  ...limitsMutants,
  ...moniqueMutants,
  ...scheduleMutants,
  ...udpMutants,
  ...pulseMutants,
  ...scalerMutants,
];
