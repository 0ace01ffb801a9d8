// What can happen to a cluster. Each fault also heals: when it returns, every process runs again or
// is about to, and the yard becomes whole by itself.

import type { Random } from "../simulation/random.js";
import type { ClusterYard, YardNode } from "./cluster-yard.js";
import { pause } from "./timing.js";

export interface ClusterFault {
  /** As the table names it. */
  readonly words: string;
  inject(yard: ClusterYard, random: Random): Promise<void>;
}

/** Some end before anyone has noticed, others last far longer than `silenceMs`. */
const whileMs = (random: Random) => random.between(200, 4000);
/** How long it takes until someone promotes the standby. */
const promotionMs = (random: Random) => random.between(0, 500);
const lookMs = 20;

export const clusterFaults = {
  "owner-killed": {
    words: "the owner is killed",
    inject: async (yard, random) => killed([await yard.owner()], random),
  },
  "owner-stopped": {
    words: "the owner is stopped for up to 4 s (SIGSTOP)",
    async inject(yard, random) {
      const { process } = await yard.owner();
      process.signal("SIGSTOP");
      await pause(whileMs(random));
      process.signal("SIGCONT");
    },
  },
  "owner-cut-off": {
    words: "the owner is cut off from the database for up to 4 s",
    inject: async (yard, random) => cutOff(await yard.owner(), random),
  },
  "standby-killed": {
    words: "the standby dispatcher is killed",
    inject: async (yard, random) => killed([await yard.standby()], random),
  },
  "standby-cut-off": {
    words: "the standby dispatcher is cut off from the database for up to 4 s",
    inject: async (yard, random) => cutOff(await yard.standby(), random),
  },
  "both-killed": {
    words: "both dispatchers are killed",
    inject: async (yard, random) => killed(yard.nodes, random),
  },
  "step-down": {
    words: "the owner steps down",
    async inject(yard) {
      // Refused while the owner has not seen a standby for some time.
      for (;;) {
        const { process } = await yard.owner();
        const stepDown = fetch(`${process.url}/v1/nodes:step-down`, { method: "POST" });
        // There is no answer if it lost the yard at the same moment.
        if ((await stepDown.catch(() => undefined))?.status === 202) return;
        await pause(lookMs);
      }
    },
  },
  "connections-reset": {
    words: "all connections to the database are reset, up to five times",
    async inject(yard, random) {
      for (let rest = random.integer(1, 5); rest > 0; rest--) {
        for (const { proxies } of yard.nodes) for (const proxy of proxies) proxy.reset();
        await pause(random.between(0, 300));
      }
    },
  },
  "primary-killed": {
    words: "the primary server is killed, and the standby promoted within 0.5 s",
    async inject({ servers }, random) {
      await servers.primary.signalAll("SIGKILL");
      await pause(promotionMs(random));
      await servers.promote();
      await servers.rejoin();
    },
  },
  "primary-stopped": {
    words: "the primary server is stopped (SIGSTOP), the standby promoted within 0.5 s",
    async inject({ servers }, random) {
      const { primary } = servers;
      await primary.signalAll("SIGSTOP");
      await pause(promotionMs(random));
      await servers.promote();
      // A tool that promotes a standby must make sure that the old primary does not go on.
      await primary.signalAll("SIGKILL");
      await servers.rejoin();
    },
  },
  "primary-returns": {
    words: "a stopped primary goes on for up to 4 s after the standby was promoted",
    async inject({ servers }, random) {
      const { primary } = servers;
      await primary.signalAll("SIGSTOP");
      await pause(promotionMs(random));
      await servers.promote();
      // It takes writes, which wait for the standby that it has lost.
      await primary.signalAll("SIGCONT");
      await pause(whileMs(random));
      await primary.signalAll("SIGKILL");
      await servers.rejoin();
    },
  },
  "owner-and-primary-killed": {
    words: "the owner and the primary server are killed together",
    async inject(yard, random) {
      const { process } = await yard.owner();
      const { servers } = yard;
      await Promise.all([process.end("SIGKILL"), servers.primary.signalAll("SIGKILL")]);
      await pause(promotionMs(random));
      await servers.promote();
      await servers.rejoin();
      await process.start();
    },
  },
  "wait-cancelled": {
    words: "commits that wait for the server's standby are cancelled",
    inject: (yard, random) => interruptedWaits(yard, random, "pg_cancel_backend"),
  },
  "wait-terminated": {
    words: "sessions that wait for the server's standby are terminated",
    inject: (yard, random) => interruptedWaits(yard, random, "pg_terminate_backend"),
  },
  "cancelled-then-promoted": {
    words: "commits that wait are cancelled, then the primary is killed and the standby promoted",
    async inject({ servers }, random) {
      await servers.standby.stop();
      await interrupt(servers, random, "pg_cancel_backend");
      await servers.primary.signalAll("SIGKILL");
      await servers.standby.start();
      await servers.promote();
      await servers.rejoin();
    },
  },
  "server-standby-stopped": {
    words: "the server's standby is stopped for up to 4 s",
    async inject({ servers }, random) {
      await servers.standby.stop();
      await pause(whileMs(random));
      await servers.startStandby();
    },
  },
  "read-only": {
    words: "the server is read-only for up to 4 s",
    async inject({ servers }, random) {
      await servers.set("default_transaction_read_only", "on");
      await pause(whileMs(random));
      await servers.set("default_transaction_read_only", "off");
    },
  },
} satisfies Record<string, ClusterFault>;

export type ClusterFaultName = keyof typeof clusterFaults;

export const clusterFaultNames = Object.keys(clusterFaults) as readonly ClusterFaultName[];

async function killed(nodes: readonly YardNode[], random: Random): Promise<void> {
  await Promise.all(nodes.map(({ process }) => process.end("SIGKILL")));
  await pause(random.between(0, 1000));
  await Promise.all(nodes.map(({ process }) => process.start()));
}

async function cutOff({ proxies }: YardNode, random: Random): Promise<void> {
  for (const proxy of proxies) proxy.cut();
  await pause(whileMs(random));
  for (const proxy of proxies) proxy.heal();
}

type Interruption = "pg_cancel_backend" | "pg_terminate_backend";

async function interruptedWaits({ servers }: ClusterYard, random: Random, call: Interruption): Promise<void> {
  await servers.standby.stop();
  await interrupt(servers, random, call);
  await servers.startStandby();
}

/** Does this to dispatchers' sessions that wait for a standby, which must be down. */
async function interrupt(
  { primary }: ClusterYard["servers"],
  random: Random,
  call: Interruption,
): Promise<void> {
  const waiting = `from pg_stat_activity where application_name like 'yardmaster/%' and wait_event = 'SyncRep'`;
  for (let rest = random.integer(1, 5); rest > 0; rest--) {
    while ((await primary.sql(`select ${call}(pid) ${waiting}`)).length === 0) await pause(lookMs);
  }
}
