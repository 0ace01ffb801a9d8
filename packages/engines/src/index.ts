export { CursorMismatch } from "./cursor.js";
export { EmbeddedEngine, type EmbeddedEngineOptions } from "./embedded/embedded-engine.js";
export { type RepairReport, repairStore } from "./embedded/repair.js";
export { StoreFault, type StoreFaultCode } from "./embedded/store-faults.js";
export { storeBytesIn } from "./embedded/store-file.js";
export * from "./engine.js";
export { MemoryEngine } from "./memory/memory-engine.js";
export { MemoryStore } from "./memory/memory-store.js";
