export * from "./client-session.js";
export * from "./codec.js";
export * from "./door-client.js";
export * from "./door-worker-session.js";
export * from "./messages.js";
export * from "./worker-session.js";
