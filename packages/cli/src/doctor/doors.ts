// Checks whether each configured door could be opened.

import { createSocket } from "node:dgram";
import { once } from "node:events";
import { accessSync, constants, existsSync } from "node:fs";
import { createServer } from "node:net";
import { dirname, resolve } from "node:path";
import type { DoorPlace } from "@yardmaster/server";
import type { RunningDispatcher } from "./dispatcher.js";
import { better, type Finding, good, wrong } from "./finding.js";

/** Checks what each open door needs: ports that are free or its own, folders it can write. */
export async function* checkDoors(
  places: Iterable<readonly [door: string, place: DoorPlace]>,
  running: RunningDispatcher | undefined,
): AsyncGenerator<Finding> {
  for (const [door, place] of places) {
    yield place.kind === "folder" ? checkFolder(door, place) : await checkPort(door, place, running);
  }
}

type PortPlace = Exclude<DoorPlace, { kind: "folder" }>;
type FolderPlace = Extract<DoorPlace, { kind: "folder" }>;

async function checkPort(
  door: string,
  { kind, key, host, port }: PortPlace,
  running: RunningDispatcher | undefined,
): Promise<Finding> {
  const check = `door ${door}`;
  const where = `${host.includes(":") ? `[${host}]` : host}:${port}`;
  if (port === 0) return good(check, `${key}: any free port`);
  if (running && Object.values(running.doors[door] ?? {}).includes(where)) {
    return good(check, `${key}: the running dispatcher has ${where}`);
  }
  const fault = await (kind === "udp" ? tryUdp(host, port) : tryTcp(host, port));
  if (!fault) return good(check, `${key}: ${where} is free`);
  const advice = adviceFor.get(fault.code ?? "") ?? `Choose another address: doors.${door}.${key}.`;
  return wrong(
    check,
    `${key}: ${where}: ${words.get(fault.code ?? "") ?? fault.message}`,
    advice.replace("KEY", `doors.${door}.${key}`),
  );
}

const words: ReadonlyMap<string, string> = new Map(
  Object.entries({
    EADDRINUSE: "another program listens there",
    EACCES: "this user may not open it",
    EADDRNOTAVAIL: "this machine has no such address",
    ENOTFOUND: "there is no host of that name",
  }),
);

const adviceFor: ReadonlyMap<string, string> = new Map(
  Object.entries({
    EADDRINUSE: "Stop that program (ss -lntup shows it), or choose another port: KEY.",
    EACCES: "Choose a port of 1024 or more: KEY.",
    EADDRNOTAVAIL: "Choose an address of this machine: KEY.",
  }),
);

type Fault = NodeJS.ErrnoException;

async function tryTcp(host: string, port: number): Promise<Fault | undefined> {
  const server = createServer();
  try {
    const listening = once(server, "listening");
    server.listen(port, host);
    await listening;
    return undefined;
  } catch (fault) {
    return fault as Fault;
  } finally {
    server.close();
  }
}

async function tryUdp(host: string, port: number): Promise<Fault | undefined> {
  const socket = createSocket(host.includes(":") ? "udp6" : "udp4");
  try {
    const listening = once(socket, "listening");
    socket.bind(port, host);
    await listening;
    return undefined;
  } catch (fault) {
    return fault as Fault;
  } finally {
    socket.close();
  }
}

/** The folder for sockets. If it is not writable, one in the data folder is used instead. */
function checkFolder(door: string, { key, dir }: FolderPlace): Finding {
  const check = `door ${door}`;
  let folder = resolve(dir);
  while (!existsSync(folder) && folder !== dirname(folder)) folder = dirname(folder);
  try {
    accessSync(folder, constants.W_OK);
    return good(check, `${dir} can be written`);
  } catch {
    const advice = `Make it writable for this user, or choose another: doors.${door}.${key}. Until then a folder in the data folder is used, which workers of other users cannot reach.`;
    return better(check, `${dir} cannot be written`, advice);
  }
}
