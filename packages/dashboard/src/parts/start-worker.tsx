// "Start a worker…": the lines that would serve a queue, a door each.

import { reachedApi } from "../live/session.js";
import { yard } from "../live/yard.js";
import { shownLine } from "../model/shown-text.js";
import { workerLines } from "../model/worker-lines.js";
import { Code } from "./controls.js";
import { Dialog } from "./dialog.js";

export function StartWorker({ queue, onClose }: { queue: string; onClose: () => void }) {
  return (
    <Dialog label={`Start a worker for ${queue}`} class="dialog wide" onClose={onClose}>
      <h2>Start a worker for {shownLine(queue)}</h2>
      <p class="muted">
        Any of these lines makes a program a worker: it gets the payload on stdin, and what it prints is the
        result.
      </p>
      <WorkerLines queue={queue} />
      <div class="buttons">
        <button type="button" class="button" onClick={onClose}>
          Close
        </button>
      </div>
    </Dialog>
  );
}

export function WorkerLines({ queue }: { queue: string }) {
  return (
    <>
      {workerLines(queue, yard.doors, reachedApi()).map(({ door, line, note }) => (
        <div key={door}>
          <div class="row">
            <b>{door}</b>
            {note !== undefined && <span class="aside">{note}</span>}
          </div>
          <Code text={line} what={`the line for ${door}`} />
        </div>
      ))}
    </>
  );
}
