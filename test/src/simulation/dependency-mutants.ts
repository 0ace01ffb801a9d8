// Ways to break dependencies that clients and workers must notice.

import type { Mutant } from "./mutants.js";

export const dependencyMutants: readonly Mutant[] = (
  [
    {
      name: "a dependent starts before its last dependency has ended",
      in: "core:releaseOne",
      find: "bonds.unfinished -= 1",
      replace: "bonds.unfinished = 0",
    },
    {
      name: "a dependent is never released",
      in: "core:releaseOne",
      find: "makeReady($$$)",
      replace: "undefined",
    },
    {
      name: "a failed dependency is ignored",
      in: "core:releaseOne",
      find: 'state !== "done" && $isCancel',
      replace: "false",
    },
    {
      name: "a dependency that has failed before is ignored",
      in: "core:bind",
      find: "bonds.failed ??= $why",
      replace: "undefined",
    },
    {
      name: "after a restart nothing waits for anything",
      in: "core:Recovery.finish",
      find: "bind($$$)",
      replace: "undefined",
    },
    {
      name: "a dependent is handed out before the end of its dependency is committed",
      in: "server:Commits.#holdFor",
      find: "dependsOnOthers($$$)",
      replace: "false",
    },
  ] as const
).map((mutant) => ({ population: "chains" as const, ...mutant }));
