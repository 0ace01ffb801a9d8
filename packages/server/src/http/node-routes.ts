// Routes about the dispatchers that share a database: who they are, and how the owner hands the
// yard to a standby.

import type { NodeView } from "@yardmaster/engines";
import type { ClusterFacts } from "../cluster.js";
import { operation } from "./operation.js";
import { Problem } from "./problems.js";
import { integer, list, object, orNull, text, textOrNull, time } from "./schema-parts.js";
import type { HttpServer } from "./server.js";

/** A standby writes once a second. One that was seen less recently may be gone. */
const seenMs = 5_000;

export function addNodeRoutes(app: HttpServer, cluster: ClusterFacts | undefined): void {
  app.get("/v1/nodes", nodesOperation, async () => ({ items: (await nodesOf(cluster)).map(nodeJson) }));

  app.post("/v1/nodes::step-down", stepDownOperation, async (_request, reply) => {
    if (cluster === undefined) throw new Problem("not_found", "this dispatcher has no cluster.node");
    const nodes = await nodesOf(cluster);
    const seenAt = ({ lastSeen }: NodeView) => Date.parse(lastSeen);
    const latest = Math.max(...nodes.map(seenAt));
    const standby = nodes.find((node) => node.role === "standby" && latest - seenAt(node) <= seenMs);
    if (standby === undefined) throw new Problem("not_found", "there is no standby that could take over");
    cluster.stepDown();
    return reply.code(202).send({ items: nodes.map(nodeJson) });
  });
}

/** None without a cluster. */
async function nodesOf(cluster: ClusterFacts | undefined): Promise<readonly NodeView[]> {
  try {
    return (await cluster?.nodes()) ?? [];
  } catch (cause) {
    throw new Problem("not_ready", "the database does not answer", { cause });
  }
}

function nodeJson({ node, address, role, epoch, lastSeen, lag }: NodeView) {
  return { name: node, role, epoch, advertise: address, lastSeen, lag };
}

const nodesSchema = object({
  items: list(
    object({
      name: text,
      role: { type: "string", enum: ["owner", "standby"] },
      epoch: { ...orNull(integer), description: "Of the owner; null for a standby." },
      advertise: { ...textOrNull, description: "URL of its http door." },
      lastSeen: { ...time, description: "By the clock of the database." },
      lag: { ...integer, description: "Batches that a standby did not have when it was last seen." },
    }),
  ),
});

const nodesOperation = operation({
  id: "listNodes",
  tag: "yard",
  summary: "The dispatchers that share the database",
  answers: { 200: { is: "The nodes; none without `cluster`", json: nodesSchema } },
  problems: ["not_ready"],
});

const stepDownOperation = operation({
  id: "stepDown",
  tag: "yard",
  summary: "Hand the yard to a standby",
  description: "The owner stores what it accepted, closes its doors and ends. A standby takes over.",
  answers: { 202: { is: "It begins; the nodes before it", json: nodesSchema } },
  problems: ["not_found", "not_ready"],
});
