// Which methods a path has, for the answer to a request with another one. Asked only when no route fits: routing itself
// is the router's.

import type { FastifyInstance, RouteOptions } from "fastify";

interface KnownPath {
  readonly pattern: RegExp;
  /** Characters of the path that are no parameter's: of two paths that fit, the one with more of them is meant. */
  readonly literals: number;
  readonly methods: Set<string>;
}

export class KnownPaths {
  readonly #paths = new Map<string, KnownPath>();

  /** From now on: routes that were added before are not seen. */
  watch(app: Pick<FastifyInstance, "addHook">): void {
    app.addHook("onRoute", (route) => this.#add(route));
  }

  /** The methods of the path that this URL means, in order; none for a path that nobody knows. */
  methodsOf(url: string): readonly string[] {
    const path = url.split("?", 1)[0] ?? "";
    let best: KnownPath | undefined;
    for (const known of this.#paths.values()) {
      if (known.pattern.test(path) && known.literals > (best?.literals ?? 0)) best = known;
    }
    return [...(best?.methods ?? [])].sort();
  }

  #add({ url, method }: RouteOptions): void {
    const known = this.#paths.get(url) ?? knownPath(url);
    for (const each of [method].flat()) known.methods.add(each);
    this.#paths.set(url, known);
  }
}

/** `/v1/queues/:queue(.*)::claim`, as the router has it: a parameter, and `::` for a colon. */
function knownPath(url: string): KnownPath {
  const parts = url.split(/(::|:\w+(?:\([^)]*\))?)/);
  let literals = 0;
  let pattern = "";
  for (const [index, part] of parts.entries()) {
    const isParameter = /^:\w/.test(part);
    const text = part === "::" ? ":" : part;
    // What follows the last colon of a path's last part is a verb, and one that nobody knows is not an id's end.
    if (isParameter) pattern += parts.slice(index + 1).join("") === "" ? "[^/:]+" : "[^/]+";
    else pattern += text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
    if (!isParameter) literals += text.length;
  }
  return { pattern: new RegExp(`^${pattern}$`), literals, methods: new Set() };
}
