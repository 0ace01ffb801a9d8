// The principals of the access matrix, and what each may do. Each door's part of the matrix uses
// them with its own kind of credential.

import { createHash } from "node:crypto";

export type Action = "submit" | "work" | "read" | "operate" | "watch";
export const actions: readonly Action[] = ["submit", "work", "read", "operate", "watch"];

/** The actions that each principal may do, in queues `build-*` only, unless it is `boss`. */
export const allowed: Readonly<Record<string, readonly Action[]>> = {
  boss: actions,
  client: ["submit", "read"],
  worker: ["work"],
  operator: ["read", "operate"],
  watcher: ["watch"],
  idle: [],
};

export function tokenOf(principal: string): string {
  return `${principal}-token-0123456789abcdef`;
}

export function sha256(secret: string): string {
  return createHash("sha256").update(secret).digest("hex");
}

/** `access.principals` for the configuration, with a token each and what else a door needs. */
export function principalSettings(
  more: Readonly<Record<string, object>> = {},
): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(allowed).map(([name, may]) => {
      const queues = name === "boss" ? ["*"] : ["build-*"];
      const rights = Object.fromEntries(may.map((action) => [action, queues]));
      return [name, { tokens: [{ sha256: sha256(tokenOf(name)) }], rights, ...more[name] }];
    }),
  );
}
