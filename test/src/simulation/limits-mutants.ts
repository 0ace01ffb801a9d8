// Ways to break the limits of a queue and the turns of its groups.

import type { Mutant } from "./mutants.js";

export const limitsMutants: readonly Mutant[] = [
  {
    name: "tasks that may still run after a restart do not count against maxRunning",
    in: "core:Queue.isFull",
    find: "this.running + this.recovering",
    replace: "this.running",
    population: "limited",
  },
  {
    name: "the token bucket of a queue is full after a restart",
    in: "core:OwnMemos.finish",
    find: "bucket.restore($$$)",
    replace: "undefined",
    population: "limited",
  },
  {
    name: "a task takes no token",
    in: "core:assign",
    find: "takeToken($$$)",
    replace: "undefined",
    population: "limited",
  },
  {
    name: "a group does not get its slot back",
    in: "core:Groups.countActive",
    find: "group.active += by",
    replace: "by > 0 && ($0)",
    population: "limited",
  },
  {
    name: "a full group still takes turns",
    in: "core:Groups.#fill",
    find: "group.active >= $most",
    replace: "false",
    population: "limited",
  },
  {
    name: "a group keeps its turn until it has no task left",
    in: "core:ReadyQueue.position",
    find: "isTurn || $other",
    replace: "$other",
    population: "limited",
  },
  {
    name: "a queue that waits for a token is not woken",
    in: "core:handleDue",
    find: "refill($$$)",
    replace: "undefined",
    population: "limited",
  },
];
