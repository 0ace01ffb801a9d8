// What the ZeroMQ doors are made of, and the options that all sockets of one door share.

import {
  type Assembly,
  acceptOptions,
  type Limits,
  listenBacklog,
  type SocketOptions,
} from "@yardmaster/zmtp";
import type { Access } from "../access/access.js";
import { AcceptHandles } from "./accept-handles.js";
import type { Port } from "./door.js";
import type { Faults, LogFault } from "./faults.js";
import { admitting } from "./peer-filter.js";
import type { Tap } from "./tap.js";
import { assemblyBytesOf } from "./zmq.js";
import type { ZmqGuard } from "./zmq-guard.js";

export interface ZmqDoorOptions<Config> {
  readonly port: Port;
  readonly config: Config;
  readonly payloadBytesMax: number;
  readonly peersMax: number;
  /** Room for partly received messages, shared with the other ZeroMQ doors. */
  readonly assembly?: Assembly;
  readonly log: LogFault;
  readonly tap: Tap;
  /** Absent: every peer may do everything. */
  readonly access?: Access;
}

export interface SocketParts {
  readonly guard: ZmqGuard;
  readonly faults: Faults;
  /** The largest payload of the door. */
  readonly largestBytes: number;
  readonly limits: Partial<Omit<Limits, "peersMax" | "assemblyBytesMax">>;
}

export function socketOptions(
  { config, peersMax, assembly }: ZmqDoorOptions<{ readonly peers?: readonly string[] | undefined }>,
  { guard, faults, largestBytes, limits }: SocketParts,
): SocketOptions {
  return {
    ...guard.options,
    ...admitting(config.peers),
    onListening: (server) => new AcceptHandles(server, { streams: acceptOptions, backlog: listenBacklog }),
    limits: { ...limits, peersMax, assemblyBytesMax: assemblyBytesOf(assembly, largestBytes) },
    ...(assembly && { assembly }),
    onFault: (peer, kind) => faults.add(kind, peer?.address ?? "unknown"),
  };
}
