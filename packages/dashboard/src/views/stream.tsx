// The stream: a row for each worker and a box for each attempt, as they happen. It shows who is
// busy with what, and who loses work.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { FrameLoop } from "../live/frame-loop.js";
import { useKeys } from "../live/keys.js";
import { changeQuery, go, useRoute } from "../live/navigation.js";
import { StreamClock } from "../live/stream-clock.js";
import { useRefresh } from "../live/ticker.js";
import { yard } from "../live/yard.js";
import { count } from "../model/numbers.js";
import { layOutStream, type StreamLayout } from "../model/stream-layout.js";
import { workersInWindow } from "../model/window-counts.js";
import { QueueName, Segments } from "../parts/controls.js";
import { WorkerLines } from "../parts/start-worker.js";
import { paintOverlay } from "../parts/stream-overlay.js";
import { StreamPainter } from "../parts/stream-painter.js";
import { inks, useDark, usePhone } from "../parts/theme.js";
import { StreamAxis } from "./stream-axis.js";
import { StreamCard } from "./stream-card.js";
import { StreamFoot } from "./stream-foot.js";
import { StreamLabels } from "./stream-labels.js";
import { StreamStrip } from "./stream-strip.js";
import { StreamTable } from "./stream-table.js";

const spans = [
  { value: "30", label: "30 s" },
  { value: "60", label: "1 min" },
  { value: "300", label: "5 min" },
  { value: "900", label: "15 min" },
] as const;
type Span = (typeof spans)[number]["value"];

export function StreamView() {
  useRefresh(1);
  const { query } = useRoute();
  const isPhone = usePhone();
  const isDark = useDark();
  const span = spans.find(({ value }) => value === query.get("window"))?.value ?? (isPhone ? "30" : "60");
  const by = query.get("by") === "queue" ? "queue" : "door";
  const hasBeats = query.get("beats") === "shown";
  const followed = query.get("follow") === undefined ? undefined : Number(query.get("follow"));
  const [pausedAt, pauseAt] = useState<number | undefined>(numberOf(query.get("at")));
  const [pointed, point] = useState<number | undefined>();
  const [isTable, showTable] = useState(false);
  const [openGroups, openGroup] = useState<ReadonlySet<string>>(new Set());
  const clock = useMemo(() => new StreamClock(yard), []);
  const right = () => pausedAt ?? clock.right();
  const spanMs = Number(span) * 1000;
  const move = (shareOfWindow: number) => {
    const at = (pausedAt ?? clock.right()) + spanMs * shareOfWindow;
    pauseAt(at >= clock.right() ? undefined : at);
  };
  const zoom = (step: number) => {
    const at = spans.findIndex(({ value }) => value === span) + step;
    const next = spans[Math.max(0, Math.min(spans.length - 1, at))];
    changeQuery("stream", { window: next?.value });
  };
  const toggle = () => pauseAt(pausedAt === undefined ? clock.right() : undefined);
  useKeys({
    space: toggle,
    left: () => move(-0.25),
    right: () => move(0.25),
    "+": () => zoom(-1),
    "=": () => zoom(-1),
    "-": () => zoom(1),
    "0": () => pauseAt(undefined),
    v: () => showTable(!isTable),
    b: () => changeQuery("stream", { beats: hasBeats ? undefined : "shown" }),
    f: () => {
      const task = pointed === undefined ? undefined : String(yard.ring.task[pointed]);
      changeQuery("stream", { follow: query.get("follow") !== undefined ? undefined : task });
    },
    esc: () => changeQuery("stream", { follow: undefined }),
    enter: () => {
      if (pointed !== undefined) go("task", String(yard.ring.task[pointed]));
    },
  });
  if (yard.workers.size === 0) return <NobodyWorks />;
  return (
    <div class="stream-page">
      <h1 class="hidden-text">Stream</h1>
      <div class="stream-bar">
        <Segments<Span>
          label="Window"
          value={span}
          choices={spans}
          onChoose={(value) => changeQuery("stream", { window: value })}
        />
        <button type="button" class="button" onClick={toggle}>
          {pausedAt === undefined ? "Pause" : "Go on"} <kbd>space</kbd>
        </button>
        <Segments
          label="Rows"
          value={by}
          choices={[
            { value: "door", label: "by door" },
            { value: "queue", label: "by queue" },
          ]}
          onChoose={(value) => changeQuery("stream", { by: value === "door" ? undefined : value })}
        />
        <button
          type="button"
          class="button desk"
          aria-pressed={hasBeats}
          onClick={() => changeQuery("stream", { beats: hasBeats ? undefined : "shown" })}
        >
          Beats <kbd>b</kbd>
        </button>
        {pausedAt !== undefined && (
          <button type="button" class="button" onClick={() => pauseAt(undefined)}>
            Back to now <kbd>0</kbd>
          </button>
        )}
        {followed !== undefined && (
          <span class="chip">
            <span class="key">follows</span> <b>task {count(followed).replaceAll(",", "")}</b>
            <button
              type="button"
              aria-label="Follow no task"
              onClick={() => changeQuery("stream", { follow: undefined })}
            >
              ×
            </button>
          </span>
        )}
        <Legend />
      </div>
      {!isPhone && (
        <StreamStrip
          right={right()}
          spanMs={spanMs}
          onMove={(at) => pauseAt(at >= clock.right() - 1000 ? undefined : at)}
        />
      )}
      {isTable ? (
        <StreamTable from={right() - spanMs} to={right()} />
      ) : (
        <StreamDrawing
          key={`${by} ${isPhone}`}
          by={by}
          spanMs={spanMs}
          isDark={isDark}
          hasBeats={hasBeats}
          followed={followed}
          pausedAt={pausedAt}
          clock={clock}
          openGroups={openGroups}
          onOpenGroup={(name) => openGroup(new Set([...openGroups, name]))}
          pointed={pointed}
          onPoint={point}
          onPan={(ms) => {
            const at = right() - ms;
            pauseAt(at >= clock.right() ? undefined : at);
          }}
        />
      )}
      <StreamFoot hasBeats={hasBeats} from={right() - spanMs} to={right()} />
    </div>
  );
}

function numberOf(text: string | undefined): number | undefined {
  const value = Number(text);
  return text === undefined || Number.isNaN(value) ? undefined : value;
}

function Legend() {
  const names = [...yard.queues.values()]
    .filter(({ running, donePerSecond }) => running > 0 || donePerSecond[1] > 0)
    .map(({ name }) => name)
    .sort();
  const shown = names.slice(0, 8);
  return (
    <div class="stream-legend">
      {shown.map((name) => (
        <QueueName key={name} name={name} />
      ))}
      {names.length > shown.length && <span class="faint">and {names.length - shown.length} more</span>}
    </div>
  );
}

function NobodyWorks() {
  return (
    <section class="card empty">
      <h1>No worker is here.</h1>
      <p>Each of these lines starts one; its work shows here as it happens.</p>
      <WorkerLines queue={[...yard.queues.keys()][0] ?? "render"} />
    </section>
  );
}

interface DrawingProps {
  readonly by: "door" | "queue";
  readonly spanMs: number;
  readonly isDark: boolean;
  readonly hasBeats: boolean;
  readonly followed: number | undefined;
  readonly pausedAt: number | undefined;
  readonly clock: StreamClock;
  readonly openGroups: ReadonlySet<string>;
  readonly onOpenGroup: (name: string) => void;
  readonly pointed: number | undefined;
  readonly onPoint: (slot: number | undefined) => void;
  readonly onPan: (ms: number) => void;
}

function StreamDrawing(props: DrawingProps) {
  const box = useRef<HTMLDivElement>(null);
  const below = useRef<HTMLCanvasElement>(null);
  const above = useRef<HTMLCanvasElement>(null);
  const painter = useRef<StreamPainter | undefined>(undefined);
  const held = useRef(props);
  held.current = props;
  const drag = useRef<{ x: number; moved: boolean } | undefined>(undefined);
  const loop = useRef<FrameLoop | undefined>(undefined);
  const [width, setWidth] = useState(0);
  const lanesOf = painter.current?.lanesOf ?? (() => 0);
  const right = props.pausedAt ?? props.clock.right();
  const layout = layOutStream(
    workersInWindow(yard.workers.values(), yard.ring, right - props.spanMs, right),
    { by: props.by, openGroups: props.openGroups, lanesOf },
  );
  const shape = shapeOf(layout);
  useEffect(() => {
    const element = box.current;
    if (!element || !below.current) return;
    painter.current = new StreamPainter(yard, below.current);
    const observer = new ResizeObserver(() => setWidth(element.clientWidth));
    observer.observe(element);
    setWidth(element.clientWidth);
    const frames = new FrameLoop(() => {
      const { pausedAt, clock, pointed } = held.current;
      const right = pausedAt ?? clock.right();
      painter.current?.paint(right);
      if (painter.current && above.current)
        paintOverlay(yard, painter.current, above.current, right, pointed);
    });
    loop.current = frames;
    Object.assign(globalThis, { streamFrameTimes: frames.times });
    frames.start();
    return () => {
      frames.stop();
      observer.disconnect();
    };
  }, []);
  useEffect(() => {
    const { isDark, followed, hasBeats } = props;
    const look = { isDark, inks: inks(), isMini: false, followed, hasBeats };
    if (width > 0) painter.current?.set(layout, props.spanMs, look, width);
  }, [width, shape, props.spanMs, props.isDark, props.followed, props.hasBeats]);
  const place = (event: MouseEvent) => {
    const bounds = below.current?.getBoundingClientRect();
    return { x: event.clientX - (bounds?.left ?? 0), y: event.clientY - (bounds?.top ?? 0) };
  };
  const onMove = (event: PointerEvent) => {
    if (drag.current && event.buttons === 1) {
      const dx = event.clientX - drag.current.x;
      if (Math.abs(dx) > 3 || drag.current.moved) {
        drag.current = { x: event.clientX, moved: true };
        props.onPan((dx / Math.max(1, width)) * props.spanMs);
      }
      return;
    }
    const { x, y } = place(event);
    const slot = painter.current?.slotAt(x, y);
    if (slot !== props.pointed) props.onPoint(slot);
  };
  const onClick = (event: MouseEvent) => {
    if (drag.current?.moved) return;
    const { x, y } = place(event);
    const slot = painter.current?.slotAt(x, y);
    if (slot !== undefined && matchMedia("(hover: hover)").matches) go("task", String(yard.ring.task[slot]));
    else props.onPoint(slot);
  };
  const step = (way: number, isRow: boolean) =>
    props.onPoint(neighbour(painter.current, props.pointed, way, isRow));
  const onKeyDown = (event: KeyboardEvent) => {
    const ways = new Map<string, [number, boolean]>([
      ["ArrowLeft", [-1, false]],
      ["ArrowRight", [1, false]],
      ["ArrowUp", [-1, true]],
      ["ArrowDown", [1, true]],
    ]);
    const way = ways.get(event.key);
    if (!way) return;
    event.preventDefault();
    step(...way);
  };
  const boxOf =
    props.pointed === undefined
      ? undefined
      : painter.current?.boxOf(props.pointed, props.pausedAt ?? props.clock.right());
  return (
    <div class="stream-frame">
      <StreamAxis
        right={props.pausedAt ?? props.clock.right()}
        spanMs={props.spanMs}
        isLive={props.pausedAt === undefined}
      />
      <div class="stream-body" style={{ height: layout.height }}>
        <StreamLabels
          layout={layout}
          onOpenGroup={props.onOpenGroup}
          spanMs={props.spanMs}
          right={props.pausedAt ?? props.clock.right()}
        />
        <div
          class="stream-canvas"
          ref={box}
          tabIndex={0}
          role="application"
          aria-label="Attempts by worker over time. Arrow keys move between boxes, Enter opens the task, v shows a table."
          onPointerMove={onMove}
          onPointerDown={(event) => {
            drag.current = { x: event.clientX, moved: false };
            if (loop.current) loop.current.isDragging = true;
          }}
          onPointerUp={() => {
            if (loop.current) loop.current.isDragging = false;
            setTimeout(() => {
              drag.current = undefined;
            });
          }}
          onPointerLeave={(event) => {
            if (event.pointerType === "mouse") props.onPoint(undefined);
          }}
          onClick={onClick}
          onKeyDown={onKeyDown}
        >
          <canvas ref={below} />
          <canvas ref={above} class="stream-above" />
          {props.pointed !== undefined && boxOf && (
            <StreamCard slot={props.pointed} box={boxOf} width={width} />
          )}
        </div>
      </div>
    </div>
  );
}

/** What requires a new drawing; busy counts do not. */
function shapeOf(layout: StreamLayout): string {
  return layout.groups
    .map(
      ({ name, rows }) =>
        `${name}:${rows.map((row) => `${row.y} ${row.isBand} ${row.slots} ${row.workers.map(({ id, worker }) => `${id}${worker.state === "draining"}`).join()}`).join()}`,
    )
    .join(";");
}

/** The box before or after in its row, or the nearest in time of the row above or below. */
function neighbour(
  painter: StreamPainter | undefined,
  slot: number | undefined,
  way: number,
  isRow: boolean,
): number | undefined {
  const { ring } = yard;
  if (!painter) return undefined;
  const slots = [...ring.newestFirst()].filter((one) => painter.rowOf(one));
  if (slot === undefined) return slots[0];
  const here = painter.rowOf(slot);
  const start = ring.start[slot] as number;
  if (!isRow) {
    const own = slots
      .filter((one) => painter.rowOf(one) === here)
      .sort((a, b) => (ring.start[a] as number) - (ring.start[b] as number));
    return own[own.indexOf(slot) + way] ?? slot;
  }
  const beyond = slots.filter((one) => Math.sign((painter.rowOf(one)?.y ?? 0) - (here?.y ?? 0)) === way);
  const nearestY = Math.min(...beyond.map((one) => Math.abs((painter.rowOf(one)?.y ?? 0) - (here?.y ?? 0))));
  const row = beyond.filter((one) => Math.abs((painter.rowOf(one)?.y ?? 0) - (here?.y ?? 0)) === nearestY);
  return (
    row.sort(
      (a, b) => Math.abs((ring.start[a] as number) - start) - Math.abs((ring.start[b] as number) - start),
    )[0] ?? slot
  );
}
