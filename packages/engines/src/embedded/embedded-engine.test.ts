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
// What is stored is the same without a thread of its own and without waiting for the disk, and many more lists of changes
// can be tried.
const plainly = { isLocal: true, durability: "memory" } as const;
conformance("embedded, in the caller's thread and not synced,", 80, plainly);
// Batches are usually taken over many at a time. One by one, each with a look at the next, tasks settle ahead of theirs.
conformance("embedded, batch by batch,", 80, { ...plainly, gatherBytes: 0 });
