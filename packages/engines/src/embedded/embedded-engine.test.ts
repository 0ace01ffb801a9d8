import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { engineConformance } from "../conformance.js";
import { EmbeddedEngine } from "./embedded-engine.js";

engineConformance("embedded", {
  async create() {
    const folder = await mkdtemp(join(tmpdir(), "yard-engine-"));
    return {
      open: async () => new EmbeddedEngine({ folder, isLocal: true, durability: "memory" }),
      destroy: () => rm(folder, { recursive: true }),
    };
  },
});
