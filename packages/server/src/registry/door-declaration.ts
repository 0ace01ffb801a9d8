// What a door declares about itself. The configuration, its reference, the start, the doctor and
// the tests read it, so that a new door is one file and one line in doors.ts.

import type { Assembly } from "@yardmaster/zmtp";
import type * as z from "zod";
import type { Access } from "../access/access.js";
import type { Door, Port } from "../door-kit/door.js";
import type { Faults, LogFault } from "../door-kit/faults.js";
import type { Tap } from "../door-kit/tap.js";
import type { HttpDoorOptions } from "../doors/http.js";
import type { ListenAddress } from "../listen-address.js";
import type { Room } from "../memory-watch.js";

export interface DoorDeclaration<
  Name extends string = string,
  Settings extends z.ZodObject = z.ZodObject<z.ZodRawShape, z.core.$strict>,
> {
  /** The key under `doors` in the configuration, and the name of the port. */
  readonly name: Name;
  /** The page that describes the dialect, below docs/. */
  readonly page: string;
  /** Each setting carries its text for the configuration reference (`describe`). */
  readonly settings: Settings;
  /** Ports and folders that the door needs from the machine, for the doctor. */
  places(config: z.output<Settings>): readonly DoorPlace[];
  /** How the door asks for credentials; absent if its dialect has none. */
  readonly credentials?: DoorCredentials<z.output<Settings>>;
  /** Settings that are each correct but must not be combined. */
  mistakes?(config: z.output<Settings>, yard: YardTraits): readonly SettingMistake[];
  make(config: z.output<Settings>, parts: DoorParts): DeclaredDoor;
}

/** What a door's settings may depend on. */
export interface YardTraits {
  /** The configuration has `access:`, so a peer without a credential may do nothing by default. */
  readonly hasAccess: boolean;
}

/** The settings of a door that is not known by its name. */
export type AnyDoorConfig = Record<string, unknown>;

export interface DoorCredentials<Config> {
  /** `hasAccess`: the configuration has principals. */
  areAsked(config: Config, hasAccess: boolean): boolean;
  /** The line that makes the door ask for them. */
  readonly line: string;
}

/** A door whose faults are counted in the metrics. */
export interface DeclaredDoor extends Door {
  readonly faults: Faults;
  /** Where its data gathers, besides messages of ZeroMQ. */
  readonly rooms?: readonly Room[];
}

export interface SettingMistake {
  readonly key: string;
  readonly text: string;
}

/** A port or folder, with the key of the setting that names it. */
export type DoorPlace =
  | ({ readonly kind: "tcp" | "udp"; readonly key: string } & ListenAddress)
  | { readonly kind: "folder"; readonly key: string; readonly dir: string };

/** What the yard gives to each door. A door takes what it needs. */
export interface DoorParts {
  readonly port: Port;
  /** Who may come in at this door, and what they may do. */
  readonly access: Access;
  readonly log: LogFault;
  readonly tap: Tap;
  readonly payloadBytesMax: number;
  readonly peersMax: number;
  /** Room for partly received messages of all ZeroMQ doors. */
  readonly assembly: Assembly;
  /** Queues that always exist: those with settings, and those of doors. */
  readonly queues: readonly string[];
  /** The yard's data folder. */
  readonly data: string;
  /** False if the engine is not durable. */
  readonly isRemembered: boolean;
  /** What only the door of the API needs. */
  readonly api: Pick<HttpDoorOptions, "facts" | "fileSettings" | "log" | "traces">;
}

/** The places of settings that are tcp addresses. */
export function tcpPlaces(addresses: Readonly<Record<string, ListenAddress>>): DoorPlace[] {
  return Object.entries(addresses).map(([key, address]) => ({ kind: "tcp", key, ...address }));
}
