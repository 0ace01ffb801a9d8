// The methods of each path, for the answer to a request with another method. Used only when no
// route matches.

import type { FastifyInstance, RouteOptions } from "fastify";

interface KnownPath {
  readonly pattern: RegExp;
  /** Number of literal characters. If two paths match, the one with more of them is meant. */
  readonly literals: number;
  readonly methods: Set<string>;
}

export class KnownPaths {
  readonly #paths = new Map<string, KnownPath>();

  /** Sees only routes that are added after this call. */
  watch(app: Pick<FastifyInstance, "addHook">): void {
    app.addHook("onRoute", (route) => this.#add(route));
  }

  /** The methods of the path that this URL means, in order; empty for an unknown path. */
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

/**
 * Parses a path in the router's notation, such as `/v1/queues/:queue(.*)::claim`: `:name` is a
 * parameter, `::` a colon.
 */
function knownPath(url: string): KnownPath {
  const parts = url.split(/(::|:\w+(?:\([^)]*\))?)/);
  let literals = 0;
  let pattern = "";
  for (const [index, part] of parts.entries()) {
    const isParameter = /^:\w/.test(part);
    const text = part === "::" ? ":" : part;
    // In a path's last part, the text after the last colon is a verb. An unknown verb is not part
    // of an id.
    if (isParameter) pattern += parts.slice(index + 1).join("") === "" ? "[^/:]+" : "[^/]+";
    else pattern += text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
    if (!isParameter) literals += text.length;
  }
  return { pattern: new RegExp(`^${pattern}$`), literals, methods: new Set() };
}
