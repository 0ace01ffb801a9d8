// The list of doors, in the order in which they open and are shown. A new door is one more entry.

import type * as z from "zod";
import type { DoorDeclaration } from "./door-declaration.js";
import { httpDeclaration } from "./http.js";
import { moniqueDeclaration } from "./monique.js";
import { pingpongDeclaration } from "./pingpong.js";
import { pulseDeclaration } from "./pulse.js";
import { scalerDeclaration } from "./scaler.js";
import { udpDeclaration } from "./udp.js";

const declared = [
  httpDeclaration,
  pingpongDeclaration,
  pulseDeclaration,
  udpDeclaration,
  moniqueDeclaration,
  scalerDeclaration,
] as const;

export const doorList: readonly DoorDeclaration[] = declared;

/** `doors` of a configuration in which none is open. A program that wants some adds those. */
export const closedDoors: Readonly<Record<string, false>> = Object.fromEntries(
  declared.map(({ name }) => [name, false as const]),
);

type Declared = (typeof declared)[number];
export type DoorName = Declared["name"];
export type DoorConfig<Name extends DoorName> = z.output<Extract<Declared, { name: Name }>["settings"]>;
