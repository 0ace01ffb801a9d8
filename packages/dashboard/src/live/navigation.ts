// Where the page is: the address behind the #, read and written by everything that moves.

import { parseRoute, type Route, routeText, type View } from "../model/route.js";
import { useChanges } from "./ticker.js";

/** What is drawn. It follows the address when the browser reports a change, for all views. */
let drawn = route();
const listeners = new Set<() => void>();

export function startNavigation(): void {
  addEventListener("hashchange", changed);
}

/**
 * The address as it is now. The browser changes it at once and reports that later, so whatever acts
 * on the address asks here and not for the route that is drawn.
 */
export function route(): Route {
  return parseRoute(globalThis.location?.hash ?? "");
}

export function useRoute(): Route {
  useChanges((changed) => {
    listeners.add(changed);
    return () => listeners.delete(changed);
  });
  return drawn;
}

export function go(view: View, name = "", query: Readonly<Record<string, string | undefined>> = {}): void {
  location.hash = routeText(view, name, query);
}

/**
 * Changes parts of the query of a view, without a step in the history; `undefined` takes one out.
 * Does nothing if another view is shown by now: the change was meant for the one that is gone.
 */
export function changeQuery(view: View, changes: Readonly<Record<string, string | undefined>>): void {
  const current = route();
  if (current.view !== view) return;
  const query = { ...Object.fromEntries(current.query), ...changes };
  history.replaceState(null, "", routeText(current.view, current.name, query));
  changed();
}

function changed(): void {
  drawn = route();
  for (const listener of listeners) listener();
}

export function tasksLink(query: string): string {
  return routeText("tasks", "", { q: query });
}
