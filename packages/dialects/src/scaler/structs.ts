// Packed fields: Python's `struct` in native order and alignment, which is little-endian with C
// padding but no padding at the end. Metadata is the exception: big-endian and not padded. Numbers
// that do not fit are clamped [scaler 1.4].

import type { CancelFlags, ClientHeartbeat, Heartbeat, Processor, ScalerWire } from "./messages.js";

const u16Max = 0xff_ff;
const u32Max = 0xff_ff_ff_ff;
const u64Max = 0xffff_ffff_ffff_ffffn;

/** Offsets of a struct's fields. Without padding, fields follow each other directly. */
interface HeartbeatLayout {
  readonly size: number;
  readonly agentCpu: number;
  readonly agentRss: number;
  readonly freeRss: number;
  readonly queuedTasks: number;
  readonly latencyUs: number;
  readonly taskLock: number;
}

interface ProcessorLayout {
  readonly size: number;
  readonly pid: number;
  readonly flags: number;
  readonly cpu: number;
  readonly rss: number;
}

/** `HQQHI?`, then `I???HQ` for each processor. */
const r: HeartbeatLayout = {
  size: 33,
  agentCpu: 0,
  agentRss: 8,
  freeRss: 16,
  queuedTasks: 24,
  latencyUs: 28,
  taskLock: 32,
};
const rPacked: HeartbeatLayout = {
  size: 25,
  agentCpu: 0,
  agentRss: 2,
  freeRss: 10,
  queuedTasks: 18,
  latencyUs: 20,
  taskLock: 24,
};
const processor: ProcessorLayout = { size: 24, pid: 0, flags: 4, cpu: 8, rss: 16 };
const processorPacked: ProcessorLayout = { size: 17, pid: 0, flags: 4, cpu: 7, rss: 9 };

/** `HQHQQHI???`: the processor is in the same struct. */
interface DocumentLayout extends HeartbeatLayout {
  readonly workerCpu: number;
  readonly workerRss: number;
  readonly initialized: number;
}

const d: DocumentLayout = {
  size: 51,
  agentCpu: 0,
  agentRss: 8,
  workerCpu: 16,
  workerRss: 24,
  freeRss: 32,
  queuedTasks: 40,
  latencyUs: 44,
  initialized: 48,
  taskLock: 50,
};
const dPacked: DocumentLayout = {
  size: 37,
  agentCpu: 0,
  agentRss: 2,
  workerCpu: 10,
  workerRss: 12,
  freeRss: 20,
  queuedTasks: 28,
  latencyUs: 30,
  initialized: 34,
  taskLock: 36,
};
const splitSizes = [2, 8, 2, 8, 8, 2, 4, 1, 1, 1];

/** [scaler 1.2] Recognises the form by size alone. Undefined if the frames are not a heartbeat. */
export function readHeartbeat(frames: readonly Buffer[]): Heartbeat | undefined {
  const size = frames[0]?.length;
  if (size === r.size) return readProgram(frames, "r", r, processor);
  if (size === rPacked.size) return readProgram(frames, "r-packed", rPacked, processorPacked);
  if (frames.length === 1 && frames[0] !== undefined) {
    if (size === d.size) return readDocument(frames[0], "d", d);
    if (size === dPacked.size) return readDocument(frames[0], "d-packed", dPacked);
  }
  const isSplit =
    frames.length === splitSizes.length && frames.every(({ length }, index) => length === splitSizes[index]);
  return isSplit ? readDocument(Buffer.concat(frames), "d-split", dPacked) : undefined;
}

function readProgram(
  frames: readonly Buffer[],
  wire: ScalerWire,
  layout: HeartbeatLayout,
  each: ProcessorLayout,
): Heartbeat | undefined {
  const [head, ...rest] = frames;
  if (head === undefined || rest.some(({ length }) => length !== each.size)) return undefined;
  return { ...readHead(head, wire, layout), processors: rest.map((frame) => readProcessor(frame, each)) };
}

function readHead(bytes: Buffer, wire: ScalerWire, at: HeartbeatLayout): Omit<Heartbeat, "processors"> {
  return {
    type: "heartbeat",
    wire,
    agentCpu: bytes.readUInt16LE(at.agentCpu),
    agentRssBytes: bytes.readBigUInt64LE(at.agentRss),
    freeRssBytes: bytes.readBigUInt64LE(at.freeRss),
    queuedTasks: bytes.readUInt16LE(at.queuedTasks),
    latencyUs: bytes.readUInt32LE(at.latencyUs),
    hasTaskLock: bytes[at.taskLock] !== 0,
  };
}

function readProcessor(bytes: Buffer, at: ProcessorLayout): Processor {
  return {
    pid: bytes.readUInt32LE(at.pid),
    isInitialized: bytes[at.flags] !== 0,
    hasTask: bytes[at.flags + 1] !== 0,
    isSuspended: bytes[at.flags + 2] !== 0,
    cpu: bytes.readUInt16LE(at.cpu),
    rssBytes: bytes.readBigUInt64LE(at.rss),
  };
}

function readDocument(bytes: Buffer, wire: ScalerWire, at: DocumentLayout): Heartbeat {
  const only: Processor = {
    pid: 0,
    isInitialized: bytes[at.initialized] !== 0,
    hasTask: bytes[at.initialized + 1] !== 0,
    isSuspended: false,
    cpu: bytes.readUInt16LE(at.workerCpu),
    rssBytes: bytes.readBigUInt64LE(at.workerRss),
  };
  return { ...readHead(bytes, wire, at), processors: [only] };
}

export function writeHeartbeat(heartbeat: Heartbeat): Buffer[] {
  switch (heartbeat.wire) {
    case "r":
      return [writeHead(heartbeat, r), ...heartbeat.processors.map((one) => writeProcessor(one, processor))];
    case "r-packed": {
      const rest = heartbeat.processors.map((one) => writeProcessor(one, processorPacked));
      return [writeHead(heartbeat, rPacked), ...rest];
    }
    case "d":
      return [writeDocument(heartbeat, d)];
    case "d-packed":
      return [writeDocument(heartbeat, dPacked)];
    case "d-split":
      return cut(writeDocument(heartbeat, dPacked), splitSizes);
    default:
      return heartbeat.wire satisfies never;
  }
}

function writeHead(heartbeat: Heartbeat, at: HeartbeatLayout): Buffer {
  const bytes = Buffer.alloc(at.size);
  bytes.writeUInt16LE(within(heartbeat.agentCpu, u16Max), at.agentCpu);
  bytes.writeBigUInt64LE(withinU64(heartbeat.agentRssBytes), at.agentRss);
  bytes.writeBigUInt64LE(withinU64(heartbeat.freeRssBytes), at.freeRss);
  bytes.writeUInt16LE(within(heartbeat.queuedTasks, u16Max), at.queuedTasks);
  bytes.writeUInt32LE(within(heartbeat.latencyUs, u32Max), at.latencyUs);
  bytes[at.taskLock] = Number(heartbeat.hasTaskLock);
  return bytes;
}

function writeProcessor(one: Processor, at: ProcessorLayout): Buffer {
  const bytes = Buffer.alloc(at.size);
  bytes.writeUInt32LE(within(one.pid, u32Max), at.pid);
  bytes[at.flags] = Number(one.isInitialized);
  bytes[at.flags + 1] = Number(one.hasTask);
  bytes[at.flags + 2] = Number(one.isSuspended);
  bytes.writeUInt16LE(within(one.cpu, u16Max), at.cpu);
  bytes.writeBigUInt64LE(withinU64(one.rssBytes), at.rss);
  return bytes;
}

function writeDocument(heartbeat: Heartbeat, at: DocumentLayout): Buffer {
  const bytes = writeHead(heartbeat, at);
  const [only] = heartbeat.processors;
  bytes.writeUInt16LE(within(only?.cpu ?? 0, u16Max), at.workerCpu);
  bytes.writeBigUInt64LE(withinU64(only?.rssBytes ?? 0n), at.workerRss);
  bytes[at.initialized] = Number(only?.isInitialized ?? false);
  bytes[at.initialized + 1] = Number(only?.hasTask ?? false);
  return bytes;
}

const clientHeartbeatBytes = 20;

/** `HQI` */
export function readClientHeartbeat(bytes: Buffer): ClientHeartbeat | undefined {
  if (bytes.length !== clientHeartbeatBytes) return undefined;
  return {
    type: "client-heartbeat",
    cpu: bytes.readUInt16LE(0),
    rssBytes: bytes.readBigUInt64LE(8),
    latencyUs: bytes.readUInt32LE(16),
  };
}

export function writeClientHeartbeat({ cpu, rssBytes, latencyUs }: ClientHeartbeat): Buffer {
  const bytes = Buffer.alloc(clientHeartbeatBytes);
  bytes.writeUInt16LE(within(cpu, u16Max), 0);
  bytes.writeBigUInt64LE(withinU64(rssBytes), 8);
  bytes.writeUInt32LE(within(latencyUs, u32Max), 16);
  return bytes;
}

export function readCancelFlags(bytes: Buffer): CancelFlags | undefined {
  return bytes.length === 2 ? { force: bytes[0] !== 0, retrieveTaskObject: bytes[1] !== 0 } : undefined;
}

export function writeCancelFlags({ force, retrieveTaskObject }: CancelFlags): Buffer {
  return Buffer.from([Number(force), Number(retrieveTaskObject)]);
}

export function writeU32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(within(value, u32Max));
  return bytes;
}

/**
 * `!?i`: a profiling flag, and a priority where lower is more urgent. A task without metadata has
 * priority 0 [scaler 2.4].
 */
export const taskMetadataBytes = 5;
/** `!fQ`: duration in seconds, and peak memory. */
export const resultMetadataBytes = 12;

export function priorityOf(metadata: Buffer): number {
  return metadata.length === taskMetadataBytes ? metadata.readInt32BE(1) : 0;
}

export function taskMetadata(priority: number, isProfiling = false): Buffer {
  const bytes = Buffer.alloc(taskMetadataBytes);
  bytes[0] = Number(isProfiling);
  bytes.writeInt32BE(priority, 1);
  return bytes;
}

export function resultMetadata(durationSeconds: number, memoryPeakBytes: bigint): Buffer {
  const bytes = Buffer.alloc(resultMetadataBytes);
  bytes.writeFloatBE(durationSeconds);
  bytes.writeBigUInt64BE(withinU64(memoryPeakBytes), 4);
  return bytes;
}

function within(value: number, max: number): number {
  return Math.min(Math.max(Math.trunc(value) || 0, 0), max);
}

function withinU64(value: bigint): bigint {
  if (value < 0n) return 0n;
  return value > u64Max ? u64Max : value;
}

function cut(bytes: Buffer, sizes: readonly number[]): Buffer[] {
  let at = 0;
  return sizes.map((size) => {
    at += size;
    return bytes.subarray(at - size, at);
  });
}
