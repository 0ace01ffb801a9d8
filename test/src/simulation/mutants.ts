// Ways to break the dispatcher that the checker must notice. Each is a change of one place in a compiled file; a place
// that is not found any more is an error, so that a mutant cannot rot away unseen.

import { moniqueMutants } from "./monique-mutants.js";
import { pingpongMutants } from "./pingpong-mutants.js";
import type { Population } from "./populations.js";
import { pulseMutants } from "./pulse-mutants.js";
import { scalerMutants } from "./scaler-mutants.js";
import { udpMutants } from "./udp-mutants.js";

export interface Mutant {
  readonly name: string;
  /** The end of the compiled file's path. */
  readonly file: string;
  readonly find: string;
  readonly replace: string;
  /** Where to begin to look, if not with the first seed: the first that notices is far behind it. */
  readonly fromSeed?: number;
  /** Whose peers are to notice; everybody's if absent. */
  readonly population?: Population;
}

export const mutants: readonly Mutant[] = [
  {
    name: "a lost worker keeps its leases",
    file: "core/dist/workers.js",
    find: "(lease) => lose(yard, lease, reason, told)",
    replace: "() => {}",
  },
  {
    name: "a slot is not freed",
    file: "core/dist/worker.js",
    find: "this.held -= 1;",
    replace: "",
  },
  {
    name: "a stale attempt is accepted",
    file: "core/dist/attempts.js",
    find: "return event.attempt === undefined || event.attempt === lease.attempt ? lease : undefined;",
    replace: "return lease;",
  },
  {
    name: "any worker's answer is accepted",
    file: "core/dist/attempts.js",
    find: 'if (task.state !== "running" || lease === undefined || lease.workerId !== event.worker)',
    replace: 'if (task.state !== "running" || lease === undefined)',
  },
  {
    name: "a task is accepted twice",
    file: "core/dist/accepting.js",
    find: "const known = submission.key === undefined ? undefined : queue.keys.get(submission.key);",
    replace: "const known = undefined;",
  },
  {
    name: "a key is forgotten when its task finishes",
    file: "core/dist/finishing.js",
    find: "yard.finishedKeys.add(entry);",
    replace: "yard.finishedKeys.add(entry); task.queue.keys.delete(key);",
  },
  {
    name: "keys do not come back after a restart",
    file: "server/dist/restore.js",
    find: "return core.restoreKey(item.key);",
    replace: "return;",
  },
  {
    name: "an outcome is told once, whether it is heard or not",
    file: "core/dist/finishing.js",
    find: "const delayMs = retryDelayMs(task.ending.tellings + 1, yard.options.random());",
    replace: "return;",
    fromSeed: 80,
  },
  {
    name: "outcomes are not told again after a restart",
    file: "core/dist/dispatcher.js",
    find: "return tellAgain(yard, door);",
    replace: "return;",
    fromSeed: 310,
  },
  {
    name: "a task that is due to be tried again is not woken",
    file: "core/dist/dispatcher.js",
    find: "return wake(yard, due.task);",
    replace: "return;",
  },
  {
    name: "grace never ends",
    file: "core/dist/dispatcher.js",
    find: "return endGrace(yard);",
    replace: "return;",
  },
  {
    name: "a returned task is dropped",
    file: "core/dist/attempts.js",
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is the compiled text.
    find: 'retry(yard, lease, `returned: ${reason}`, 0, reason === "drain" ? undefined : lease.waitUntil);',
    replace: "",
  },
  {
    name: "an acknowledgement leaves before the commit",
    file: "server/dist/commits.js",
    find: 'if (effect.type !== "assign" || effect.request !== undefined)',
    replace:
      'if (effect.type === "reply")\n            return now;\n        if (effect.type !== "assign" || effect.request !== undefined)',
  },
  {
    name: "an outcome leaves before the commit",
    file: "server/dist/commits.js",
    find: 'if (effect.type !== "assign" || effect.request !== undefined)',
    replace:
      'if (effect.type === "tell")\n            return now;\n        if (effect.type !== "assign" || effect.request !== undefined)',
  },
  {
    name: "an uncommitted task is handed out",
    file: "server/dist/commits.js",
    find: "if (this.hasAccepted(effect.task.id))",
    replace: "if (true)",
  },
  {
    name: "a failed commit is taken for done",
    file: "server/dist/commits.js",
    find: 'case "unknown":',
    replace:
      'case "unknown":\n            this.#inFlight = undefined; this.#release(inFlight); this.endTurn(); return;',
  },
  {
    name: "what a door's post decides while effects go out is not delivered",
    file: "server/dist/commits.js",
    find: "for (const effect of step.takeEffects())\n            effects.push(effect);",
    replace: "",
    fromSeed: 250,
    population: "both",
  },
  ...pingpongMutants.map((mutant) => ({ population: "pingpong" as const, ...mutant })),
  ...moniqueMutants,
  ...udpMutants,
  ...pulseMutants,
  ...scalerMutants,
];
