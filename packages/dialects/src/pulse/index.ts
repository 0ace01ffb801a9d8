export * from "./codec.js";
export * from "./framer.js";
export * from "./messages.js";
export { numberingOfPulse } from "./numbering.js";
