// `yardmaster serve`: opens the doors, prints their addresses, and runs until a signal ends it.

import { parseArgs } from "node:util";
import {
  ConfigFault,
  type ConfigSources,
  configInForce,
  createLog,
  DatabaseRegressed,
  loadConfig,
  OwnershipEnded,
  type RunningYard,
  repairYard,
  type Standby,
  StartFault,
  serve,
  type YardConfig,
} from "@yardmaster/server";
import { durationMs } from "./amounts.js";
import { banner, readyLine, standbyLine } from "./banner.js";
import { print, printJson, UsageFault, understood, version } from "./command.js";
import { demoLasts } from "./commands/demo.js";
import { sayLoading } from "./loading-lines.js";
import { hearSignals } from "./signals.js";

const help = `Usage: yardmaster serve [options]

Opens every door and dispatches until SIGTERM or SIGINT. The first one drains:
nothing new is accepted, running attempts may finish, the rest is given back.
A second one ends it at once. SIGHUP reads the config again: changed principals
and certificates, and new monique specs and controllers, take effect.

Options:
  --config FILE    read this file (default: yardmaster.yaml or yardmaster.json
                   in the working folder, if it is there)
  --data DIR       the folder of the engine (default: ./yard-data)
  --engine NAME    memory | embedded | postgres
  --repair         before the start, set a damaged file aside, make a new one
                   from what can be read, and print what is lost
  --demo           run yardmaster demo instead, in a dispatcher of its own
                   (--forever: until Ctrl-C)
  --print-config   print each setting in force and its origin, and exit
  --json           print one line of JSON when all doors are open
  --help           print this

Environment (a flag takes precedence over a variable, a variable over the file):
  YARD_DATA, YARD_ENGINE     as --data and --engine
  YARD_HTTP_LISTEN           where the http door listens (doors.http.listen)
  YARD_HTTP_TOKEN_FILE       a file with the token of the http door
  YARD_POSTGRES_URL          the database of the Postgres engine (postgres.url)
  YARD_CLUSTER_NODE          the name of this node of a cluster (cluster.node)
  YARD_CLUSTER_ADVERTISE     the URL of its http door (cluster.advertise)
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
  demo: { type: "boolean", default: false },
  forever: { type: "boolean", default: false },
  "print-config": { type: "boolean", default: false },
  json: { type: "boolean", default: false },
  help: { type: "boolean", short: "h", default: false },
} as const;

type Flags = ReturnType<typeof parseArgs<{ options: typeof options }>>["values"];

export const serveCommand = {
  /** Resolves with the exit code. */
  async run(args: readonly string[]): Promise<number> {
    try {
      const flags = understood(() => parseArgs({ args: [...args], options }).values);
      if (flags.help) {
        console.log(help);
        return 0;
      }
      if (flags.demo) return await demo(flags);
      if (flags.forever) throw new UsageFault("--forever goes with --demo");
      const { config: file, data, engine } = flags;
      const sources = { folder: process.cwd(), file, data, engine, variables: process.env };
      if (flags["print-config"]) return printConfig(sources, flags.json);
      const readConfig = () => loadConfig(sources);
      if (flags.repair) for (const line of await repairYard(readConfig())) console.error(line);
      return await dispatch(readConfig, flags.json);
    } catch (fault) {
      return explain(fault);
    }
  },
};

/** Lines that YAML would read, each with its origin in a comment. */
function printConfig(sources: ConfigSources, asJson: boolean): number {
  const settings = configInForce(sources);
  if (asJson) for (const setting of settings) printJson(setting);
  if (asJson) return 0;
  const lines = settings.map(({ path, value }) => `${path}: ${JSON.stringify(value)}`);
  const width = Math.min(60, Math.max(...lines.map((line) => line.length)));
  lines.forEach((line, index) => void print(`${line.padEnd(width)}  # ${settings[index]?.origin}`));
  return 0;
}

/** `npm start -- --demo`. Settings of a dispatcher with real work do not go with it. */
async function demo({ config, data, engine, repair, forever, json }: Flags): Promise<number> {
  if (config !== undefined || data !== undefined || engine !== undefined || repair) {
    throw new UsageFault(
      "--demo has a dispatcher of its own: it takes no --config, --data, --engine or --repair",
    );
  }
  const { runDemo } = await import("./demo/run.js");
  return runDemo({ json, lastsMs: forever ? Number.POSITIVE_INFINITY : durationMs(demoLasts) });
}

/** Not 0, so that a service manager that restarts after failures starts a standby. */
const standbyCode = 3;

/** A service manager must not start it again: the next start would accept what the database has. */
const regressedCode = 4;

/** Resolves with the exit code when the yard has stopped. */
async function dispatch(readConfig: () => YardConfig, asJson: boolean): Promise<number> {
  const config = readConfig();
  const log = createLog(process.env.YARD_LOG);
  // Installed from the start: a program that reads our ready line may send a signal before the next
  // line here has run.
  const signals = hearSignals();
  const lines = sayLoading(config.data, (line) => (asJson ? log.info(line) : console.error(line)));
  const onStandby = (standby: Standby) => {
    if (asJson) console.log(standbyLine(standby));
    else console.error(`${standby.node} is a standby; http ${standby.doors.http?.listen ?? "closed"}`);
  };
  const starting = serve({ config, log, onLoading: lines.take, onStandby }).finally(lines.end);
  const yard = await Promise.race([starting, signals.first]);
  // Nothing was accepted yet, so nothing needs to be drained.
  if (typeof yard === "string") return 0;
  process.on("SIGHUP", () => void reload(yard, readConfig, log));
  console.log(asJson ? readyLine(yard) : banner(yard, version));
  const first = await Promise.race([signals.first, yard.fault]);
  if (first instanceof OwnershipEnded) {
    log.warn({ reason: first.message }, "no longer the owner: start it again, and it is a standby");
    return standbyCode;
  }
  if (first instanceof Error) {
    log.fatal({ err: first }, "the dispatcher cannot go on");
    return codeOf(first);
  }
  log.info({ signal: first }, "draining");
  return Promise.race([yard.stop().then(() => 0), signals.second.then(() => 1)]);
}

/**
 * Reads the configuration again. A mistake in it changes nothing, and a port that cannot be opened
 * leaves the rest as it is.
 */
async function reload(yard: RunningYard, readConfig: () => YardConfig, log: Log): Promise<void> {
  try {
    const added = await yard.reload(readConfig());
    log.info({ added }, "config read again");
  } catch (fault) {
    if (!(fault instanceof ConfigFault || fault instanceof StartFault)) throw fault;
    log.error({ fault: fault.message }, "config read again and refused: the old one stays in force");
  }
}

type Log = ReturnType<typeof createLog>;

/** A user's mistake gets a message; only our own bugs get a stack trace. */
function explain(fault: unknown): number {
  if (fault instanceof UsageFault) {
    console.error(`yardmaster serve: ${fault.message}\nyardmaster serve --help lists the options.`);
    return 2;
  }
  if (fault instanceof ConfigFault) {
    console.error(fault.message);
    return 2;
  }
  // The store can be lost before it is loaded.
  const isKnown = [StartFault, DatabaseRegressed, OwnershipEnded].some((known) => fault instanceof known);
  if (!isKnown) throw fault;
  console.error(`yardmaster: ${(fault as Error).message}`);
  return codeOf(fault as Error);
}

function codeOf(fault: Error): number {
  if (fault instanceof OwnershipEnded) return standbyCode;
  return fault instanceof DatabaseRegressed ? regressedCode : 1;
}
