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
conformance("embedded, in the caller's thread and not synced,", 80, { isLocal: true, durability: "memory" });
