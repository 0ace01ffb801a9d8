/// <reference types="node" preserve="true" />
// Since TypeScript 6, a program whose settings name no types would not know Buffer.

export {
  type ConnectSecurity,
  type CurveCredentials,
  curveCertificate,
  curveKeyPair,
  type PlainCredentials,
  publicKeyIn,
  secretKeyIn,
} from "@yardmaster/zmtp";
export * from "./actions.js";
export {
  hostAndPort,
  readAddress,
  readAddresses,
  urlsIn,
  type YardAddress,
  type YardUrls,
} from "./address.js";
export { AnsweringClient, type AnsweringDialect, type Question } from "./answering-client.js";
export { Body, type Bodylike, bodyOf } from "./body.js";
export * from "./client.js";
export { connect, type DialectEntry, defineQueue, dialectTable, work } from "./dialects.js";
export * from "./errors.js";
export { HttpClient } from "./http/client.js";
export { HttpConnection } from "./http/connection.js";
export { inOrder, untilAborted } from "./in-order.js";
export * from "./monique/component.js";
export * from "./monique/component-options.js";
export * from "./monique/worker.js";
export * from "./pingpong/client.js";
export * from "./pingpong/worker.js";
export * from "./pulse/worker.js";
export * from "./scaler/client.js";
export { ScalerError, ScalerFuture } from "./scaler/future.js";
export {
  bytesSerializer,
  jsonSerializer,
  messagePackSerializer,
  type ScalerSerializer,
} from "./scaler/serializers.js";
export * from "./scaler/worker.js";
export * from "./schedules.js";
export * from "./task.js";
export * from "./typed.js";
export * from "./udp/calculator.js";
export * from "./udp/client.js";
export * from "./worker.js";
export type * from "./yard-views.js";
