export * from "./pingpong/client.js";
export * from "./pingpong/worker.js";
export * from "./pulse/worker.js";
export * from "./udp/calculator.js";
export * from "./udp/client.js";
