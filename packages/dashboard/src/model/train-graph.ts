// The train graph: a line for each task, from submitted over started to finished. Steep is quick,
// flat is waiting. Lines of one kind are one path, so that hundreds of tasks are a handful of
// elements.

import type { Task } from "../live/api-shapes.js";
import { attemptsOf, type ToldAttempt } from "./story.js";

export interface TrainGraph {
  readonly plain: string;
  readonly failed: string;
  readonly lost: string;
  /** Ends of failed and of lost attempts: crosses. */
  readonly crosses: readonly (readonly [x: number, y: number])[];
  readonly drawn: number;
}

export interface TrainScale {
  readonly from: number;
  readonly to: number;
  readonly width: number;
  readonly submittedY: number;
  readonly startedY: number;
  readonly finishedY: number;
}

const linesMax = 400;

export function trainGraph(tasks: readonly Task[], scale: TrainScale): TrainGraph {
  const step = Math.max(1, Math.ceil(tasks.length / linesMax));
  const shown = tasks.filter((task, at) => at % step === 0 || task.state === "failed");
  const paths = { plain: "", failed: "", lost: "" };
  const crosses: [number, number][] = [];
  for (const task of shown.slice(0, linesMax)) {
    const { line, lost, isFailed } = taskLine(task, scale, crosses);
    if (isFailed) paths.failed += line;
    else paths.plain += line;
    paths.lost += lost;
  }
  return { ...paths, crosses, drawn: Math.min(shown.length, linesMax) };
}

function taskLine(task: Task, scale: TrainScale, crosses: [number, number][]) {
  const x = (at: number) => Math.round(((at - scale.from) / (scale.to - scale.from)) * scale.width * 10) / 10;
  const { submittedY, startedY, finishedY } = scale;
  const submitted = Math.max(scale.from, Date.parse(task.submittedAt));
  const attempts = drawnAttempts(task);
  let line = `M${x(submitted)} ${submittedY}`;
  let lost = "";
  for (const [at, { start, end, ending }] of attempts.entries()) {
    line += `L${x(start)} ${startedY}`;
    if (end === undefined) line += `L${x(scale.to)} ${(startedY + finishedY) / 2}`;
    else if (ending === "lost" || ending === "returned") {
      const y = (startedY + finishedY) / 2;
      const next = attempts[at + 1];
      line += `L${x(end)} ${y}`;
      crosses.push([x(end), y]);
      lost += `M${x(end)} ${y}L${x(next?.start ?? scale.to)} ${startedY}`;
      if (next) line += `M${x(next.start)} ${startedY}`;
    } else {
      line += `L${x(end)} ${finishedY}`;
      if (ending === "failed") crosses.push([x(end), finishedY]);
    }
  }
  if (attempts.length === 0) {
    const end = task.finishedAt === null ? scale.to : Date.parse(task.finishedAt);
    line += `L${x(end)} ${submittedY + 2}`;
  }
  return { line, lost, isFailed: task.state === "failed" };
}

/** A long story may have lost its first entries; then the task's own times are one attempt. */
function drawnAttempts(task: Task): Pick<ToldAttempt, "start" | "end" | "ending">[] {
  const told = attemptsOf(task);
  if (told.length > 0 || task.startedAt === null) return told;
  const end = task.finishedAt === null ? undefined : Date.parse(task.finishedAt);
  return [{ start: Date.parse(task.startedAt), end, ending: task.state === "waiting" ? "lost" : task.state }];
}
