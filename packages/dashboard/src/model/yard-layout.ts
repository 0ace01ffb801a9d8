// The drawing of the yard: where doors, tracks, turnouts and wagons are. Queues keep their order
// (by door, then name), so that lines never jump; widths are rates, lengths of trains are counts on
// a log scale.

import type { Queue, Worker } from "../live/api-shapes.js";

export const rowHeight = 40;
const top = 8;
/** How much longer a train becomes with ten times as many tasks. */
const decadePx = 46;
const lineGap = 7;
const doorGap = 34;
/** Beyond this the drawing would be a list; the quiet queues fold into a line. */
export const queuesMax = 12;

export interface YardColumns {
  readonly width: number;
  readonly doorIn: number;
  readonly queueName: number;
  /** Where waiting trains end, before the signal. */
  readonly waitEnd: number;
  readonly signal: number;
  readonly runStart: number;
  readonly rate: number;
  readonly doorOut: number;
}

export interface YardLine {
  readonly queue: string;
  readonly door: string;
  readonly path: string;
  readonly width: number;
}

export interface YardDoor {
  readonly name: string;
  readonly y: number;
  readonly height: number;
  readonly perSecond: number;
}

export interface YardTrack {
  readonly queue: Queue;
  readonly y: number;
  /** Whether a line reaches it from a door, and leaves it to one. */
  readonly hasIn: boolean;
  readonly hasOut: boolean;
  readonly inWidth: number;
  readonly outWidth: number;
  readonly waitPx: number;
  readonly runPx: number;
}

export interface YardLayout {
  readonly height: number;
  readonly columns: YardColumns;
  readonly tracks: readonly YardTrack[];
  readonly doorsIn: readonly YardDoor[];
  readonly doorsOut: readonly YardDoor[];
  readonly linesIn: readonly YardLine[];
  readonly linesOut: readonly YardLine[];
}

/** 1.5, 2, 3.2 or 4.6 px for less than 1, 10, 100 or more tasks a second. */
export function lineWidth(perSecond: number): number {
  if (perSecond < 1) return 1.5;
  if (perSecond < 10) return 2;
  return perSecond < 100 ? 3.2 : 4.6;
}

/** The length of a train by its number of tasks. */
export function trainPx(tasks: number): number {
  return tasks <= 0 ? 0 : Math.max(7, decadePx * Math.log10(tasks));
}

/** Fixed parts of the width on wide screens; narrow ones lose the free track first. */
export function columnsFor(width: number): YardColumns {
  const spare = Math.max(0, Math.min(1, (width - 900) / 440));
  const doorIn = 128 + 14 * spare;
  const queueName = doorIn + 110 + 92 * spare;
  const waitEnd = queueName + 270 + 122 * spare;
  const runStart = waitEnd + 30;
  const doorOut = width - (206 + 26 * spare);
  return {
    width,
    doorIn,
    queueName,
    waitEnd,
    signal: waitEnd + 14,
    runStart,
    rate: Math.min(runStart + 248, doorOut - 90),
    doorOut,
  };
}

/** The door that most of a queue's tasks come in by. Queues are ordered by it. */
export function mainDoor(flows: Readonly<Record<string, number>>): string {
  let [best, most] = ["\uffff", -1];
  for (const [door, perSecond] of Object.entries(flows)) {
    if (perSecond > most || (perSecond === most && door < best)) [best, most] = [door, perSecond];
  }
  return best;
}

export function layOutYard(
  queues: readonly Queue[],
  workers: Iterable<Worker>,
  width: number,
  doorOrder: readonly string[],
): YardLayout {
  const columns = columnsFor(width);
  const served = servedDoors(workers);
  const plain = queues.map((queue, row) => ({ queue, y: top + row * rowHeight + 17 }));
  const flowsIn = plain.map(({ queue, y }) => ({ queue: queue.name, y, flows: queue.inBy }));
  const flowsOut = plain.map(({ queue, y }) => ({
    queue: queue.name,
    y,
    flows: outFlows(queue, served.get(queue.name) ?? []),
  }));
  const bottom = top + queues.length * rowHeight;
  const left = side(flowsIn, doorOrder, bottom, [], (line, room) => inPath(line, columns, room));
  const idle = [...new Set([...served.values()].flat())];
  const right = side(flowsOut, doorOrder, bottom, idle, (line, room) => outPath(line, columns, room));
  const tracks = plain.map(({ queue, y }, row) => ({
    queue,
    y,
    hasIn: Object.keys(queue.inBy).length > 0,
    hasOut: Object.keys(flowsOut[row]?.flows ?? {}).length > 0 && !queue.paused,
    inWidth: lineWidth(queue.inPerSecond[1]),
    outWidth: lineWidth(queue.donePerSecond[1]),
    waitPx: trainPx(queue.waiting),
    runPx: trainPx(queue.running),
  }));
  const doorsBottom = Math.max(0, ...[...left.doors, ...right.doors].map((door) => door.y + door.height / 2));
  return {
    height: Math.max(bottom, doorsBottom) + 12,
    columns,
    tracks,
    doorsIn: left.doors,
    doorsOut: right.doors,
    linesIn: left.lines,
    linesOut: right.lines,
  };
}

function servedDoors(workers: Iterable<Worker>): Map<string, string[]> {
  const served = new Map<string, string[]>();
  for (const { state, door, queues } of workers) {
    if (state === "lost") continue;
    for (const queue of queues) {
      const doors = served.get(queue) ?? [];
      if (!doors.includes(door)) doors.push(door);
      served.set(queue, doors);
    }
  }
  return served;
}

/** Doors whose workers serve the queue have a line, even one without flow. */
function outFlows(queue: Queue, doors: readonly string[]): Record<string, number> {
  if (queue.paused && queue.running === 0) return {};
  const flows: Record<string, number> = {};
  for (const door of [...doors, ...Object.keys(queue.workersBy)]) flows[door] = 0;
  return { ...flows, ...queue.doneBy };
}

interface Flow {
  readonly queue: string;
  readonly y: number;
  readonly flows: Readonly<Record<string, number>>;
}

interface Line {
  readonly queue: string;
  readonly door: string;
  readonly perSecond: number;
  readonly trackY: number;
  doorY: number;
}

/** A line's place among those that turn the same way, farthest first, and their number. */
interface Room {
  readonly at: number;
  readonly of: number;
}

function side(
  flows: readonly Flow[],
  doorOrder: readonly string[],
  bottom: number,
  idle: readonly string[],
  pathOf: (line: Line, room: Room) => string,
): { doors: YardDoor[]; lines: YardLine[] } {
  const byDoor = new Map<string, Line[]>();
  for (const door of idle) byDoor.set(door, []);
  for (const { queue, y, flows: rates } of flows) {
    for (const [door, perSecond] of Object.entries(rates)) {
      const lines = byDoor.get(door) ?? [];
      lines.push({ queue, door, perSecond, trackY: y, doorY: y });
      byDoor.set(door, lines);
    }
  }
  const doors = placeDoors(byDoor, doorOrder, bottom);
  const lines: YardLine[] = [];
  for (const { name } of doors) {
    const own = byDoor.get(name) ?? [];
    for (const line of own) {
      const room = roomOf(line, own);
      lines.push({
        queue: line.queue,
        door: name,
        path: pathOf(line, room),
        width: lineWidth(line.perSecond),
      });
    }
  }
  return { doors, lines };
}

/** Places each door where its busiest line runs straight, without overlap. */
function placeDoors(
  byDoor: ReadonlyMap<string, Line[]>,
  doorOrder: readonly string[],
  bottom: number,
): YardDoor[] {
  const wanted = [...byDoor].map(([name, lines]) => {
    lines.sort((a, b) => a.trackY - b.trackY);
    const main = lines.reduce(
      (best, line, at) => (line.perSecond > (lines[best]?.perSecond ?? -1) ? at : best),
      0,
    );
    const firstY = lines.length === 0 ? bottom : (lines[main] as Line).trackY - main * lineGap;
    const height = Math.max(18, (lines.length - 1) * lineGap + 14);
    return { name, lines, firstY, height, y: firstY + ((lines.length - 1) * lineGap) / 2 };
  });
  wanted.sort((a, b) => a.y - b.y || doorOrder.indexOf(a.name) - doorOrder.indexOf(b.name));
  let free = 0;
  for (const door of wanted) {
    const half = door.height / 2;
    const least = free + (free === 0 ? 0 : doorGap - 18) + half;
    const move = Math.max(0, least - door.y);
    door.y += move;
    door.lines.forEach((line, at) => {
      line.doorY = door.firstY + move + at * lineGap;
    });
    free = door.y + half;
  }
  return wanted.map(({ name, y, height, lines }) => ({
    name,
    y,
    height,
    perSecond: lines.reduce((sum, { perSecond }) => sum + perSecond, 0),
  }));
}

function roomOf(line: Line, own: readonly Line[]): Room {
  const turn = Math.sign(line.trackY - line.doorY);
  const rivals = own.filter((other) => Math.sign(other.trackY - other.doorY) === turn);
  const farthestFirst = rivals.sort((a, b) => Math.abs(b.trackY - b.doorY) - Math.abs(a.trackY - a.doorY));
  return { at: farthestFirst.indexOf(line), of: rivals.length };
}

/** Longest turn that fits between a door and the names of queues at 45°. */
const diagonalMax = 84;
/** How far a turn is from its door, and from the next turn where there is room. */
const firstTurnPx = 34;
const turnGapPx = 16;
/** A bend before and one after a line goes up or down. */
const bendPx = 18;

function inPath(line: Line, columns: YardColumns, room: Room): string {
  const from = columns.doorIn + 5;
  const end = columns.queueName - 14;
  return turnout(from, line.doorY, from + turnPx(room, end - from), line.trackY, end);
}

function outPath(line: Line, columns: YardColumns, room: Room): string {
  const from = columns.doorOut;
  const end = columns.rate + 12;
  return turnout(from, line.doorY, from - turnPx(room, from - end), line.trackY, end);
}

/** Turns move together so that the last one ends before the words do. */
function turnPx({ at, of }: Room, space: number): number {
  const free = Math.max(0, space - firstTurnPx - 2 * bendPx);
  return firstTurnPx + at * Math.min(turnGapPx, free / Math.max(1, of - 1));
}

/** From (x, y) straight, then at 45° to the other height, then straight on to `endX`. */
function turnout(x: number, y: number, turnAt: number, toY: number, endX: number): string {
  const way = Math.sign(endX - x);
  const rise = Math.abs(toY - y);
  const down = Math.sign(toY - y);
  if (rise < 0.5) return `M${x} ${y}H${endX}`;
  if (rise <= Math.min(diagonalMax, Math.abs(endX - turnAt)))
    return `M${x} ${y}H${turnAt}L${turnAt + way * rise} ${toY}H${endX}`;
  const bend = Math.min(bendPx, rise / 2);
  const middle = turnAt + way * bend;
  return (
    `M${x} ${y}H${turnAt}L${middle} ${y + down * bend}V${toY - down * bend}` +
    `L${middle + way * bend} ${toY}H${endX}`
  );
}
