export * from "./codec.js";
export type { MoniqueContent } from "./content.js";
export * from "./controller.js";
export type { Incoming, Sender } from "./incoming.js";
export * from "./messages.js";
export { type MonitoringReport, readReport } from "./monitoring.js";
export * from "./questions.js";
export * from "./scheduler.js";
export * from "./specs.js";
