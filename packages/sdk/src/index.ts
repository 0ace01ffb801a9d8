export * from "./pingpong/client.js";
export * from "./pingpong/worker.js";
