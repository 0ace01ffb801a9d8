// What all doors with ports have in common: which addresses may connect, and whether a door may be
// open to everyone.

import { listOf, network, yesOrNo } from "../config/values.js";
import { isLoopback, showListenAddress } from "../listen-address.js";
import type { DoorDeclaration, SettingMistake } from "./door-declaration.js";

export const networkSettings = {
  peers: listOf(network(), "a list of addresses and networks, such as [10.0.0.0/8]")
    .optional()
    .describe("Addresses and networks that may connect; all others are refused. Default: every address."),
  insecure: yesOrNo()
    .optional()
    .describe(
      "`true` lets the door listen beyond loopback without credentials and without `peers`. Default: `false`.",
    ),
};

/**
 * Beyond loopback, every program that reaches a door could submit tasks and take work. That needs
 * credentials, a list of peers, or an explicit `insecure: true`.
 */
export function exposureOf(
  { name, places, credentials }: DoorDeclaration,
  config: Readonly<Record<string, unknown>>,
  hasAccess: boolean,
): readonly SettingMistake[] {
  const open = places(config).find((place) => place.kind !== "folder" && !isLoopback(place.host));
  if (open === undefined || open.kind === "folder") return [];
  const { peers, insecure } = config;
  if (insecure === true || peers !== undefined || credentials?.areAsked(config, hasAccess) === true)
    return [];
  const { key, kind } = open;
  const lines = [
    credentials?.line ??
      `${key}: ${kind === "udp" ? "{ host: 127.0.0.1 }" : '"127.0.0.1:…"'}   # this machine only`,
    'peers: ["10.0.0.0/8"]   # only these addresses and networks',
    "insecure: true   # everyone who can reach it",
  ];
  const text = `${showListenAddress(open)} is beyond loopback, where every program could submit and take tasks. Add one of these lines to doors.${name}:`;
  return [{ key: key.split(".")[0] ?? key, text: [text, ...lines].join("\n    ") }];
}
