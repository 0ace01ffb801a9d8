// The file: its trees, how it is opened, and which version of their layout it has.

import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { open, type RootDatabase } from "lmdb";
import { recordKinds } from "../records/index.js";
import { bodyOfKey, numberOfKey, taskOfTaskKey, tasksOfBundle } from "./keys.js";
import { privateFileMode } from "./private-modes.js";
import { Tree } from "./tree.js";

/** What the file is called in the yard's folder. */
export const storeFileName = "yard.mdb";

/** How large the store in a folder is; 0 where there is none. */
export function storeBytesIn(folder: string): number {
  return statSync(join(folder, storeFileName), { throwIfNoEntry: false })?.size ?? 0;
}

/**
 * How much the file may grow to: addresses that are set aside, not memory. LMDB can grow this by itself, but not while
 * anybody reads.
 */
const mapBytes = 2 ** 40;

/** Half of the addresses that this process may have, where somebody limited them: LMDB does not survive to be refused. */
function mapBytesAllowed(): number {
  const limit = ownLimit("Max address space");
  return limit === undefined ? mapBytes : Math.min(mapBytes, Math.floor(limit / 2 / pageBytes) * pageBytes);
}

/** A limit that the system has set this process, where it says so and there is one. */
export function ownLimit(name: string): number | undefined {
  try {
    const limits = readFileSync("/proc/self/limits", "utf8");
    const line = limits.split("\n").find((each) => each.startsWith(name)) ?? "";
    const [limit] = /^\d+/.exec(line.slice(name.length).trim()) ?? [];
    return limit === undefined ? undefined : Number(limit);
  } catch {
    return undefined;
  }
}

const pageBytes = 65_536;

export interface StoreFileOptions {
  readonly path: string;
  /** `memory`: a commit is not forced to the disk; it survives the process, not the machine. */
  readonly durability: "fsync" | "memory";
  readonly readOnly?: boolean;
}

export interface StoreFile {
  readonly root: RootDatabase<Buffer, Buffer>;
  /** What the store knows of itself: owner, marks, schema. */
  readonly state: Tree;
  readonly heads: Tree;
  readonly progress: Tree;
  /** Both records of tasks that came and settled together. */
  readonly bundles: Tree;
  readonly bodies: Tree;
  /** Bodies that no committed record refers to yet. */
  readonly looseBodies: Tree;
  readonly keys: Tree;
  readonly queues: Tree;
  readonly doors: Tree;
  readonly memos: Tree;
  /** Tasks by their idempotency key. */
  readonly taskKeys: Tree;
  readonly segments: Tree;
  /** Segments that were let go of and whose tasks still lie in the file. */
  readonly trimmed: Tree;
  /** Which tasks of each block there are, and when they were submitted. */
  readonly blocks: Tree;
  /** Which tasks of a block have a term. */
  readonly terms: Tree;
}

/** What LMDB knows them by. */
const treeNames: Record<Exclude<keyof StoreFile, "root">, string> = {
  state: "state",
  heads: "heads",
  progress: "progress",
  bundles: "bundles",
  bodies: "bodies",
  looseBodies: "loose-bodies",
  keys: "keys",
  queues: "queues",
  doors: "doors",
  memos: "memos",
  taskKeys: "task-keys",
  segments: "segments",
  trimmed: "trimmed",
  blocks: "blocks",
  terms: "terms",
};

export const storeTreeNames: readonly string[] = Object.values(treeNames);

/**
 * Makes an empty store where there is none. Under another name first: a power cut while LMDB writes a file's first pages
 * leaves something that it cannot open, and that must not be the store.
 */
export async function makeStoreFile(path: string): Promise<void> {
  if (existsSync(path)) return;
  const draft = `${path}.new`;
  for (const left of [draft, `${draft}-lock`]) rmSync(left, { force: true });
  await openStoreFile({ path: draft, durability: "fsync" }).root.close();
  syncFile(draft);
  renameSync(draft, path);
  rmSync(`${draft}-lock`, { force: true });
  syncFile(dirname(path));
}

function syncFile(path: string): void {
  const file = openSync(path, "r");
  fsyncSync(file);
  closeSync(file);
}

export function openStoreFile({ path, durability, readOnly = false }: StoreFileOptions): StoreFile {
  const root = open<Buffer, Buffer>({
    path,
    mapSize: mapBytesAllowed(),
    noSubdir: true,
    maxDbs: 16,
    encoding: "binary",
    keyEncoding: "binary",
    // Off, so that a commit is on the disk, data and then root, before it is visible: see docs/decisions/0008.
    overlappingSync: false,
    noSync: durability === "memory",
    // What was freed memory must not end up in a file.
    noMemInit: false,
    readOnly,
    // lmdb takes this and does not declare it.
    ...({ permissionsMode: privateFileMode } as object),
  });
  const tree = (name: keyof typeof treeNames, kind: Tree["kind"], nameOf: (key: Buffer) => string) => {
    const database = root.openDB<Buffer, Buffer>({
      name: treeNames[name],
      encoding: "binary",
      keyEncoding: "binary",
    });
    return new Tree({ database, kind, nameOf });
  };
  const text = (key: Buffer) => key.toString().replaceAll("\0", " ").trim();
  return {
    root,
    state: tree("state", recordKinds.bytes, (key) => `the store's own record "${text(key)}"`),
    heads: tree("heads", recordKinds.head, (key) => `the head of task ${numberOfKey(key)}`),
    progress: tree("progress", recordKinds.progress, (key) => `the progress of task ${numberOfKey(key)}`),
    bundles: tree("bundles", recordKinds.bytes, (key) => nameOfBundle(key)),
    bodies: tree("bodies", recordKinds.bytes, (key) => nameOfBody(key)),
    looseBodies: tree("looseBodies", recordKinds.bytes, (key) => `the note of ${nameOfBody(key)}`),
    keys: tree("keys", recordKinds.key, (key) => `the idempotency key "${text(key)}"`),
    queues: tree("queues", recordKinds.queue, (key) => `the record of queue ${text(key)}`),
    doors: tree("doors", recordKinds.door, (key) => `the record of door ${text(key)}`),
    memos: tree("memos", recordKinds.bytes, (key) => `the memo "${text(key.subarray(0, -5))}"`),
    taskKeys: tree("taskKeys", recordKinds.bytes, (key) => `the key of task ${taskOfTaskKey(key)}`),
    segments: tree("segments", recordKinds.segment, (key) => `segment ${numberOfKey(key)} of history`),
    trimmed: tree("trimmed", recordKinds.segment, () => "a trimmed segment of history"),
    blocks: tree("blocks", recordKinds.bytes, (key) => `block ${numberOfKey(key)} of the index`),
    terms: tree("terms", recordKinds.bytes, (key) => `"${text(key.subarray(6))}" in the index`),
  };
}

/** Every tree, with its name. */
export function treesOf(file: StoreFile): [name: string, tree: Tree][] {
  return Object.entries(file).filter((entry): entry is [string, Tree] => entry[1] instanceof Tree);
}

function nameOfBundle(key: Buffer): string {
  const { first, last } = tasksOfBundle(key);
  return first === last ? `the records of task ${first}` : `the records of tasks ${first} to ${last}`;
}

function nameOfBody(key: Buffer): string {
  const { task, part } = bodyOfKey(key);
  return `the ${part} of task ${task}, piece ${key.readUInt32BE(7)}`;
}
