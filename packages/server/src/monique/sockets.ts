// The part of its sockets that the monique door uses. The simulator implements it without a
// network.

import { Pub, type PubOptions, Pull, type PullOptions, Push, type SocketOptions } from "@yardmaster/zmtp";

type Revoking = Partial<Pick<Pull, "revoke">>;

export type DoorPull = Pick<Pull, "bind" | "close" | "pause" | "resume"> & Revoking;
export type DoorPub = Pick<Pub, "bind" | "close" | "send" | "flush"> & Revoking;
export type DoorPush = Pick<Push, "bind" | "close" | "sendTo" | "disconnect" | "flush"> & Revoking;

export interface MoniqueSockets {
  pull(options: PullOptions): DoorPull;
  pub(options: PubOptions): DoorPub;
  push(options: SocketOptions): DoorPush;
}

export const realMoniqueSockets: MoniqueSockets = {
  pull: (options) => new Pull(options),
  pub: (options) => new Pub(options),
  push: (options) => new Push(options),
};
