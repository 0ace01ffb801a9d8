// Ways to break scaler's door and sessions that its peers, or the content of the disk, must show.

import type { Mutant } from "./mutants.js";

const scalerOnes: readonly Omit<Mutant, "population">[] = [
  {
    name: "a scaler worker that is gone is not said to be",
    in: "dialects:ScalerDoorWorker.leave",
    find: 'this.#host.post({ type: "worker-left", $$$ })',
    replace: "undefined",
  },
  {
    name: "a task that TC took back is dropped",
    in: "dialects:meaningOf",
    find: '({ type: "attempt-returned", reason: "balance", $$$ })',
    replace: '{ type: "worker-beat", worker: ref.worker }',
  },
  {
    name: "a task that a worker may hold is sent to it without a question",
    in: "dialects:ScalerDoorWorker.#give",
    find: "isOfBefore || $other",
    replace: "false",
  },
  {
    name: "a worker that comes back is not asked for what it holds",
    in: "dialects:ScalerDoorWorker.comesBack",
    find: "this.#returns.askForAll()",
    replace: "undefined",
  },
  {
    name: "what was lost with a client's connection is not told again",
    in: "dialects:ScalerDoorClient.attach",
    find: "this.#owed = [...again, $$$]",
    replace: "undefined",
  },
  {
    name: "a result that a client asked for is not sent again",
    in: "dialects:ScalerScheduler.#comesBack",
    find: "client.takeAsked()",
    replace: "[]",
  },
  {
    name: "a task that BR gave back is dropped",
    in: "dialects:ScalerDoorWorker.#givenBack",
    find: 'this.#host.post({ type: "attempt-returned", $$$ })',
    replace: "undefined",
  },
  {
    name: "a task that was sent is not remembered",
    in: "dialects:ScalerDoorWorker.#give",
    find: "this.#held.add($$$)",
    replace: "undefined",
  },
  {
    name: "an object goes although a task needs it",
    in: "dialects:ScalerObjects.dropIfUnused",
    find: "object.needs > 0",
    replace: "false",
  },
  {
    name: "objects are not written down",
    in: "dialects:ObjectExchange.constructor",
    find: "written: $write",
    replace: "written: () => {}",
  },
  {
    name: "a node that left no result does not end what waits for it",
    in: "dialects:ScalerGraph.#afterwards",
    find: 'status === "S" || $other',
    replace: "true",
  },
  {
    name: "an intermediate result goes with the first that took it",
    in: "dialects:ScalerGraph.#untake",
    find: "giver.takers > 0",
    replace: "false",
  },
  {
    name: "what a graph decides is told before it is safe",
    in: "dialects:ScalerGraph.nodeEnded",
    find: "const later = $later",
    replace: "const later = (tell) => tell();",
    fromSeed: 900,
  },
  {
    name: "graphs do not go on after a restart",
    in: "dialects:ScalerScheduler.restore",
    find: "this.#tasks.resumeGraphs($$$)",
    replace: "undefined",
  },
  {
    name: "a dead client's objects stay",
    in: "dialects:ScalerScheduler.#endClient",
    find: "this.exchange.deleteAll($$$)",
    replace: "undefined",
  },
];

export const scalerMutants: readonly Mutant[] = scalerOnes.map((mutant) => ({
  ...mutant,
  population: "scaler",
}));
