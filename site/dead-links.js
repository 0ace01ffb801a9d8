// Links between the built pages that lead nowhere: to a file that is not there, or to a heading
// that the page does not have.
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";

/** One line for each. `base` is the path below which the site is served. */
export function deadLinks(dist, base) {
  const pages = readdirSync(dist, { recursive: true }).filter((name) => name.endsWith(".html"));
  const html = new Map(pages.map((name) => [join(dist, name), readFileSync(join(dist, name), "utf8")]));
  return [...html].flatMap(([page, text]) =>
    [...text.matchAll(/<a\b[^>]*\bhref="([^"]+)"/g)]
      .map(([, href]) => href.replaceAll("&amp;", "&"))
      .filter((href) => !/^[a-z]+:/.test(href) && isDead(href, page))
      .map((href) => `${page}: ${href}`),
  );

  function isDead(href, page) {
    const [path, anchor] = href.split("#");
    const target = fileOf(decodeURI(path), page);
    if (target === undefined) return true;
    return (
      anchor !== undefined && html.get(target)?.includes(` id="${decodeURIComponent(anchor)}"`) === false
    );
  }

  function fileOf(path, page) {
    if (path === "") return page;
    const named = path.startsWith(base) ? join(dist, path.slice(base.length)) : join(dirname(page), path);
    const file = existsSync(named) && statSync(named).isDirectory() ? join(named, "index.html") : named;
    return existsSync(file) ? file : undefined;
  }
}
