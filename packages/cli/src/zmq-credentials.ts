// Credentials for ZeroMQ URLs. Secrets are read from files or the environment, never from
// arguments, because other users of the machine see those in the list of processes.

import { readFileSync } from "node:fs";
import { type ConnectSecurity, dialectTable, publicKeyIn, readAddresses, secretKeyIn } from "@yardmaster/sdk";
import { type Command, Option } from "commander";
import { UsageFault } from "./command.js";

export interface CredentialFlags {
  readonly curveServerKey?: string;
  readonly curveKeyFile?: string;
  readonly plainUser?: string;
  readonly plainPasswordFile?: string;
}

/** Adds the options of commands that connect to any door. */
export function withCredentials(command: Command): Command {
  return command
    .addOption(
      new Option(
        "--curve-server-key <key>",
        "ZeroMQ CURVE: the dispatcher's public key, or the file that has it",
      ).env("YARD_CURVE_SERVER_KEY"),
    )
    .addOption(
      new Option(
        "--curve-key-file <file>",
        "ZeroMQ CURVE: the file with your secret key (see curve-keypair)",
      ).env("YARD_CURVE_KEY_FILE"),
    )
    .addOption(new Option("--plain-user <name>", "ZeroMQ PLAIN: the user's name").env("YARD_PLAIN_USER"))
    .addOption(
      new Option(
        "--plain-password-file <file>",
        "ZeroMQ PLAIN: the file with the password (or YARD_PLAIN_PASSWORD)",
      ).env("YARD_PLAIN_PASSWORD_FILE"),
    );
}

/** For a URL of another dialect there are none, so that the environment may have them for all. */
export function credentialsFor(url: string, flags: CredentialFlags): { security?: ConnectSecurity } {
  if (dialectTable[readAddresses(url, dialectTable).scheme]?.isZmq !== true) return {};
  const { curveServerKey, curveKeyFile, plainUser } = flags;
  if (curveServerKey === undefined && curveKeyFile === undefined) return plainCredentials(flags);
  if (plainUser !== undefined) throw new UsageFault("PLAIN or CURVE: a connection shows one of them");
  if (curveServerKey === undefined) throw new UsageFault("--curve-key-file needs --curve-server-key");
  if (curveKeyFile === undefined) throw new UsageFault("--curve-server-key needs --curve-key-file");
  const serverKey = /^\S{40}$/.test(curveServerKey)
    ? keyIn("--curve-server-key", () => publicKeyIn(curveServerKey))
    : keyIn("--curve-server-key", () => publicKeyIn(readText(curveServerKey)));
  return {
    security: {
      curve: { serverKey, secretKey: keyIn("--curve-key-file", () => secretKeyIn(readText(curveKeyFile))) },
    },
  };
}

function plainCredentials({ plainUser, plainPasswordFile }: CredentialFlags): { security?: ConnectSecurity } {
  if (plainUser === undefined) return {};
  const password =
    plainPasswordFile === undefined
      ? process.env.YARD_PLAIN_PASSWORD
      : keyIn("--plain-password-file", () => readText(plainPasswordFile).replace(/\r?\n$/, ""));
  if (password === undefined) {
    throw new UsageFault("--plain-user needs --plain-password-file, or YARD_PLAIN_PASSWORD");
  }
  return { security: { plain: { username: plainUser, password } } };
}

function readText(file: string): string {
  return readFileSync(file, "utf8");
}

function keyIn(option: string, read: () => string): string {
  try {
    return read();
  } catch (cause) {
    throw new UsageFault(`${option}: ${(cause as Error).message}`, { cause });
  }
}
