export * from "./monique/component.js";
export * from "./monique/worker.js";
export * from "./pingpong/client.js";
export * from "./pingpong/worker.js";
export * from "./pulse/worker.js";
export * from "./udp/calculator.js";
export * from "./udp/client.js";
