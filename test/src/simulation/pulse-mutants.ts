// Ways to break pulse's door and sessions that its workers, or those who asked, must notice.

import type { Mutant } from "./mutants.js";

const worker = "dialects/dist/pulse/door-session.js";
const controller = "dialects/dist/pulse/controller.js";
const exchange = "server/dist/pulse/control-exchange.js";
const population = "pulse";

export const pulseMutants: readonly Mutant[] = [
  {
    name: "a pulse worker that is silent for too long is not dead",
    file: controller,
    find: 'due.subject.leave("silence");',
    replace: ";",
    population,
  },
  {
    name: "SHUTDOWN does not give the task back",
    file: worker,
    find: 'this.leave("goodbye");',
    replace: "this.#isGone = true; this.#host.gone();",
    population,
  },
  {
    name: "a control connection that breaks is not noticed",
    file: exchange,
    find: "this.#host.broken(this, how, fault);",
    replace: "",
    population,
  },
  {
    name: "a worker that takes a FETCH and says nothing is waited for",
    file: exchange,
    find: 'this.#break("silent");',
    replace: "this.#sawLife();",
    population,
  },
  {
    name: "BUSY drops the task",
    file: worker,
    find: 'this.#return(job, "busy", Math.min(',
    replace: 'void (job, "busy", Math.min(',
    population,
  },
  {
    name: "TASK_FAILED is taken for a solution",
    file: worker,
    find: "this.#fail(extra);\n        }\n        else",
    replace: "this.#finish(extra);\n        }\n        else",
    population,
  },
  {
    name: "a worker is given the next task before it was asked for the last",
    file: worker,
    find: 'if (error === "NO_FETCH") {\n            this.leave',
    replace:
      'if (error === "OK" && this.#job !== undefined) this.#finish(Buffer.from("- - -"));\n        if (error === "NO_FETCH") {\n            this.leave',
    population,
  },
  {
    name: "ids begin anew with the dispatcher",
    file: controller,
    find: "if (through > this.#lastId)",
    replace: "if (false)",
    population,
  },
];
