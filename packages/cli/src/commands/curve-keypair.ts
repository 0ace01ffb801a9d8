// `yardmaster curve-keypair`: makes a key pair for ZeroMQ's CURVE, printed or in two files.

import { writeFileSync } from "node:fs";
import { curveCertificate, curveKeyPair } from "@yardmaster/sdk";
import type { Command } from "commander";
import { CommandFault, ending, type JsonOption, newCommand, print, printJson, withJson } from "../command.js";

interface Flags extends JsonOption {
  readonly out?: string;
}

/** Only the owner may read a secret key. */
const secretMode = 0o600;
const publicMode = 0o644;

export function curveKeypairCommand(): Command {
  const command = newCommand("curve-keypair", "make a key pair for ZeroMQ's CURVE", [
    {
      does: "for the dispatcher: server.key and server.key_secret",
      line: "yardmaster curve-keypair --out server",
    },
    { does: "print a pair", line: "yardmaster curve-keypair" },
  ])
    .description(
      `Makes a key pair for ZeroMQ's CURVE. The dispatcher needs one, and each client
and worker one of its own. Without --out, both keys are printed. With it, NAME.key
has the public key, and NAME.key_secret has both and can be read by its owner
only. Files that are there are not replaced. pyzmq reads the same files with
zmq.auth.load_certificate.`,
    )
    .option("-o, --out <name>", "write NAME.key and NAME.key_secret");
  return withJson(command, "print one JSON object").action(ending(async (flags: Flags) => make(flags)));
}

function make({ out, json }: Flags): number {
  const pair = curveKeyPair();
  const { publicKey } = pair;
  if (out === undefined) {
    if (json) printJson(pair);
    else print(`public-key  ${publicKey}\nsecret-key  ${pair.secretKey}`);
    return 0;
  }
  const [publicFile, secretFile] = [`${out}.key`, `${out}.key_secret`];
  writeNew(secretFile, curveCertificate(pair), secretMode);
  writeNew(publicFile, curveCertificate({ publicKey }), publicMode);
  if (json) printJson({ publicKey, publicFile, secretFile });
  else print(`public-key  ${publicKey}\npublic key in ${publicFile}, both in ${secretFile} (keep it secret)`);
  return 0;
}

function writeNew(file: string, text: string, mode: number): void {
  try {
    writeFileSync(file, text, { mode, flag: "wx" });
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    throw new CommandFault(code === "EEXIST" ? `${file} is there already; it is not replaced` : message, {
      cause,
    });
  }
}
