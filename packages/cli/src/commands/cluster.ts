// `yardmaster cluster`: the dispatchers that share a database, and how the owner hands the yard
// over.

import { connect, HttpConnection } from "@yardmaster/sdk";
import { Argument, type Command } from "commander";
import { ago } from "../amounts.js";
import { ending, httpCredentials, newCommand, using, warn, withYard, type YardOptions } from "../command.js";
import { printList } from "../listing.js";
import type { Column } from "../table.js";

const orders = ["status", "step-down"] as const;

/** As `GET /v1/nodes` shows it. */
interface Node {
  readonly name: string;
  readonly role: string;
  readonly epoch: number | null;
  readonly advertise: string | null;
  readonly lastSeen: string;
  readonly lag: number;
}

export function clusterCommand(): Command {
  const command = newCommand("cluster", "show the nodes of a cluster, or hand the yard over", [
    { does: "which node owns the yard", line: "yardmaster cluster status" },
    { does: "before its machine is switched off", line: "yardmaster cluster step-down" },
  ])
    .description(
      `Shows the dispatchers that share a Postgres database (settings: cluster), or tells
the owner to hand the yard to a standby. The owner then stores what it accepted,
closes its doors and ends with exit code 3, so that a service manager starts it
again as a standby.`,
    )
    .addArgument(new Argument("<order>", "what to do").choices(orders));
  return withYard(command).action(ending(cluster));
}

async function cluster(order: (typeof orders)[number], { url, ...flags }: YardOptions): Promise<number> {
  return using(await connect(url, httpCredentials(flags)), async (client) => {
    const connection = new HttpConnection(client.address, httpCredentials(flags));
    try {
      const path = order === "status" ? "/v1/nodes" : "/v1/nodes:step-down";
      const method = order === "status" ? "GET" : "POST";
      const { items } = await connection.json<{ items: readonly Node[] }>(path, { method });
      show(items, flags);
      const owner = items.find(({ role }) => role === "owner")?.name;
      if (order === "step-down") warn(`${owner} steps down; yardmaster cluster status shows who takes over`);
      return 0;
    } finally {
      connection.close();
    }
  });
}

function show(items: readonly Node[], { json }: Pick<YardOptions, "json">): void {
  printList(items, columns, { json }, "no nodes: this dispatcher has no cluster settings");
}

const columns: readonly Column<Node>[] = [
  { title: "NODE", value: ({ name }) => name, isElastic: true },
  { title: "ROLE", value: ({ role }) => role },
  { title: "EPOCH", value: ({ epoch }) => String(epoch ?? ""), align: "right" },
  { title: "LAG", value: ({ lag }) => String(lag), align: "right" },
  { title: "SEEN", value: ({ lastSeen }) => ago(lastSeen), align: "right" },
  { title: "URL", value: ({ advertise }) => advertise ?? "", isElastic: true },
];
