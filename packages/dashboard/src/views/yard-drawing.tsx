// The yard: doors on the left, a track with its signal for each queue, and the doors of workers on
// the right.

import { useEffect, useRef, useState } from "preact/hooks";
import { useKeys } from "../live/keys.js";
import { tasksLink } from "../live/navigation.js";
import { useRefresh } from "../live/ticker.js";
import { yard } from "../live/yard.js";
import { count, counted, rate } from "../model/numbers.js";
import { colourAt } from "../model/queue-colours.js";
import { type Signal, signalOf, trackNote } from "../model/queue-signals.js";
import { routeText } from "../model/route.js";
import { shortened, shownLine } from "../model/shown-text.js";
import { duration } from "../model/time.js";
import {
  layOutYard,
  type YardColumns,
  type YardDoor,
  type YardLine,
  type YardTrack,
} from "../model/yard-layout.js";
import { doorOrder, yardQueues } from "../model/yard-queues.js";
import { SignAt } from "../parts/sign.js";
import { useDark } from "../parts/theme.js";
import { YardTable } from "./yard-list.js";

export function YardDrawing() {
  useRefresh(1);
  const isDark = useDark();
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(1360);
  const [isOpen, open] = useState(false);
  const [isTable, showTable] = useState(false);
  useKeys({ v: () => showTable(!isTable) });
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const observer = new ResizeObserver(() => setWidth(Math.max(820, element.clientWidth - 32)));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  const now = yard.now();
  const { shown, folded } = yardQueues(yard.queues.values(), now, isOpen);
  const layout = layOutYard(shown, yard.workers.values(), width, doorOrder);
  const colourOf = (queue: string) => colourAt(yard.colours.indexOf(queue), isDark);
  return (
    <section class="card yard" aria-label="The yard, now" ref={box}>
      <div class="card-head">
        <h2>The yard, now</h2>
        <span class="faint">
          a line is a flow, its weight the rate of the last minute; wagons wait before the signal and run
          behind it, on a log scale
        </span>
        <span class="right faint">
          {folded > 0 ? (
            <button type="button" class="link-button" onClick={() => open(true)}>
              +{count(folded)} quiet
            </button>
          ) : (
            `${count(shown.length)} of ${counted(yard.figures?.queues ?? shown.length, "queue")}`
          )}{" "}
          <button type="button" class="link-button" onClick={() => showTable(!isTable)}>
            {isTable ? "as a drawing" : "as a table"} <kbd>v</kbd>
          </button>
        </span>
      </div>
      {shown.length === 0 && <p class="empty">No queue yet. A task or a worker makes one.</p>}
      {shown.length === 0 ? null : isTable ? (
        <YardTable queues={shown} />
      ) : (
        <div class="scroll-x">
          <svg
            class="yard-drawing"
            width={width}
            height={layout.height + 30}
            role="group"
            aria-label="Queues as tracks"
          >
            <Heads columns={layout.columns} height={layout.height + 30} />
            <g transform="translate(0 30)">
              {layout.linesIn.map((line) => (
                <FlowLine key={`in ${line.door} ${line.queue}`} line={line} colour={colourOf(line.queue)} />
              ))}
              {layout.linesOut.map((line) => (
                <FlowLine key={`out ${line.door} ${line.queue}`} line={line} colour={colourOf(line.queue)} />
              ))}
              {layout.tracks.map((track) => (
                <Track
                  key={track.queue.name}
                  track={track}
                  columns={layout.columns}
                  colour={colourOf(track.queue.name)}
                  now={now}
                />
              ))}
              {layout.doorsIn.map((door) => (
                <DoorIn key={door.name} door={door} columns={layout.columns} />
              ))}
              {layout.doorsOut.map((door) => (
                <DoorOut key={door.name} door={door} columns={layout.columns} />
              ))}
            </g>
          </svg>
        </div>
      )}
    </section>
  );
}

function Heads({ columns, height }: { columns: YardColumns; height: number }) {
  const waitTicks = [
    [2, "100"],
    [3, "1k"],
    [4, "10k"],
  ] as const;
  const runTicks = waitTicks.slice(0, 2);
  return (
    <g class="yard-heads" aria-hidden="true">
      <text x="0" y="14">
        came in by
      </text>
      <text x={columns.queueName} y="14">
        queue
      </text>
      <text x={columns.waitEnd} y="14" text-anchor="end">
        waiting
      </text>
      <text x={columns.runStart} y="14">
        running
      </text>
      <text x={columns.rate} y="14" text-anchor="end">
        done/s
      </text>
      <text x={columns.doorOut + 12} y="14">
        worked by
      </text>
      {waitTicks.map(([decade, word]) => (
        <g key={word}>
          <path d={`M${columns.waitEnd - decade * 46} 27V${height}`} class="yard-grid" />
          <text class="yard-scale" x={columns.waitEnd - decade * 46} y="21" text-anchor="middle">
            {decade === 2 ? "" : word}
          </text>
          {decade === 2 && (
            <text class="yard-scale" x={columns.waitEnd - decade * 46} y="21" text-anchor="middle">
              100
            </text>
          )}
        </g>
      ))}
      {runTicks.map(([decade, word]) => (
        <g key={`run ${word}`}>
          <path d={`M${columns.runStart + decade * 46} 27V${height}`} class="yard-grid" />
          <text class="yard-scale" x={columns.runStart + decade * 46} y="21" text-anchor="middle">
            {word}
          </text>
        </g>
      ))}
    </g>
  );
}

function FlowLine({ line, colour }: { line: YardLine; colour: string }) {
  return (
    <path
      d={line.path}
      fill="none"
      stroke={colour}
      stroke-width={line.width}
      stroke-linejoin="round"
      aria-hidden="true"
    />
  );
}

/** A letter's mean width in a note, with the widest system font. */
const letterPx = 7.4;

function Track(props: { track: YardTrack; columns: YardColumns; colour: string; now: number }) {
  const { track, columns, colour, now } = props;
  const { queue, y } = track;
  const signal = signalOf(queue, now);
  const note = queue.running > 0 ? "" : trackNote(queue, signal, now);
  const from = track.hasIn ? columns.queueName - 14 : columns.queueName - 12;
  const waitFrom = columns.waitEnd - track.waitPx;
  const label = `${queue.name}: ${counted(queue.waiting, "task")} waiting, ${queue.running} running, ${signal}`;
  return (
    <g>
      <title>{shownLine(label)}</title>
      <path d={`M${from} ${y}H${columns.waitEnd + 4}`} stroke={colour} stroke-width={track.inWidth} />
      {track.hasOut && (
        <path
          d={`M${note === "" ? columns.runStart - 4 : columns.runStart + note.length * letterPx} ${y}H${columns.rate + 12}`}
          stroke={colour}
          stroke-width={track.outWidth}
        />
      )}
      <Train from={waitFrom} to={columns.waitEnd} y={y} colour={colour} isBackwards />
      <Train from={columns.runStart} to={columns.runStart + track.runPx} y={y} colour={colour} />
      <rect x={columns.signal - 10} y={y - 8} width="20" height="16" class="yard-clearing" />
      <SignAt name={signal} x={columns.signal} y={y} />
      <TrackWords track={track} columns={columns} signal={signal} note={note} now={now} />
    </g>
  );
}

function Train(props: { from: number; to: number; y: number; colour: string; isBackwards?: boolean }) {
  const { from, to, y, colour } = props;
  const wagons = Math.round((to - from) / 7);
  if (wagons <= 0) return null;
  const rects = Array.from({ length: wagons }, (_, at) => {
    const x = props.isBackwards ? to - (at + 1) * 7 + 1 : from + at * 7;
    return <rect key={at} x={x} y={y - 5} width="6" height="10" rx="1" fill={colour} />;
  });
  const left = props.isBackwards ? to - wagons * 7 : from;
  return (
    <g aria-hidden="true">
      <rect x={left - 2} y={y - 6} width={wagons * 7 + 3} height="12" class="yard-clearing" />
      {rects}
    </g>
  );
}

function TrackWords(props: {
  track: YardTrack;
  columns: YardColumns;
  signal: Signal;
  note: string;
  now: number;
}) {
  const { track, columns, signal, note, now } = props;
  const { queue, y } = track;
  const wordsY = y - 10;
  const oldest =
    queue.oldestAt === null ? "" : `oldest ${duration(Math.max(0, now - Date.parse(queue.oldestAt)))}`;
  const name = shownLine(shortened(queue.name, 26));
  const countPx = count(queue.waiting).length * 7.5 + 16;
  return (
    <>
      <a href={routeText("queues", queue.name)}>
        <text class="yard-name" x={columns.queueName} y={wordsY}>
          {name}
        </text>
      </a>
      {oldest !== "" && (
        <a
          href={
            queue.oldestTask === null
              ? tasksLink(`queue:${queue.name} state:waiting`)
              : routeText("task", queue.oldestTask)
          }
        >
          <text
            class={`yard-aside ${signal === "stopped" ? "is-bad" : ""}`}
            x={columns.waitEnd - countPx}
            y={wordsY}
            text-anchor="end"
          >
            {oldest}
          </text>
        </a>
      )}
      <a href={tasksLink(`queue:${queue.name} state:waiting`)}>
        <text
          class={`yard-count ${queue.waiting === 0 ? "is-none" : ""}`}
          x={columns.waitEnd}
          y={wordsY}
          text-anchor="end"
        >
          {count(queue.waiting)}
        </text>
      </a>
      {queue.running > 0 && (
        <a href={tasksLink(`queue:${queue.name} state:running`)}>
          <text class="yard-count" x={columns.runStart} y={wordsY}>
            {count(queue.running)}
          </text>
        </a>
      )}
      {queue.donePerSecond[1] > 0 && (
        <a href={tasksLink(`queue:${queue.name} state:done since:5m`)}>
          <text class="yard-count" x={columns.rate} y={wordsY} text-anchor="end">
            {rate(queue.donePerSecond[1])}
          </text>
        </a>
      )}
      {note !== "" && (
        <text class={`yard-note is-${signal}`} x={columns.runStart + 4} y={y + 4}>
          {shownLine(note)}
        </text>
      )}
    </>
  );
}

function DoorIn({ door, columns }: { door: YardDoor; columns: YardColumns }) {
  return (
    <a href={tasksLink(`door:${door.name}`)}>
      <rect
        x={columns.doorIn}
        y={door.y - door.height / 2}
        width="5"
        height={door.height}
        rx="1"
        class="yard-door"
      />
      <text class="yard-name" x="0" y={door.y + 4}>
        {shownLine(door.name)}
      </text>
      <text class="yard-aside" x={columns.doorIn - 11} y={door.y + 4} text-anchor="end">
        {rate(door.perSecond)}/s
      </text>
    </a>
  );
}

function DoorOut({ door, columns }: { door: YardDoor; columns: YardColumns }) {
  const workers = [...yard.workers.values()].filter((worker) => worker.door === door.name);
  const there = workers.filter((worker) => worker.state !== "lost");
  const idle = there.filter((worker) => worker.state === "idle").length;
  const words =
    there.length === 0
      ? `no worker${workers.length > 0 ? `, ${workers.length} lost` : ""}`
      : `${counted(there.length, "worker")}, ${idle === 0 ? "none" : count(idle)} idle`;
  return (
    <a href={routeText("workers", "", { q: `${door.name}/` })}>
      <rect
        x={columns.doorOut}
        y={door.y - door.height / 2}
        width="5"
        height={door.height}
        rx="1"
        class={there.length === 0 ? "yard-door is-bad" : "yard-door"}
      />
      <text class="yard-name" x={columns.doorOut + 12} y={door.y + 4}>
        {shownLine(door.name)}
      </text>
      <text
        class={`yard-aside ${there.length === 0 ? "is-bad" : ""}`}
        x={columns.width}
        y={door.y + 4}
        text-anchor="end"
      >
        {words}
      </text>
    </a>
  );
}
