// A task's life as a timeline: its own line on top, a row for each attempt, and strings between a
// loss and the next.

import { useEffect, useRef, useState } from "preact/hooks";
import type { Task } from "../live/api-shapes.js";
import { yard } from "../live/yard.js";
import { colourAt, textOn } from "../model/queue-colours.js";
import { reasonClause } from "../model/reasons.js";
import { shortened, shownLine } from "../model/shown-text.js";
import { attemptsOf, shortWorker, type ToldAttempt } from "../model/story.js";
import { duration, fineDuration, timeStep } from "../model/time.js";
import { SignAt } from "../parts/sign.js";
import { useDark } from "../parts/theme.js";

const leftPx = 190;
const rowPx = 44;
const topPx = 58;
/** A letter's mean width at 12 px, a little more than that of the widest system font. */
const letterPx = 6.4;
/** A poison task may have been tried a thousand times; the last ones tell enough. */
const shownMax = 12;

interface Scale {
  x(at: number): number;
  readonly width: number;
  readonly end: number;
}

export function Timeline({ task }: { task: Task }) {
  const isDark = useDark();
  const box = useRef<HTMLDivElement>(null);
  const [boxWidth, setWidth] = useState(1300);
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const observer = new ResizeObserver(() => setWidth(Math.max(760, element.clientWidth - 32)));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  const all = attemptsOf(task);
  const attempts = all.slice(-shownMax);
  const submitted = Date.parse(task.submittedAt);
  const now = yard.now();
  const lease = task.leaseUntil ? Date.parse(task.leaseUntil) : 0;
  const late = Math.max(0, ...attempts.map(({ lateAt }) => lateAt ?? 0));
  const ended =
    task.finishedAt === null
      ? Math.max(now, task.state === "running" ? Math.min(lease, now + 60_000) : 0)
      : Date.parse(task.finishedAt);
  const end = Math.max(ended, late, submitted + 1);
  const right = boxWidth - 24;
  const scale: Scale = {
    width: right,
    end,
    x: (at) => leftPx + ((at - submitted) / (end - submitted)) * (right - leftPx),
  };
  const height = topPx + attempts.length * rowPx + 8;
  const colour = colourAt(yard.colours.indexOf(task.queue), isDark);
  return (
    <div class="timeline scroll-x" ref={box} tabIndex={0} role="group" aria-label="Attempts over time">
      {all.length > attempts.length && (
        <p class="aside">The first {all.length - attempts.length} attempts are in the full story.</p>
      )}
      <svg
        width={boxWidth}
        height={height}
        role="img"
        aria-label="Attempts over time; Compact and Full story say the same in words"
      >
        <Hatching colour={colour} />
        <Axis submitted={submitted} scale={scale} height={height} />
        <TaskLine task={task} attempts={attempts} scale={scale} now={now} />
        {attempts.map((attempt, at) => {
          const before = attempts[at - 1];
          if (!before || before.end === undefined) return null;
          const y = topPx + 28 + at * rowPx;
          return (
            <path
              key={attempt.number}
              d={`M${scale.x(before.end)} ${y - rowPx + 8}L${scale.x(attempt.start)} ${y}`}
              class="timeline-string"
            />
          );
        })}
        {attempts.map((attempt, at) => (
          <AttemptBar
            key={attempt.number}
            attempt={attempt}
            y={topPx + 28 + at * rowPx}
            scale={scale}
            colour={colour}
            now={now}
            lease={lease}
          />
        ))}
      </svg>
    </div>
  );
}

function Hatching({ colour }: { colour: string }) {
  return (
    <defs>
      <pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
        <rect width="2.4" height="6" fill={colour} />
      </pattern>
    </defs>
  );
}

function Axis({ submitted, scale, height }: { submitted: number; scale: Scale; height: number }) {
  const stepMs = timeStep(scale.end - submitted, 8);
  const marks = [];
  for (let ms = 0; ms <= scale.end - submitted; ms += stepMs) marks.push(ms);
  return (
    <g class="timeline-axis">
      {marks.map((ms) => (
        <g key={ms}>
          <path d={`M${scale.x(submitted + ms)} 24V${height}`} />
          <text x={scale.x(submitted + ms)} y="14" text-anchor={ms === 0 ? "start" : "middle"}>
            {ms === 0 ? "0 s" : duration(ms)}
          </text>
        </g>
      ))}
    </g>
  );
}

function TaskLine({
  task,
  attempts,
  scale,
  now,
}: {
  task: Task;
  attempts: readonly ToldAttempt[];
  scale: Scale;
  now: number;
}) {
  const y = 52;
  const submitted = Date.parse(task.submittedAt);
  const finished = task.finishedAt === null ? undefined : Date.parse(task.finishedAt);
  const end = finished ?? now;
  const endWords = `${task.state}${task.told ? ", outcome delivered" : ""}`;
  return (
    <g>
      <text class="timeline-label" x="0" y={y + 4}>
        Task
      </text>
      <path d={`M${scale.x(submitted)} ${y}H${scale.x(end)}`} class="timeline-waits" />
      {attempts.map(({ number, start, end: ended }) => (
        <rect
          key={number}
          x={scale.x(start)}
          y={y - 5}
          width={Math.max(1.5, scale.x(ended ?? now) - scale.x(start) - 1)}
          height="10"
          class="timeline-runs"
        />
      ))}
      {attempts.map(({ number, start }, at) => (
        <Wait
          key={number}
          from={attempts[at - 1]?.end}
          to={start}
          y={y - 12}
          scale={scale}
          rightPx={finished === undefined ? Infinity : scale.x(finished) - endWords.length * letterPx - 8}
        />
      ))}
      <circle cx={scale.x(submitted)} cy={y} r="5" class="timeline-ring" />
      <text class="timeline-note" x={scale.x(submitted) + 2} y={y - 12}>
        submitted
      </text>
      {finished !== undefined && (
        <>
          <text class="timeline-note" x={scale.x(finished)} y={y - 12} text-anchor="end">
            {endWords}
          </text>
          <SignAt name={task.state} x={scale.x(finished) + 4} y={y} size={13} />
        </>
      )}
    </g>
  );
}

/** How long the task waited between two attempts, where there is room to say so. */
function Wait(props: {
  from: number | undefined;
  to: number;
  y: number;
  scale: Scale;
  /** Here the words at the end begin. */
  rightPx: number;
}) {
  const { from, to, y, scale, rightPx } = props;
  if (from === undefined) return null;
  const words = `waited ${fineDuration(to - from)}`;
  const width = words.length * letterPx;
  if (scale.x(to) - scale.x(from) < width + 8) return null;
  if ((scale.x(from) + scale.x(to) + width) / 2 > rightPx) return null;
  return (
    <text class="timeline-note" x={(scale.x(from) + scale.x(to)) / 2} y={y} text-anchor="middle">
      {words}
    </text>
  );
}

function AttemptBar(props: {
  attempt: ToldAttempt;
  y: number;
  scale: Scale;
  colour: string;
  now: number;
  lease: number;
}) {
  const { attempt, y, scale, colour, now, lease } = props;
  const [x0, x1] = [scale.x(attempt.start), scale.x(attempt.end ?? now)];
  const width = Math.max(2, x1 - x0);
  const isLost = attempt.ending === "lost" || attempt.ending === "returned";
  const words = barWords(attempt, now);
  const isInside = !isLost && width > words.length * 7.4 + 24;
  const isRight = !isInside && attempt.lateAt === undefined && x1 + words.length * 7 + 14 < scale.width;
  return (
    <g>
      <text class="timeline-label" x="0" y={y + 13}>
        Attempt {attempt.number}
      </text>
      <text class="timeline-worker" x={leftPx - 14} y={y + 13} text-anchor="end">
        {shownLine(shortened(shortWorker(attempt.worker), 14))}
      </text>
      <rect
        x={x0}
        y={y}
        width={width}
        height="17"
        fill={isLost ? "url(#hatch)" : colour}
        stroke={isLost ? colour : "none"}
      />
      {attempt.ending === "failed" && (
        <rect x={x0} y={y + 14} width={width} height="3" class="timeline-failed" />
      )}
      {attempt.ending === "running" && lease > now && (
        <rect
          x={x1}
          y={y + 0.5}
          width={Math.max(0, scale.x(Math.min(lease, scale.end)) - x1)}
          height="16"
          class="timeline-lease"
          stroke={colour}
        />
      )}
      {isLost && <Cross x={x1} y={y + 8.5} />}
      <text
        class={isInside ? "timeline-inside" : "timeline-words"}
        style={isInside ? { fill: textOn(colour) } : undefined}
        x={isInside ? x0 + 10 : isRight ? x1 + 14 : x1 - 10}
        y={isRight || isInside ? y + 13 : y - 5}
        text-anchor={isRight || isInside ? "start" : "end"}
      >
        {shownLine(words)}
      </text>
      {attempt.lateAt !== undefined && attempt.end !== undefined && (
        <LateAnswer attempt={attempt} y={y + 8.5} scale={scale} />
      )}
    </g>
  );
}

function LateAnswer({ attempt, y, scale }: { attempt: ToldAttempt; y: number; scale: Scale }) {
  const [from, to] = [scale.x(attempt.end ?? 0), scale.x(attempt.lateAt ?? 0)];
  const late = duration((attempt.lateAt ?? 0) - (attempt.end ?? 0));
  const fits = (words: string) => to + 12 + words.length * letterPx < scale.width + 24;
  const long = `its answer came ${late} too late and was refused`;
  const words = fits(long) ? long : `refused, ${late} too late`;
  const isRight = fits(words);
  return (
    <g>
      <path d={`M${from + 8} ${y}H${to}`} class="timeline-late" />
      <Cross x={to} y={y} />
      <text
        class="timeline-words"
        x={isRight ? to + 12 : to}
        y={isRight ? y + 4 : y + 20}
        text-anchor={isRight ? "start" : "end"}
      >
        {words}
      </text>
    </g>
  );
}

function Cross({ x, y }: { x: number; y: number }) {
  return <path d={`M${x - 5} ${y - 5}l10 10m0 -10l-10 10`} class="timeline-cross" />;
}

function barWords({ ending, reason, start, end, lateAt }: ToldAttempt, now: number): string {
  const took = fineDuration((end ?? now) - start);
  switch (ending) {
    case "done":
      return `done in ${took}`;
    case "running":
      return `running for ${took}`;
    case "lost":
      return lateAt === undefined
        ? `lost after ${took}: ${reasonClause(reason.split(":")[0] ?? "")}`
        : `lost: ${reasonClause(reason.split(":")[0] ?? "")}`;
    case "returned":
      return `given back after ${took}: ${reasonClause(reason)}`;
    default:
      return `${ending} after ${took}${reason === "" ? "" : `: ${shortened(reason, 60)}`}`;
  }
}
