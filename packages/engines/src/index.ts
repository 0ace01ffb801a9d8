export { CursorMismatch } from "./cursor.js";
export * from "./engine.js";
export { MemoryEngine } from "./memory/memory-engine.js";
export { MemoryStore } from "./memory/memory-store.js";
