// The page's address: everything it shows is behind the #, so it works below any path and every
// view can be shared.

export const views = [
  "overview",
  "stream",
  "tasks",
  "task",
  "failures",
  "workers",
  "queues",
  "wire",
  "try",
] as const;
export type View = (typeof views)[number];

export interface Route {
  readonly view: View;
  /** What the view shows: a task's id, a queue's name. */
  readonly name: string;
  readonly query: ReadonlyMap<string, string>;
}

/** The first of equal keys counts; an address that names no view is the overview. */
export function parseRoute(hash: string): Route {
  const text = hash.replace(/^#\/?/, "");
  const mark = text.indexOf("?");
  const path = mark < 0 ? text : text.slice(0, mark);
  const slash = path.indexOf("/");
  const first = slash < 0 ? path : path.slice(0, slash);
  const view = views.find((one) => one === first) ?? "overview";
  const query = new Map<string, string>();
  for (const [key, value] of new URLSearchParams(mark < 0 ? "" : text.slice(mark + 1))) {
    if (!query.has(key)) query.set(key, value);
  }
  return { view, name: slash < 0 ? "" : decoded(path.slice(slash + 1)), query };
}

export function routeText(
  view: View,
  name = "",
  query: Readonly<Record<string, string | undefined>> = {},
): string {
  const parameters = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) {
    if (value !== undefined && value !== "") parameters.set(key, value);
  }
  const tail = parameters.size > 0 ? `?${parameters}` : "";
  if (view === "overview" && name === "" && tail === "") return "#/";
  return `#/${view}${name === "" ? "" : `/${encodeURIComponent(name)}`}${tail}`;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
