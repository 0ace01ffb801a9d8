// The monique door's sockets without a network. PULL and PUSH use the part of a ROUTER that the
// door needs. A PUB sends to its subscribers and skips those that are behind.

import type { DoorPub, MoniqueSockets } from "@yardmaster/server";
import type { Peer, PubOptions } from "@yardmaster/zmtp";
import { type RouterSurroundings, type SimulatedPeer, SimulatedRouter } from "./router.js";
import type { Endpoint, Streams } from "./streams.js";
import type { Process } from "./world.js";

/** The door's endpoints, by port. */
export const moniquePorts = { in: 1, out: 2, techIn: 3, techOut: 4, controller: 5 } as const;

export interface SocketHabits {
  readonly onMissed: (line: number) => void;
  /** All peers share one host, so that nothing shows which connections belong together. */
  readonly sharesHost: boolean;
}

export function simulatedSockets(
  streams: Streams,
  process: Process,
  { onMissed, sharesHost }: SocketHabits,
): MoniqueSockets {
  const around = () => ({
    ...streams.around(process, endpointName),
    ...(sharesHost && { hostOf: () => "one-host" }),
  });
  return {
    pull: (options) => new SimulatedRouter(options, process, around()),
    push: (options) => new SimulatedRouter(options, process, around()),
    pub: (options) => new SimulatedPub(options, process, around(), onMissed),
  };
}

function endpointName(endpoint: string): Endpoint {
  const port = Number(endpoint.slice(endpoint.lastIndexOf(":") + 1));
  return Object.entries(moniquePorts).find(([, number]) => number === port)?.[0] ?? endpoint;
}

class SimulatedPub extends SimulatedRouter implements DoorPub {
  readonly #prefixes: Map<SimulatedPeer, string[]>;
  readonly #onMissed: (line: number) => void;

  constructor(
    options: PubOptions,
    process: Process,
    around: RouterSurroundings,
    onMissed: (line: number) => void,
  ) {
    const prefixes = new Map<SimulatedPeer, string[]>();
    super(
      {
        ...options,
        // A subscription as a ZMTP 3.0 peer sends it: a 1, then the prefix.
        onMessage: (peer, [frame]) => {
          const known = prefixes.get(peer as SimulatedPeer) ?? [];
          prefixes.set(peer as SimulatedPeer, [...known, frame?.subarray(1).toString("latin1") ?? ""]);
        },
        onPeerGone: (peer, reason) => {
          prefixes.delete(peer as SimulatedPeer);
          options.onPeerGone?.(peer, reason);
        },
      },
      process,
      around,
    );
    this.#prefixes = prefixes;
    this.#onMissed = onMissed;
  }

  send(frames: readonly Uint8Array[], chosen: (peer: Peer) => boolean = () => true): number {
    const tag = Buffer.from(frames[0] ?? []).toString("latin1");
    let reached = 0;
    for (const [peer, prefixes] of this.#prefixes) {
      if (!prefixes.some((prefix) => tag.startsWith(prefix)) || !chosen(peer)) continue;
      const sent = this.sendTo(peer, frames);
      if (sent === "full") this.#onMissed(peer.line.id);
      else if (sent !== "gone") reached += 1;
    }
    return reached;
  }
}
