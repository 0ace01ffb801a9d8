export { CursorMismatch, cursorBelow } from "./cursor.js";
export { type BackupReport, backupStore, restoreStore } from "./embedded/backup.js";
export { EmbeddedEngine, type EmbeddedEngineOptions } from "./embedded/embedded-engine.js";
export { type RepairReport, repairStore } from "./embedded/repair.js";
export { StoreFault, type StoreFaultCode } from "./embedded/store-faults.js";
export { storeBytesIn } from "./embedded/store-file.js";
export * from "./engine.js";
export { MemoryEngine } from "./memory/memory-engine.js";
export { MemoryStore } from "./memory/memory-store.js";
export {
  type MigrationOptions,
  type MigrationPhase,
  type MigrationReport,
  migrateStore,
  type StorePlace,
} from "./migration/migrate.js";
export type { StoreCounts } from "./migration/tally.js";
export { type ClaimReason, claimReasons } from "./postgres/candidacy.js";
export type { ClusterOptions, Member } from "./postgres/member.js";
export type { NodeView } from "./postgres/nodes.js";
export { PostgresEngine, type PostgresEngineOptions } from "./postgres/postgres-engine.js";
export { Unavailable } from "./postgres/session.js";
export { isAskedFor } from "./task-filter.js";
