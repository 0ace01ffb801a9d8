export { taskMediaType } from "./bodies.js";
export * from "./codec.js";
export { serializerObjectId } from "./ids.js";
export type { ScalerLine } from "./line.js";
export * from "./messages.js";
export * from "./peer-codec.js";
export { pickledException } from "./pickle.js";
export * from "./scheduler.js";
export { priorityOf, resultMetadata, taskMetadata } from "./structs.js";
