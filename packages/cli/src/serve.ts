// `yardmaster serve`: opens the doors, says where they are, and stays until a signal ends it.

import { parseArgs } from "node:util";
import {
  ConfigFault,
  createLog,
  loadConfig,
  type RunningYard,
  repairYard,
  StartFault,
  serve,
  type YardConfig,
} from "@yardmaster/server";
import { banner, readyLine } from "./banner.js";
import { UsageFault, understood, version } from "./command.js";
import { sayLoading } from "./loading-lines.js";
import { hearSignals } from "./signals.js";

const help = `Usage: yardmaster serve [options]

Opens every door and dispatches until SIGTERM or SIGINT. The first one drains:
nothing new is accepted, running attempts may finish, the rest is given back.
A second one ends it at once. SIGHUP reads the config again and adds monique
specs and controllers that are new in it.

Options:
  --config FILE    read this file (default: yardmaster.yaml or yardmaster.json
                   in the working folder, if it is there)
  --data DIR       the folder of the engine (default: ./yard-data)
  --engine NAME    memory | embedded
  --repair         before it starts: set a damaged file aside and make a new one
                   of what can be read; what is lost is named
  --json           print one line of JSON when all doors are open
  --help           print this

Environment:
  YARD_LOG         fatal | error | warn | info | debug | trace | silent: what is
                   logged, as JSON lines to standard error (default: info)

Examples:
  yardmaster serve
  yardmaster serve --config /etc/yardmaster.yaml --data /var/lib/yardmaster
  yardmaster serve --json | head -1`;

export const options = {
  config: { type: "string" },
  data: { type: "string" },
  engine: { type: "string" },
  repair: { type: "boolean", default: false },
  json: { type: "boolean", default: false },
  help: { type: "boolean", short: "h", default: false },
} as const;

export const serveCommand = {
  /** Resolves with the exit code. */
  async run(args: readonly string[]): Promise<number> {
    try {
      const flags = understood(() => parseArgs({ args: [...args], options }).values);
      if (flags.help) {
        console.log(help);
        return 0;
      }
      const readConfig = () => loadConfig({ folder: process.cwd(), file: flags.config, ...flags });
      if (flags.repair) for (const line of await repairYard(readConfig())) console.error(line);
      return await dispatch(readConfig, flags.json);
    } catch (fault) {
      return explain(fault);
    }
  },
};

/** Resolves with the exit code when the yard has stopped. */
async function dispatch(readConfig: () => YardConfig, asJson: boolean): Promise<number> {
  const config = readConfig();
  const log = createLog(process.env.YARD_LOG);
  // Listened for from the start: whoever reads that we are ready may say stop before the next line here has run.
  const signals = hearSignals();
  const lines = sayLoading(config.data, (line) => (asJson ? log.info(line) : console.error(line)));
  const starting = serve({ config, log, onLoading: lines.take }).finally(lines.end);
  const yard = await Promise.race([starting, signals.first]);
  // Nothing was accepted yet, so there is nothing to drain.
  if (typeof yard === "string") return 0;
  process.on("SIGHUP", () => void reload(yard, readConfig, log));
  console.log(asJson ? readyLine(yard) : banner(yard, version));
  const first = await Promise.race([signals.first, yard.fault]);
  if (first instanceof Error) {
    log.fatal({ err: first }, "the dispatcher cannot go on");
    return 1;
  }
  log.info({ signal: first }, "draining");
  return Promise.race([yard.stop().then(() => 0), signals.second.then(() => 1)]);
}

/** Reads the config again. One with a mistake changes nothing, and a port that cannot be opened leaves the rest as it is. */
async function reload(yard: RunningYard, readConfig: () => YardConfig, log: Log): Promise<void> {
  try {
    const added = await yard.reload(readConfig());
    log.info({ added }, "config read again");
  } catch (fault) {
    if (!(fault instanceof ConfigFault || fault instanceof StartFault)) throw fault;
    log.error({ fault: fault.message }, "config read again, and not taken");
  }
}

type Log = ReturnType<typeof createLog>;

/** A user's mistake is told in words; only our own come with a stack. */
function explain(fault: unknown): number {
  if (fault instanceof UsageFault) {
    console.error(`yardmaster serve: ${fault.message}\nyardmaster serve --help lists the options.`);
    return 2;
  }
  if (fault instanceof ConfigFault) {
    console.error(fault.message);
    return 2;
  }
  if (!(fault instanceof StartFault)) throw fault;
  console.error(`yardmaster: ${fault.message}`);
  return 1;
}
