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
export * from "./udp/calculator.js";
export * from "./udp/client.js";
