// What a task belongs to and waits for: its group, its schedule, and the tasks before and after it.

import type { Task } from "../live/api-shapes.js";
import { getJson } from "../live/session.js";
import { usePolled } from "../live/ticker.js";
import { count } from "../model/numbers.js";
import { routeText } from "../model/route.js";
import { shownLine } from "../model/shown-text.js";
import { isFinished } from "../model/task-states.js";
import { Sign } from "../parts/sign.js";

/** Tasks that are named; the others are counted. */
const namedMax = 4;

export function Relations({ task }: { task: Task }) {
  const { group, schedule, after = [], dependents = [] } = task;
  return (
    <>
      {group && (
        <span class="chip">
          <span class="key">group</span> <code class="truncate">{shownLine(group)}</code>
        </span>
      )}
      {schedule && (
        <span class="chip">
          <span class="key">schedule</span> <code class="truncate">{shownLine(schedule)}</code>
        </span>
      )}
      {after.length > 0 && <Others of={task} name="after" ids={after} />}
      {dependents.length > 0 && <Others of={task} name="dependents" ids={dependents} />}
    </>
  );
}

function Others({ of, name, ids }: { of: Task; name: string; ids: readonly string[] }) {
  const named = ids.slice(0, namedMax);
  // What comes after a task changes at its end at the latest, and is asked once more then.
  const isOver = isFinished(of.state);
  const { answer: states } = usePolled(`states ${named.join()} ${isOver}`, isOver ? 0 : 2_000, () =>
    Promise.all(named.map(stateOf)),
  );
  return (
    <span class="chip relations">
      <span class="key">{name}</span>
      {named.map((id, at) => {
        const state = states?.[at];
        return (
          <a key={id} class="link" href={routeText("task", id)}>
            {state && <Sign name={state} label={state} />}
            {id}
          </a>
        );
      })}
      {ids.length > named.length && <span class="faint">and {count(ids.length - named.length)} more</span>}
    </span>
  );
}

/** Undefined if it is no longer kept, or may not be read. */
function stateOf(id: string): Promise<Task["state"] | undefined> {
  return getJson<Task>(`v1/tasks/${encodeURIComponent(id)}`).then(
    ({ state }) => state,
    () => undefined,
  );
}
