// What the ZeroMQ doors have in common: the mechanisms by which peers authenticate.

import { anonymousPrincipal } from "../access/settings.js";
import { choice, listOf, settings, words } from "../config/values.js";
import type { DoorCredentials, SettingMistake, YardTraits } from "./door-declaration.js";
import { networkSettings } from "./network-settings.js";

export const zmqSettings = {
  ...networkSettings,
  security: settings({
    mechanisms: listOf(choice(["CURVE", "PLAIN", "NULL"]), "a list of CURVE, PLAIN and NULL").describe(
      "The security mechanisms that peers may use. `NULL` lets in peers without credentials, as the principal in `anonymous`.",
    ),
    serverKeyFile: words("a file")
      .optional()
      .describe("The file with the dispatcher's secret CURVE key, as `yardmaster curve-keypair` writes it."),
  }).optional(),
  anonymous: anonymousPrincipal(),
};

interface ZmqConfig {
  readonly anonymous?: string | undefined;
  readonly security?:
    | { readonly mechanisms: readonly string[]; readonly serverKeyFile?: string | undefined }
    | undefined;
}

export const zmqCredentials: DoorCredentials<ZmqConfig> = {
  areAsked: ({ anonymous, security }, hasAccess) =>
    hasAccess && (anonymous === undefined || security?.mechanisms.includes("NULL") === false),
  line: "security: { mechanisms: [CURVE], serverKeyFile: server.key_secret }   # and curveKeys of principals under access:",
};

export function zmqMistakes({ security }: ZmqConfig, { hasAccess }: YardTraits): readonly SettingMistake[] {
  if (security === undefined) return [];
  const { mechanisms, serverKeyFile } = security;
  const mistakes: SettingMistake[] = [];
  if (mechanisms.length === 0 || new Set(mechanisms).size < mechanisms.length)
    mistakes.push({
      key: "security",
      text: "mechanisms: name at least one of CURVE, PLAIN and NULL, each once",
    });
  if (mechanisms.includes("CURVE") && serverKeyFile === undefined)
    mistakes.push({
      key: "security",
      text: "CURVE needs serverKeyFile; yardmaster curve-keypair --out server writes one",
    });
  if (!hasAccess && mechanisms.some((name) => name !== "NULL"))
    mistakes.push({
      key: "security",
      text: "no peer could come in: principals with passwords or curveKeys belong under access:",
    });
  return mistakes;
}
