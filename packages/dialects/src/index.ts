/// <reference types="node" preserve="true" />
// Since TypeScript 6, a program whose settings name no types would not know Buffer.

export type { Instant, Moment, WallTime } from "@yardmaster/core";
export * from "./body.js";
export * as monique from "./monique/index.js";
export * from "./nesting.js";
export * from "./parts.js";
export * from "./paused-peers.js";
export * from "./peers.js";
export * as pingpong from "./pingpong/index.js";
export * as pulse from "./pulse/index.js";
export * from "./recent.js";
export * from "./retransmission.js";
export * as scaler from "./scaler/index.js";
export * as udp from "./udp/index.js";
export * from "./wire-frames.js";
