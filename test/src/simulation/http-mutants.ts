// Ways to break the http door that its clients and workers must notice.

import type { Mutant } from "./mutants.js";

const all: readonly Mutant[] = [
  {
    name: "the seal of an attempt's token is not checked",
    in: "server:AttemptTokens.holderOf",
    find: "isSame($$$)",
    replace: "true",
  },
  {
    name: "the seal of a stream worker's token is not checked",
    in: "server:AttemptTokens.workerOf",
    find: "isSame($$$)",
    replace: "true",
  },
  {
    name: "tokens end with the dispatcher that made them",
    in: "server:HttpDoor.#keepSecret",
    find: "this.#tokens.use($$$)",
    replace: "undefined",
  },
  {
    name: "a claim is answered before it is committed",
    in: "server:Commits.#holdFor",
    find: 'if (effect.type !== "assign" || $other) $then',
    replace:
      'if (effect.type === "assign" ? $other : effect.answer?.type === "granted" && effect.answer.task === undefined) return now; $0',
  },
  {
    name: "a cut stream keeps its tasks",
    in: "server:WorkerRoster.closeStream",
    find: "this.#peers.heard($$$)",
    replace: "undefined",
  },
  {
    name: "tasks that a worker does not know when it opens its stream again stay with it",
    in: "server:WorkStreams.#settle",
    find: "this.#giveBack($$$)",
    replace: "undefined",
  },
  {
    name: "a second result of an attempt is accepted",
    in: "server:isStored",
    find: "(stored?.size ?? 0) !== size",
    replace: "true) return true; if (false",
  },
  {
    name: "a repeated report of the same result is refused",
    in: "server:refuseUnlessRepeated",
    find: "!isDone",
    replace: "true",
  },
  {
    name: "an item of a batch is answered before it is committed",
    in: "server:post",
    find: "exchange.askFor($event, $take)",
    replace: "$0, submission.key !== undefined && take({ id: 1, existing: false, task: undefined })",
  },
];

export const httpMutants: readonly Mutant[] = all.map((mutant) => ({ population: "http", ...mutant }));
