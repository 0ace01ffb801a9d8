export * from "./bridge.js";
export * from "./calculator-session.js";
export * from "./client-session.js";
export * from "./codec.js";
export * from "./door-calculator.js";
export * from "./door-clients.js";
export * from "./exchange.js";
export * from "./messages.js";
