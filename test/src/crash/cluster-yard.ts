// A yard of two dispatchers and two replicated Postgres servers, all of them real processes. Each
// dispatcher reaches the servers through proxies of its own, which can cut it off.

import { CutProxy, urlOf } from "../cluster/cut-proxy.js";
import { NodeProcess } from "../cluster/node-process.js";
import { ReplicatedServers } from "../cluster/replicated-servers.js";
import { pause } from "./timing.js";

/** A dispatcher, and its ways to the servers. */
export interface YardNode {
  readonly process: NodeProcess;
  readonly proxies: readonly CutProxy[];
}

/** A database that is away for longer than this would be a fault of the test. */
const startTries = 300;
const lookMs = 20;
/** A node that was stopped does not answer. */
const answerMsMax = 2_000;

export class ClusterYard {
  readonly servers: ReplicatedServers;
  readonly nodes: readonly [YardNode, YardNode];

  private constructor(servers: ReplicatedServers, nodes: readonly [YardNode, YardNode]) {
    this.servers = servers;
    this.nodes = nodes;
  }

  static async start(): Promise<ClusterYard> {
    const servers = await ReplicatedServers.start();
    const node = async (name: string): Promise<YardNode> => {
      const proxies = await Promise.all(servers.all.map(({ folder }) => CutProxy.start(folder)));
      const settings = { retention: { count: 100_000_000, bytes: 1e12 } };
      const options = { name, url: urlOf(proxies), requireSync: true, settings, tries: startTries };
      return { process: await new NodeProcess(options).start(), proxies };
    };
    const yard = new ClusterYard(servers, [await node("n1"), await node("n2")]);
    await yard.whenWhole();
    return yard;
  }

  get urls(): readonly string[] {
    return this.nodes.map(({ process }) => process.url);
  }

  /** Waits until there is one. */
  async owner(): Promise<YardNode> {
    for (;;) {
      for (const node of this.nodes) if ((await roleOf(node)) === "owner") return node;
      await pause(lookMs);
    }
  }

  async standby(): Promise<YardNode> {
    const owner = await this.owner();
    const [one, other] = this.nodes;
    return owner === one ? other : one;
  }

  /** Waits until one dispatcher owns the yard and the other watches it. */
  async whenWhole(): Promise<void> {
    for (;;) {
      const roles = await Promise.all(this.nodes.map(roleOf));
      if (roles.includes("owner") && roles.includes("standby")) return;
      await pause(lookMs);
    }
  }

  async destroy(): Promise<void> {
    await Promise.all(this.nodes.map(({ process }) => process.destroy()));
    for (const { proxies } of this.nodes) for (const proxy of proxies) proxy.close();
    await this.servers.destroy();
  }
}

/** Undefined if there is no answer, or if it is a standby that has not found the owner yet. */
async function roleOf({ process }: YardNode): Promise<"owner" | "standby" | undefined> {
  try {
    const response = await fetch(`${process.url}/readyz`, { signal: AbortSignal.timeout(answerMsMax) });
    const { detail = "" } = (await response.json()) as { detail?: string };
    if (response.status === 200) return "owner";
    return detail.startsWith("standby: the owner is at") ? "standby" : undefined;
  } catch {
    return undefined;
  }
}
