// The dispatchers that share a database, as `GET /v1/nodes` lists them. Nothing is decided by this
// table: it is what operators see, so its writes wait for no standby.

import type { Session } from "./session.js";

export interface NodeView {
  readonly node: string;
  readonly address: string | null;
  readonly role: "owner" | "standby";
  /** The owner's epoch; null for a standby. */
  readonly epoch: number | null;
  /** By the server's clock. */
  readonly lastSeen: string;
  /** Batches of the log that a standby did not have when it was last seen. */
  readonly lag: number;
}

export interface NodeNote {
  readonly node: string;
  readonly instance: string;
  readonly address: string | undefined;
  /** The last batch that it has. */
  readonly position: number;
}

/** A node that has not been seen for longer is forgotten. */
const keptFor = "1 day";

export async function noteNode(session: Session, note: NodeNote): Promise<void> {
  const { node, instance, address, position } = note;
  await session.transaction("begin; set local synchronous_commit = off", async (query) => {
    await query({
      text: `insert into nodes (node, instance, address, position, seen) values ($1, $2, $3, $4, now())
        on conflict (node) do update set instance = excluded.instance, address = excluded.address,
          position = excluded.position, seen = excluded.seen`,
      values: [node, instance, address ?? null, position],
    });
    await query(`delete from nodes where seen < now() - interval '${keptFor}'`);
  });
}

/** A node that ends is no standby. */
export async function forgetNode(session: Session, instance: string): Promise<void> {
  await session.query({ text: "delete from nodes where instance = $1", values: [instance] });
}

export async function listNodes(session: Session): Promise<readonly NodeView[]> {
  const { rows } = await session.query<NodeView>({
    text: `select n.node, n.address, case when owns then 'owner' else 'standby' end as role,
        case when owns then o.epoch end as epoch,
        to_char(n.seen at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "lastSeen",
        case when owns then 0 else greatest(0, o.position - n.position) end as lag
      from owner o, nodes n, lateral (select n.instance = o.instance as owns) as r order by n.node`,
    name: "nodes",
  });
  return rows;
}
