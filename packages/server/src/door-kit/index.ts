export * from "./door.js";
export * from "./faults.js";
export * from "./paused-peers.js";
export * from "./peers.js";
export * from "./requests.js";
export * from "./tap.js";
export * from "./waits.js";
export * from "./zmq.js";
