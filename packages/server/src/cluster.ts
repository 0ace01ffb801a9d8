// What the http door and metrics know of the other dispatchers with the same database, and the
// answers of one that does not own the yard.

import type { Member, NodeView, PostgresEngine } from "@yardmaster/engines";
import { Problem } from "./http/problems.js";

export interface ClusterFacts {
  /** Why requests cannot be answered here; undefined while this dispatcher owns the yard. */
  standby(): { readonly words: string; readonly owner: string | null } | undefined;
  /** Resolves when it is known whether this dispatcher owns the yard, or after a short wait. */
  settled(): Promise<unknown>;
  nodes(): Promise<readonly NodeView[]>;
  /** Leaves the yard to a standby, soon. */
  stepDown(): void;
}

/** This dispatcher does not own the yard any more. Started again, it is a standby. */
export class OwnershipEnded extends Error {
  override readonly name = "OwnershipEnded";
}

/** The database has lost what was acknowledged. An operator decides what to do with it. */
export class DatabaseRegressed extends Error {
  override readonly name = "DatabaseRegressed";
}

/** Names the loss if a fault is that of a database that belongs to another, or has gone back. */
export function asLoss(fault: Error, engine: PostgresEngine | undefined): Error {
  if (engine?.hasRegressed) return new DatabaseRegressed(fault.message);
  return engine?.member !== undefined && engine.isDeposed ? new OwnershipEnded(fault.message) : fault;
}

/** Operations that a standby answers. */
const answeredByStandby: ReadonlySet<string> = new Set([
  "getHealth",
  "getReadiness",
  "getMetrics",
  "listNodes",
]);

/** `isOpen`: true once the yard runs and its doors are open. */
export function clusterFacts(member: Member, isOpen: () => boolean, stepDown: () => void): ClusterFacts {
  return {
    standby() {
      if (!isOpen() && member.isOwner) return { words: "standby: it is taking over", owner: null };
      if (member.isOwner) return undefined;
      const { ownerAddress: owner } = member;
      const halted = "standby: the database has lost what was acknowledged, so nothing is claimed";
      const doubtful = "the database did not answer in time, so another dispatcher may own the yard";
      const waiting = owner === null ? "standby" : `standby: the owner is at ${owner}`;
      const words = member.isHalted ? halted : member.epoch === undefined ? waiting : doubtful;
      return { words, owner };
    },
    settled: async () => isOpen() && (await member.whenProven()),
    nodes: () => member.nodes(),
    stepDown,
  };
}

/** Calls `done` with the problem if this dispatcher cannot answer the operation. */
export function checkOwnership(
  facts: ClusterFacts | undefined,
  operation: string | undefined,
  done: (fault?: Problem) => void,
): void {
  if (facts?.standby() === undefined || answeredByStandby.has(operation ?? "")) return done();
  facts.settled().then(() => {
    const standby = facts.standby();
    const fields = { owner: standby?.owner ?? null };
    done(standby && new Problem("not_owner", standby.words, { fields }));
  });
}
