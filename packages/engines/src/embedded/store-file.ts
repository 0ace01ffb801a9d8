// The store's file: its trees and their names, how it is opened, and how a new one is made.

import { existsSync, readFileSync, renameSync, rmSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { open, type RootDatabase } from "lmdb";
import { recordKinds } from "../records/index.js";
import { bodyOfKey, numberOfKey, taskOfTaskKey, tasksOfBundle } from "./keys.js";
import { privateFileMode } from "./private-modes.js";
import { syncPath } from "./sync-path.js";
import { Tree, type TreeDatabase } from "./tree.js";

/** The file's name in the data folder. */
export const storeFileName = "yard.mdb";

/** The folder, inside the data folder, in which a migration writes until it is complete. */
export const draftFolderName = "migrating";

/** The size of the store in a folder; 0 if there is none or it cannot be seen. */
export function storeBytesIn(folder: string): number {
  try {
    return statSync(join(folder, storeFileName)).size;
  } catch {
    return 0;
  }
}

/**
 * Maximum size of the file. This reserves addresses, not memory. LMDB could grow the map later, but
 * not while there are readers.
 */
const mapBytes = 2 ** 40;

/** Half of the address space if it is limited: LMDB crashes if the system refuses the map. */
function mapBytesAllowed(): number {
  const limit = processLimit("Max address space");
  return limit === undefined ? mapBytes : Math.min(mapBytes, Math.floor(limit / 2 / pageBytes) * pageBytes);
}

/**
 * A resource limit of this process; undefined if there is none or the system does not report it.
 */
export function processLimit(name: string): number | undefined {
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
  /** `memory`: commits are not synced. They survive the process, not the machine. */
  readonly durability: "fsync" | "memory";
  readonly readOnly?: boolean;
}

/** The file as a whole: atomic transactions over all its trees. */
export interface StoreRoot {
  transactionSync(work: () => void): unknown;
  close(): Promise<void>;
}

export interface StoreFile<Root extends StoreRoot = StoreRoot> {
  readonly root: Root;
  /** The store's own records: owner, counters, schema version. */
  readonly state: Tree;
  readonly heads: Tree;
  readonly progress: Tree;
  /** Both records of tasks that were submitted and settled in one transaction. */
  readonly bundles: Tree;
  readonly bodies: Tree;
  /** Marks bodies to which no committed record refers yet. */
  readonly looseBodies: Tree;
  readonly keys: Tree;
  readonly queues: Tree;
  readonly doors: Tree;
  readonly memos: Tree;
  /** Idempotency key and task id, to find tasks by key. */
  readonly taskKeys: Tree;
  readonly segments: Tree;
  /** Evicted segments whose tasks' records have not been deleted yet. */
  readonly trimmed: Tree;
  /** For each block of ids: which tasks exist, and when they were submitted. */
  readonly blocks: Tree;
  /** For each block and term: which tasks have the term. */
  readonly terms: Tree;
}

/**
 * The trees' names in LMDB. LMDB makes a tree in a transaction of its own, which does not write the
 * sums. So a new tree needs more than a name here: file-account.ts expects that every transaction
 * wrote them.
 */
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
 * Creates an empty store if there is none. It is written under another name and renamed, because a
 * power cut during LMDB's first writes leaves a file that LMDB cannot open.
 */
export async function makeStoreFile(path: string): Promise<void> {
  if (existsSync(path)) return;
  const draft = `${path}.new`;
  for (const left of [draft, `${draft}-lock`]) rmSync(left, { force: true });
  await openStoreFile({ path: draft, durability: "fsync" }).root.close();
  syncPath(draft);
  renameSync(draft, path);
  rmSync(`${draft}-lock`, { force: true });
  syncPath(dirname(path));
}

export type LmdbFile = StoreFile<RootDatabase<Buffer, Buffer>>;

export function openStoreFile({ path, durability, readOnly = false }: StoreFileOptions): LmdbFile {
  const root = open<Buffer, Buffer>({
    path,
    mapSize: mapBytesAllowed(),
    noSubdir: true,
    maxDbs: 16,
    encoding: "binary",
    keyEncoding: "binary",
    // Off, so that a commit is durable, data before root, before it is visible: see
    // docs/decisions/0008.
    overlappingSync: false,
    noSync: durability === "memory",
    // Otherwise contents of freed memory could end up in the file.
    noMemInit: false,
    readOnly,
    // lmdb accepts this option but does not declare its type.
    ...({ permissionsMode: privateFileMode } as object),
  });
  return storeFileOver(root, (name) =>
    root.openDB<Buffer, Buffer>({ name, encoding: "binary", keyEncoding: "binary" }),
  );
}

/** The trees of a store, in LMDB or, in tests, in memory. */
export function storeFileOver<Root extends StoreRoot>(
  root: Root,
  open: (name: string) => TreeDatabase,
): StoreFile<Root> {
  const tree = (name: keyof typeof treeNames, kind: Tree["kind"], nameOf: (key: Buffer) => string) =>
    new Tree({ name: treeNames[name], database: open(treeNames[name]), kind, nameOf });
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

export function treesOf(file: StoreFile): Tree[] {
  return Object.values(file).filter((value): value is Tree => value instanceof Tree);
}

function nameOfBundle(key: Buffer): string {
  const { first, last } = tasksOfBundle(key);
  return first === last ? `the records of task ${first}` : `the records of tasks ${first} to ${last}`;
}

function nameOfBody(key: Buffer): string {
  const { task, part } = bodyOfKey(key);
  return `the ${part} of task ${task}, piece ${key.readUInt32BE(7)}`;
}
