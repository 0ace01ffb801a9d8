// `yardmaster tap`: prints decoded messages at the doors as they pass.

import type { HttpClient } from "@yardmaster/sdk";
import type { Command } from "commander";
import { size, wholeNumber } from "../amounts.js";
import {
  askYard,
  CommandFault,
  ending,
  newCommand,
  print,
  printJson,
  withYard,
  type YardOptions,
} from "../command.js";
import { cut, paint, printable, widthOf } from "../terminal.js";

interface Flags extends YardOptions {
  readonly door?: string;
  readonly peer?: string;
  readonly type?: string;
  readonly count?: number;
}

/** A message in the form of the wire tap. */
export interface Message {
  readonly at?: string;
  readonly door: string;
  readonly direction: "in" | "out";
  readonly peer: string;
  readonly type: string;
  readonly bytes: number;
  readonly content: unknown;
}

export function tapCommand(): Command {
  const command = newCommand("tap", "print messages on the doors live, decoded", [
    { does: "all doors", line: "yardmaster tap" },
    {
      does: "ten messages of one peer",
      line: "yardmaster tap --door udp --peer 127.0.0.1:40001 --count 10",
    },
    { does: "for programs", line: "yardmaster tap --json | jq .type" },
  ])
    .option("--door <name>", "only messages at this door")
    .option("--peer <text>", "only messages of peers whose name contains this")
    .option("--type <type>", "only messages of this type, as the dialect calls it")
    .option("--count <number>", "stop after this many messages", wholeNumber(1));
  return withYard(command).action(ending(tap));
}

async function tap(flags: Flags): Promise<number> {
  return askYard(flags, async (client) => {
    if (flags.door !== undefined) await findDoor(client, flags.door);
    let number = 0;
    const stop = new AbortController();
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => stop.abort());
    const door = flags.door === undefined ? {} : { door: flags.door };
    for await (const { type, data } of client.wire({ ...door, signal: stop.signal })) {
      if (!isMessage(data)) {
        // Events other than messages, for instance the number of skipped messages.
        if (flags.json) printJson({ event: type, data });
        else print(paint("gray", cut(`${type}: ${printable(JSON.stringify(data))}`, widthOf())));
        continue;
      }
      if (!isWanted(data, flags)) continue;
      if (flags.json) printJson(data);
      else print(messageLine(data, widthOf()));
      number += 1;
      if (number === flags.count) break;
    }
    return 0;
  });
}

/** Throws CommandFault if there is no such open door: its messages would be awaited for ever. */
async function findDoor(client: HttpClient, name: string): Promise<void> {
  const open = Object.keys(await client.doors());
  if (open.includes(name)) return;
  throw new CommandFault(`there is no open door ${name}; open are: ${open.join(", ")}`);
}

export function isMessage(data: unknown): data is Message {
  const { door, type, direction } = (data ?? {}) as Partial<Message>;
  return typeof door === "string" && typeof type === "string" && typeof direction === "string";
}

function isWanted({ door, peer, type }: Message, flags: Flags): boolean {
  return (
    (flags.door === undefined || door === flags.door) &&
    (flags.peer === undefined || peer.includes(flags.peer)) &&
    (flags.type === undefined || type === flags.type)
  );
}

export function messageLine(
  { at, door, direction, peer, type, bytes, content }: Message,
  width: number,
): string {
  const time = (at === undefined ? new Date() : new Date(at)).toISOString().slice(11, 23);
  // It points from the sender to the receiver.
  const arrow = direction === "in" ? "←" : "→";
  const shown = content === undefined || content === null ? "" : JSON.stringify(content);
  const line = `${time} ${door} ${arrow} ${peer} ${type} ${size(bytes)} ${shown}`;
  const short = cut(printable(line), width);
  // Coloured after cutting, so that no colour code is cut off.
  return short.replace(`${arrow} `, `${paint(direction === "in" ? "cyan" : "green", arrow)} `);
}
