// Bulk actions over http.

import type { Action, ActionOptions } from "../actions.js";
import { pause } from "../pause.js";
import type { HttpConnection, HttpRequest } from "./connection.js";

/** Time between two checks of an action: short at first, because most actions are. */
const firstPauseMs = 20;
const pauseMsMax = 500;

export function actionPath(action: string | Action): string {
  return `/v1/actions/${encodeURIComponent(typeof action === "string" ? action : action.id)}`;
}

/** Not repeated after a lost connection: a second retry would submit the tasks twice. */
export function beginAction(connection: HttpConnection, path: string, filter: object = {}): Promise<Action> {
  return connection.json(path, { method: "POST", query: filter as NonNullable<HttpRequest["query"]> });
}

export async function actionEnd(
  connection: HttpConnection,
  action: string | Action,
  { signal, onProgress }: ActionOptions,
): Promise<Action> {
  const path = actionPath(action);
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 1.5, pauseMsMax)) {
    const seen = await connection.json<Action>(path, { signal });
    onProgress?.(seen);
    if (seen.state !== "running") return seen;
    await pause(pauseMs, signal);
    signal?.throwIfAborted();
  }
}
