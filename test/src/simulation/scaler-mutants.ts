// Ways to break scaler's door and sessions that its peers, or what is left on the disk, must show.

import type { Mutant } from "./mutants.js";

const worker = "dialects/dist/scaler/door-worker.js";
const graph = "dialects/dist/scaler/graph-run.js";
const scheduler = "dialects/dist/scaler/scheduler.js";

const scalerOnes: readonly Omit<Mutant, "population">[] = [
  {
    name: "a scaler worker that is gone is not said to be",
    file: worker,
    find: 'this.#host.post({ type: "worker-left", worker: this.id, reason });',
    replace: "",
  },
  {
    name: "a task that TC took back is dropped",
    file: "dialects/dist/scaler/answers.js",
    find: 'return { type: "attempt-returned", reason: "balance", ...claim };',
    replace: 'return { type: "worker-beat", worker: claim.worker };',
  },
  {
    name: "a task that a worker may hold is sent to it without a question",
    file: worker,
    find: "if (isOfBefore || this.owed.get(id) !== undefined)",
    replace: "if (false)",
  },
  {
    name: "a worker that comes back is not asked for what it holds",
    file: worker,
    find: "this.#returns.askForAll();",
    replace: "",
  },
  {
    name: "what was lost with a client's connection is not told again",
    file: "dialects/dist/scaler/door-client.js",
    find: "this.#owed = [...again, ...this.#owed];",
    replace: "",
  },
  {
    name: "a result that a client asked for is not sent again",
    file: scheduler,
    find: "for (const ids of client.takeAsked()) {",
    replace: "for (const ids of []) {",
  },
  {
    name: "a task that BR gave back is dropped",
    file: worker,
    find: 'this.#host.post({ type: "attempt-returned", reason: "balance", worker: this.id, task, attempt });',
    replace: "",
  },
  {
    name: "a task that left as it is on the wire is not remembered",
    file: worker,
    find: "if (isSent)\n            this.#held.add(",
    replace: "if (false)\n            this.#held.add(",
  },
  {
    name: "an object goes although a task needs it",
    file: "dialects/dist/scaler/objects.js",
    find: "if (object.ownership !== undefined || object.needs > 0)\n            return;",
    replace: "if (object.ownership !== undefined)\n            return;",
  },
  {
    name: "objects are not written down",
    file: "dialects/dist/scaler/object-exchange.js",
    find: "written: (object, isNew) => post(() => objectWritten(object, isNew)),",
    replace: "written: () => {},",
  },
  {
    name: "a node that left no result does not end what waits for it",
    file: graph,
    find: 'if (status === "S" || node.plan.givesTo.length === 0)',
    replace: "if (true)",
  },
  {
    name: "an intermediate result goes with the first that took it",
    file: graph,
    find: "if (giver.takers > 0)\n            return;",
    replace: "",
  },
  {
    name: "what a graph decides is told before it is safe",
    file: graph,
    find: "const later = (tell) => tellings.push(tell);",
    replace: "const later = (tell) => tell();",
    fromSeed: 900,
  },
  {
    name: "graphs do not go on after a restart",
    file: scheduler,
    find: "this.#tasks.resumeGraphs(stored.nodes);",
    replace: "",
  },
  {
    name: "a dead client's objects stay",
    file: scheduler,
    find: "this.#exchange.objects.disownAll(client.key);",
    replace: "",
  },
];

export const scalerMutants: readonly Mutant[] = scalerOnes.map((mutant) => ({
  ...mutant,
  population: "scaler",
}));
