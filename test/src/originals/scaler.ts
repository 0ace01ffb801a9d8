// The programs of scaler 1.7 themselves, client and workers, with a dispatcher whose connections
// are cut, whose workers are paused, and which is killed or stopped in the middle. Every result
// must arrive and belong to its job. It takes minutes, so it is a separate command: `npm run
// originals [-- WORD]` (the cases whose name contains WORD). SCALER_PYTHON names a Python with
// scaler 1.7; without one it says so and exits.

import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import { Lives } from "../crash/lives.js";
import { startProxy } from "../interop/proxy.js";

const python = process.env.SCALER_PYTHON ?? "python3";

/** One process with its workers, which print their names. */
const clusterScript = `
import sys
from scaler.cluster.cluster import Cluster
from scaler.utility.zmq_config import ZMQConfig
if __name__ == "__main__":
    Cluster(address=ZMQConfig.from_string(sys.argv[1]), worker_io_threads=1, worker_names=["w0", "w1", "w2"],
        heartbeat_interval_seconds=2, task_timeout_seconds=0, death_timeout_seconds=300, garbage_collect_interval_seconds=30,
        trim_memory_threshold_bytes=1 << 30, event_loop="builtin", logging_paths=("/dev/null",), logging_level="ERROR",
        logging_config_file=None).run()
`;

const warmJobs = 6;

/**
 * Maps a few items to warm up, reports it, maps the rest, and prints how many results belong to
 * their jobs.
 */
const clientScript = `
import os, sys
from scaler.client.client import Client
def job(number, seconds):
    import time
    time.sleep(seconds)
    return number * 7 + 1
if __name__ == "__main__":
    count, seconds = int(sys.argv[2]), float(sys.argv[3])
    client = Client(address=sys.argv[1])
    client.map(job, [(number, 0) for number in range(${warmJobs})])
    print("warm", flush=True)
    results = client.map(job, [(number, seconds) for number in range(count)])
    print(sum(one == number * 7 + 1 for number, one in enumerate(results)), flush=True)
    os._exit(0)
`;

interface Case {
  readonly name: string;
  readonly jobs: number;
  readonly seconds: number;
  readonly trouble: (lives: Lives, workers: readonly number[], cut: () => void) => Promise<void>;
}

const cases: readonly Case[] = [
  {
    name: "one cut of every worker's connection",
    jobs: 60,
    seconds: 0.1,
    trouble: async (_, __, cut) => cut(),
  },
  {
    name: "a worker that is paused for 10 s",
    jobs: 40,
    seconds: 0.3,
    trouble: (_, workers) => pause(workers),
  },
  { name: "kill -9 of the dispatcher, no-op jobs", jobs: 2_000, seconds: 0, trouble: restart },
  { name: "kill -9 of the dispatcher, jobs of 5 s", jobs: 6, seconds: 5, trouble: restart },
  { name: "SIGTERM of the dispatcher", jobs: 200, seconds: 0.1, trouble: restartCleanly },
];

async function restart(lives: Lives): Promise<void> {
  await lives.kill();
  await lives.start();
}

async function restartCleanly(lives: Lives): Promise<void> {
  await lives.stop();
  await lives.start();
}

async function pause([worker]: readonly number[]): Promise<void> {
  if (worker === undefined) throw new Error("there is no worker to pause");
  process.kill(worker, "SIGSTOP");
  await delay(10_000);
  process.kill(worker, "SIGCONT");
}

/** True if this many tasks were accepted. */
async function isAccepted(lives: Lives, tasks: number): Promise<boolean> {
  return (await fetch(`${lives.addresses.http}/v1/tasks/${tasks}`)).ok;
}

/** The child processes of a process. */
function childrenOf(pid: number): number[] {
  const { stdout } = spawnSync("ps", ["-o", "pid=", "--ppid", String(pid)], { encoding: "utf8" });
  return stdout.split("\n").map(Number).filter(Boolean);
}

async function run({ name, jobs, seconds, trouble }: Case): Promise<boolean> {
  const lives = new Lives("embedded");
  await lives.start();
  const scheduler = lives.addresses.scaler;
  const proxy = await startProxy(scheduler.slice("tcp://".length));
  const cluster = spawn(python, ["-c", clusterScript, `tcp://${proxy.address}`], {
    detached: true,
    stdio: "ignore",
  });
  const args = ["-u", "-c", clientScript, scheduler, String(jobs), String(seconds)];
  const client = spawn(python, args, { stdio: ["ignore", "pipe", "inherit"] });
  const lines: string[] = [];
  createInterface({ input: client.stdout }).on("line", (line) => lines.push(line));
  const limit = setTimeout(() => client.kill("SIGKILL"), 120_000);
  while (lines[0] !== "warm" && client.exitCode === null && client.signalCode === null) await delay(50);
  // A client does not repeat submissions that a dying dispatcher had not accepted, so all of them
  // must be accepted first.
  while (!(await isAccepted(lives, warmJobs + jobs)) && client.exitCode === null) await delay(20);
  await trouble(lives, childrenOf(cluster.pid as number), proxy.cut);
  if (client.exitCode === null && client.signalCode === null) await once(client, "exit");
  clearTimeout(limit);
  end(cluster);
  await proxy.close();
  await lives.stop();
  console.log(
    `${lines[1] === String(jobs) ? "ok  " : "FAIL"} ${name}: ${lines[1] ?? "no"} of ${jobs} results`,
  );
  return lines[1] === String(jobs);
}

/** Ends it and all processes that it started. */
function end({ pid }: ChildProcess): void {
  if (pid !== undefined) process.kill(-pid, "SIGKILL");
}

const probe = "import scaler.about as about; assert about.__version__.startswith('1.7.')";
if (spawnSync(python, ["-c", probe], { stdio: "ignore" }).status !== 0) {
  console.log(`skipped: ${python} has no scaler 1.7 (SCALER_PYTHON names one that has)`);
} else {
  const chosen = cases.filter(({ name }) => name.includes(process.argv[2] ?? ""));
  for (const each of chosen) if (!(await run(each))) process.exitCode = 1;
}
