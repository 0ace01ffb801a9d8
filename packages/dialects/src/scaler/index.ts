export * from "./codec.js";
export * from "./messages.js";
export * from "./peer-codec.js";
export { priorityOf, resultMetadata, taskMetadata } from "./structs.js";
