export * from "./clock.js";
export { ConfigFault } from "./config/config-fault.js";
export { type ConfigSources, loadConfig, type YardConfig } from "./config.js";
export * from "./door-kit/index.js";
export { PingpongDoor, type PingpongDoorOptions } from "./doors/pingpong.js";
export { repairYard } from "./engine-choice.js";
export { createLog } from "./log.js";
export { type RunningYard, type ServeOptions, serve } from "./main.js";
export * from "./runtime.js";
