// The whole dispatcher with its http door, as `yardmaster serve` runs it, including metrics.

import { createHash } from "node:crypto";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { closedDoors, createLog, loadConfig, serve } from "@yardmaster/server";
import { tokenOf } from "./bench-token.js";
import { cpuOnOrder, readArgs, report } from "./child.js";

interface Args {
  readonly engine: string;
  readonly data: string;
  /** With `access:`: a hundred principals. The load comes in as one of them. */
  readonly hasAccess?: boolean;
}

const { engine, data, hasAccess = false } = readArgs<Args>();
const folder = mkdtempSync(join(tmpdir(), "yard-bench-"));

function principal(index: number) {
  const sha256 = createHash("sha256").update(tokenOf(index)).digest("hex");
  const patterns = [`team-${index}-*`, "ben*"];
  return { tokens: [{ sha256 }], rights: { submit: patterns, read: patterns } };
}

const access = {
  principals: Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`p${index}`, principal(index)])),
};

const config = {
  ...(hasAccess && { access }),
  engine,
  data,
  doors: {
    ...closedDoors,
    http: { listen: "127.0.0.1:0" },
  },
  // There are no workers, so submitted tasks accumulate as long as the run lasts.
  queues: { bench: { maxWaiting: 100_000_000, maxBytes: 100_000_000_000 } },
};
writeFileSync(join(folder, "yardmaster.json"), JSON.stringify(config));
const yard = await serve({ config: loadConfig({ folder }), log: createLog("error") });
cpuOnOrder();
report({ address: yard.doors.http?.listen });
