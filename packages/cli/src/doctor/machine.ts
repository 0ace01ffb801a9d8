// Checks the machine: Node, free disk space, open files, datagram buffers, the clock.

import { spawnSync } from "node:child_process";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { accessSync, constants, existsSync, readFileSync, statfsSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { size } from "../amounts.js";
import { better, type Finding, good, wrong } from "./finding.js";

export async function* checkMachine(data: string): AsyncGenerator<Finding> {
  yield checkNode();
  yield* checkFolder(data);
  yield checkOpenFiles();
  yield await checkUdpBuffers();
  yield checkClock();
}

const nodeMin = [20, 19] as const;

function checkNode(): Finding {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  const isOld = major < nodeMin[0] || (major === nodeMin[0] && minor < nodeMin[1]);
  const says = `${process.versions.node} on ${process.platform} ${process.arch}`;
  return isOld ? wrong("node", says, `Install Node ${nodeMin.join(".")} or later.`) : good("node", says);
}

/** Enough for some days of a small yard. The actual need depends on its tasks. */
const freeBytesMin = 1024 ** 3;

function* checkFolder(data: string): Generator<Finding> {
  let folder = resolve(data);
  while (!existsSync(folder) && folder !== dirname(folder)) folder = dirname(folder);
  const isThere = folder === resolve(data);
  if (isThere && !statSync(folder).isDirectory()) {
    yield wrong(
      "folder",
      `${data} is not a folder`,
      "Choose another with --data, or data: in the configuration.",
    );
    return;
  }
  try {
    accessSync(folder, constants.W_OK);
  } catch {
    yield wrong(
      "folder",
      `${folder} cannot be written`,
      "Make it writable for this user, or choose another with --data.",
    );
    return;
  }
  const { bavail, bsize } = statfsSync(folder);
  const free = bavail * bsize;
  const says = `${data} ${isThere ? "can be written" : "can be made"}, ${size(free)} free`;
  yield free < freeBytesMin
    ? better("folder", says, "Make room: accepted tasks must be stored.")
    : good("folder", says);
}

/** A connection takes a descriptor, so a thousand workers and their clients need a few thousand. */
const openFilesMin = 4_096;

function checkOpenFiles(): Finding {
  const limit = openFilesLimit();
  if (limit === undefined) return better("open files", "the limit is not known", "Look at: ulimit -n.");
  const says = limit === Number.POSITIVE_INFINITY ? "no limit" : `at most ${limit}`;
  if (limit >= openFilesMin) return good("open files", says);
  return better(
    "open files",
    says,
    "Each peer takes one: ulimit -n 65536, or LimitNOFILE=65536 in the systemd unit.",
  );
}

function openFilesLimit(): number | undefined {
  try {
    const [, soft] = /^Max open files\s+(\S+)/m.exec(readFileSync("/proc/self/limits", "utf8")) ?? [];
    return soft === "unlimited" ? Number.POSITIVE_INFINITY : Number(soft);
  } catch {
    const { stdout, status } = spawnSync("sh", ["-c", "ulimit -n"], { encoding: "utf8" });
    if (status !== 0) return undefined;
    return stdout.trim() === "unlimited" ? Number.POSITIVE_INFINITY : Number(stdout);
  }
}

/** Room for some thousand datagrams that arrive while the dispatcher is busy. */
const udpBufferWanted = 1024 ** 2;

async function checkUdpBuffers(): Promise<Finding> {
  const socket = createSocket("udp4");
  try {
    socket.bind(0, "127.0.0.1");
    await once(socket, "listening");
    socket.setRecvBufferSize(udpBufferWanted);
    const got = socket.getRecvBufferSize();
    if (got >= udpBufferWanted) return good("udp buffers", `${size(got)} to receive`);
    const advice = `Datagrams are lost in a burst: sysctl -w net.core.rmem_max=${4 * udpBufferWanted}`;
    return better("udp buffers", `only ${size(got)} to receive`, advice);
  } catch (fault) {
    return better("udp buffers", (fault as Error).message, "The udp door cannot be opened like this.");
  } finally {
    socket.close();
  }
}

/** This code is newer than that, so an earlier clock is wrong. */
const notBefore = Date.parse("2025-01-01T00:00:00Z");

function checkClock(): Finding {
  const now = new Date();
  const says = now.toISOString();
  if (now.getTime() < notBefore) {
    return wrong(
      "clock",
      says,
      "It is in the past. Set it, because expiry and retention use it (timedatectl set-ntp true).",
    );
  }
  const { stdout, status } = spawnSync("timedatectl", ["show", "--property=NTPSynchronized", "--value"], {
    encoding: "utf8",
    timeout: 2_000,
  });
  if (status === 0 && stdout.trim() === "no") {
    return better("clock", `${says}, not synchronised`, "Have NTP set it: timedatectl set-ntp true.");
  }
  return good("clock", says);
}
