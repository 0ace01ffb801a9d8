// The sockets of the monique door, as much of each as it uses; the simulator has others, without a network.

import { Pub, type PubOptions, Pull, type PullOptions, Push, type SocketOptions } from "@yardmaster/zmtp";

export type DoorPull = Pick<Pull, "bind" | "close" | "pause" | "resume">;
export type DoorPub = Pick<Pub, "bind" | "close" | "send" | "flush">;
export type DoorPush = Pick<Push, "bind" | "close" | "sendTo" | "disconnect" | "flush">;

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
