export type { Instant, Moment, WallTime } from "@yardmaster/core";
export * from "./body.js";
export * as monique from "./monique/index.js";
export * from "./parts.js";
export * as pingpong from "./pingpong/index.js";
export * as pulse from "./pulse/index.js";
export * from "./recent.js";
export * from "./retransmission.js";
export * as udp from "./udp/index.js";
