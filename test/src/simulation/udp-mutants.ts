// Ways to break udp's door and sessions that its peers must notice.

import type { Mutant } from "./mutants.js";

const clients = "dialects/dist/udp/door-clients.js";
const calculator = "dialects/dist/udp/door-calculator.js";
const job = "dialects/dist/udp/calculator-job.js";
const population = "udp";

export const udpMutants: readonly Mutant[] = [
  {
    name: "an add_task is acknowledged before it is committed",
    file: clients,
    find: "this.#pending.add(key, packets);",
    replace: "this.#pending.add(key, packets); this.#host.exchange.acknowledge(client, packet);",
    population,
  },
  {
    name: "an add_task that is said again is another task",
    file: clients,
    find: "waitingMsMax: placementMs,\n                key,",
    replace: "waitingMsMax: placementMs,",
    population,
  },
  {
    name: "a success that is not acknowledged is not told again",
    file: clients,
    find: "again: true",
    replace: "again: false",
    population,
  },
  {
    name: "a success is told without its result when it is told again",
    file: clients,
    find: "if (!ask(successParams(taskId, outcome.result, room)))",
    replace:
      "if ((this.told ??= new Set()).size === this.told.add(task.id).size || !ask(successParams(taskId, outcome.result, room)))",
    population,
  },
  {
    name: "the ack of a success does not count",
    file: clients,
    find: 'acknowledged() {\n        this.#host.post({ type: "outcomes-told", tasks: [this.#task] });',
    replace: "acknowledged() {",
    population,
  },
  {
    name: "an ack counts from anywhere",
    file: "dialects/dist/udp/exchange.js",
    find: "if (asked?.message.to.name !== from.name) {",
    replace: "if (asked === undefined) {",
    population,
  },
  {
    name: "an answer counts for whatever the calculator has",
    file: job,
    find: "return uuid === undefined ? String(task.taskId) === String(taskId) : task.uuid === uuid;",
    replace: "return true;",
    population,
  },
  {
    name: "a perform_task that nobody acknowledges is forgotten",
    file: job,
    find: "this.#host.notPerforming(this);",
    replace: ";",
    population,
  },
  {
    name: "a calculator that comes back with nothing keeps its task",
    file: calculator,
    find: "job.doubtUntil ??= (now.instant + answerMs);",
    replace: ";",
    population,
  },
  {
    name: "a calculator that is silent for ever keeps its task",
    file: "dialects/dist/udp/calculator-liveness.js",
    find: "if (now.instant - this.#heardAt >= this.#settings.silenceMs) {\n            this.#host.gone();",
    replace:
      "if (now.instant - this.#heardAt >= this.#settings.silenceMs) {\n            this.#dueAt = undefined;",
    population,
  },
  {
    name: "a calculator is believed to have done what it was not sent",
    file: "core/dist/attempts.js",
    find: "if (event.isOfBefore === true)",
    replace: "if (false)",
    fromSeed: 60,
    population,
  },
  {
    name: "a perform_task that nobody acknowledges costs the task an attempt",
    file: calculator,
    find: 'type: "attempt-returned", reason: "undelivered"',
    replace: 'type: "attempt-lost", reason: "send_failed"',
    population: "mutes",
  },
];
