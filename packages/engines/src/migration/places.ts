// The two sides of a migration, as the migration sees them. What a target is given stays a draft,
// which no dispatcher opens, until it is published.

import type { Engine } from "../engine.js";
import type { Marks } from "./reading.js";

export interface Source {
  /** Its name in messages. */
  readonly name: string;
  /** Not open. Its store stays as it is, except that opening begins an epoch. */
  readonly engine: Engine;
  /** Throws StoreFault if there is no store, or if a dispatcher uses it. */
  check(): Promise<void>;
  /** Throws StoreFault if something in the store could not be read. */
  checkRead(): void;
  close(): Promise<void>;
}

export interface Target {
  readonly name: string;
  /** Begins an empty draft. Throws StoreFault if there is a store already. */
  begin(): Promise<void>;
  /** A new engine on the draft, not open. */
  engine(): Engine;
  /** Makes the draft's numbers go on where the source's end. No engine is open. */
  raise(marks: Marks & { readonly epoch: number }): Promise<void>;
  /** Makes the draft the store, in one step. No engine is open. */
  publish(): Promise<void>;
  /** Leaves the draft, if it was not published, to the next migration, which begins anew. */
  close(): Promise<void>;
}
