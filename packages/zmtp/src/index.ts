/// <reference types="node" preserve="true" />
// Since TypeScript 6, a program whose settings name no types would not know Buffer.

// ZeroMQ in TypeScript: sockets that speak ZMTP 3.0 and 3.1 over node:net, and the pure parts they
// are built from.

export type { BackoffSettings } from "./backoff.js";
export { type Command, decodeCommand, encodeCommand } from "./commands.js";
export {
  Connection,
  type ConnectionEvent,
  type ConnectionSettings,
  type DroppedFrames,
} from "./connection.js";
export { curveCertificate, publicKeyIn, secretKeyIn } from "./curve-certificate.js";
export { type CurveKey, type CurveKeyPair, curveKeyPair, curvePublicKey } from "./curve-keys.js";
export type { FaultKind } from "./faults.js";
export { FrameTable } from "./frame-table.js";
export { COMMAND, encodeFrame, FrameDecoder, type FrameReading, LONG, MORE } from "./frames.js";
export { encodeGreeting, type Greeting, type GreetingReading, readGreeting } from "./greeting.js";
export type { HeartbeatSettings } from "./heartbeat.js";
export { defaultLimits, type Limits } from "./limits.js";
export { type Authenticate, type Credentials, tryLater } from "./mechanisms/handshake.js";
export type {
  Mechanism,
  MechanismContext,
  MechanismStep,
  Seal,
  Security,
} from "./mechanisms/mechanism.js";
export { nullSecurity } from "./mechanisms/null.js";
export type { PlainCredentials } from "./mechanisms/plain.js";
export type {
  ConnectSecurity,
  CurveCredentials,
  ListenSecurity,
  MechanismName,
  SecurityOption,
} from "./mechanisms/security-option.js";
export { decodeMetadata, encodeMetadata, type Metadata } from "./metadata.js";
export type { PeerSocketType, SocketType } from "./socket-types.js";
export { Assembly } from "./sockets/assembly.js";
export type { Clock } from "./sockets/clock.js";
export { Dealer, type DealerOptions } from "./sockets/dealer.js";
export type { Dialing } from "./sockets/dialer.js";
export { acceptOptions, type Binding, listenBacklog } from "./sockets/listener.js";
export type {
  IdentityOption,
  PeerMeter,
  ReceivingHandlers,
  SocketHandlers,
  SocketOptions,
} from "./sockets/options.js";
export type { GoneReason, Peer } from "./sockets/peer.js";
export { Pub, type PubOptions } from "./sockets/pub.js";
export { Pull, type PullOptions } from "./sockets/pull.js";
export { Push } from "./sockets/push.js";
export { Rep, type RepOptions } from "./sockets/rep.js";
export { Req, type ReqOptions } from "./sockets/req.js";
export { Router, type RouterOptions } from "./sockets/router.js";
export { type SendOutcome, Totals } from "./sockets/send-queue.js";
export { Sub, type SubOptions } from "./sockets/sub.js";
export type { ZmtpSocket } from "./sockets/zmtp-socket.js";
export { isStreamed, type OutgoingFrame, type StreamedBody } from "./streamed-body.js";
export { decodeZ85, encodeZ85 } from "./z85.js";
