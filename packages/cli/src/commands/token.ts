// `yardmaster token new`: makes a bearer token for a principal. The token is printed once; the
// configuration gets its digest.

import { createHash, randomBytes } from "node:crypto";
import type { Command } from "commander";
import { ending, type JsonOption, newCommand, print, printJson, UsageFault, withJson } from "../command.js";

/** As long as the digest. A longer token would not be harder to guess. */
const tokenBytes = 32;

/** Makes a token easy to recognise, for people and for programs that look for leaked secrets. */
const tokenPrefix = "yard_";

const principalPattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

export function tokenCommand(): Command {
  const command = newCommand("token", "make a token for a principal", [
    { does: "a token for the build machine", line: "yardmaster token new ci" },
    { does: "for a program that edits the config", line: "yardmaster token new ci --json" },
  ])
    .description(
      `Makes a token for the http door and prints it once, with the lines for the
config. The config holds the token's SHA-256 only, so a lost token cannot be
shown again: make a new one. SIGHUP makes a running dispatcher read the config
again.`,
    )
    .argument("<new>", "new: make a token")
    .argument("<name>", "the principal's name");
  return withJson(command, "print one JSON object").action(
    ending(async (verb: string, name: string, flags: JsonOption) => make(verb, name, flags)),
  );
}

function make(verb: string, name: string, { json }: JsonOption): number {
  if (verb !== "new")
    throw new UsageFault(`${JSON.stringify(verb)} is not known; expected: yardmaster token new NAME`);
  if (!principalPattern.test(name))
    throw new UsageFault("a principal's name is 1 to 64 of A-Z a-z 0-9 . _ -, the first a letter or digit");
  const token = tokenPrefix + randomBytes(tokenBytes).toString("base64url");
  const sha256 = createHash("sha256").update(token).digest("hex");
  if (json) printJson({ principal: name, token, sha256 });
  else print(linesFor(name, token, sha256));
  return 0;
}

function linesFor(name: string, token: string, sha256: string): string {
  return `${token}

This is the only time that the token is shown. In the config:

access:
  principals:
    ${name}:
      tokens: [{ sha256: ${sha256} }]
      rights: { submit: ["*"], read: ["*"] }   # also: work, operate, watch`;
}
