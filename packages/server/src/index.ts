export * from "./clock.js";
export * from "./door-kit/index.js";
export * from "./runtime.js";
