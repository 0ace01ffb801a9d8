export * from "./effects.js";
export * from "./events.js";
export * from "./names.js";
export * from "./records.js";
export * from "./time.js";
export * from "./views.js";
