export * from "./codec.js";
export type { MoniqueContent } from "./content.js";
export * from "./messages.js";
