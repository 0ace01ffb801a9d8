import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { engineConformance } from "../conformance.js";
import { EmbeddedEngine, type EmbeddedEngineOptions } from "./embedded-engine.js";

function conformance(
  name: string,
  propertyRuns: number,
  options: Omit<EmbeddedEngineOptions, "folder">,
): void {
  engineConformance(name, {
    async create() {
      const folder = await mkdtemp(join(tmpdir(), "yard-engine-"));
      return {
        open: async () => new EmbeddedEngine({ folder, ...options }),
        destroy: () => rm(folder, { recursive: true }),
      };
    },
    propertyRuns,
  });
}

conformance("embedded", 3, {});
// Without a thread and without syncs the store is the same, and many more lists of changes can be
// tried.
const plainly = { isLocal: true, durability: "memory" } as const;
conformance("embedded, in the caller's thread and not synced,", 80, plainly);
// Usually the store takes over many batches at once. One by one, and with a look at the next, tasks
// settle ahead of their batches.
conformance("embedded, batch by batch,", 80, { ...plainly, gatherBytes: 0 });
