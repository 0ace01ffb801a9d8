export * from "./codec.js";
export * from "./controller.js";
export * from "./door-worker.js";
export * from "./door-worker-host.js";
export * from "./framer.js";
export * from "./messages.js";
export { numberingOfPulse } from "./numbering.js";
export * from "./worker-session.js";
