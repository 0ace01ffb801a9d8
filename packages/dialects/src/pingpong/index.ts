export * from "./client-session.js";
export * from "./codec.js";
export * from "./door-client.js";
export { type ClientNames, PingpongDoorClients } from "./door-clients.js";
export * from "./door-worker.js";
export { PingpongDoorWorkers } from "./door-workers.js";
export * from "./messages.js";
export * from "./worker-session.js";
