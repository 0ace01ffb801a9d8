// Ways to break pulse's door and sessions that its workers, or other dialects' clients, must
// notice.

import type { Mutant } from "./mutants.js";

const population = "pulse";

export const pulseMutants: readonly Mutant[] = [
  {
    name: "a pulse worker that is silent for too long is not dead",
    in: "dialects:PulseController.handleTimeout",
    find: "due.subject.leave($$$)",
    replace: "undefined",
    population,
  },
  {
    name: "SHUTDOWN does not give the task back",
    in: "dialects:PulseDoorWorker.receive",
    find: 'this.leave("goodbye")',
    replace: "this.#isGone = true, this.#host.gone()",
    population,
  },
  {
    name: "a control connection that breaks is not noticed",
    in: "server:ControlExchange.#break",
    find: "this.#host.broken($$$)",
    replace: "undefined",
    population,
  },
  {
    name: "a worker that accepts a FETCH and never answers is waited for",
    in: "server:ControlExchange.#silent",
    find: 'this.#break("silent")',
    replace: "this.#sawLife()",
    population,
  },
  {
    name: "BUSY drops the task",
    in: "dialects:PulseDoorWorker.#isBusyWith",
    find: "this.#return(job, $$$)",
    replace: "undefined",
    population,
  },
  {
    name: "TASK_FAILED is taken for a solution",
    in: "dialects:PulseDoorWorker.#fetched",
    find: "this.#fail(extra)",
    replace: "this.#finish(extra)",
    population,
  },
  {
    name: "a worker is given the next task before it was asked for the last",
    in: "dialects:PulseDoorWorker.#taskSet",
    find: 'if (error === "NO_FETCH") $then',
    replace: 'if (error === "OK" && this.#job !== undefined) this.#finish(Buffer.from("- - -")); $0',
    population,
  },
  {
    name: "ids begin anew with the dispatcher",
    in: "dialects:PulseController.reserveIds",
    find: "through > this.#lastId",
    replace: "false",
    population,
  },
];
