// The Markdown of the repository as pages of the site. docs/ becomes the root of the site; the
// documents outside it, such as the README, go below repository/. Links are rewritten to match: one
// to a file that is neither a page nor beside the docs becomes plain text.
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, posix } from "node:path";

const outside = ["README.md", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"];

/** Writes the pages into an empty folder `to`. */
export function writePages(root, to) {
  rmSync(to, { recursive: true, force: true });
  cpSync(join(root, "docs"), to, { recursive: true });
  // What is not a page is served as it is.
  for (const file of filesIn(join(root, "docs"))) {
    if (!file.endsWith(".md") && !file.startsWith("images/"))
      cpSync(join(root, "docs", file), join(to, "public", servedAs(file)));
  }
  const packages = readdirSync(join(root, "packages")).map((name) => `packages/${name}/README.md`);
  const pages = [
    ...filesIn(join(root, "docs"))
      .filter((file) => file.endsWith(".md"))
      .map((file) => `docs/${file}`),
    ...[...outside, ...packages].filter((file) => existsSync(join(root, file))),
  ];
  const isFile = (path) => existsSync(join(root, path));
  for (const page of pages) {
    const text = readFileSync(join(root, page), "utf8");
    const written = join(to, placeOf(page));
    mkdirSync(dirname(written), { recursive: true });
    writeFileSync(written, withSiteLinks(text, page, new Set(pages), isFile));
  }
}

function filesIn(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => posix.relative(folder, posix.join(entry.parentPath, entry.name)));
}

/** Where a file of the repository is in the site. */
function placeOf(path) {
  return path.startsWith("docs/") ? path.slice("docs/".length) : `repository/${path}`;
}

/** VitePress takes a link with an ending that it does not know for one to a page. */
function servedAs(file) {
  return /\.(?:ya?ml|json)$/.test(file) ? file : `${file}.txt`;
}

/** `page`: the path of the text in the repository. */
export function withSiteLinks(text, page, pages, isFile) {
  const parts = text.split(/(^ *```[\s\S]*?^ *```$|`[^`\n]+`(?!\]))/m);
  return parts
    .map((part, index) => {
      if (index % 2 === 1) return part;
      // Comments mark what tests run. The site shows tags as text, and these too.
      return part
        .replace(/^ *<!--.*-->\n/gm, "")
        .replace(/(!?)\[([^\]]*)\]\(([^)\s]+)\)/g, (whole, image, words, target) => {
          if (/^(?:[a-z]+:|#)/.test(target)) return whole;
          const link = siteLink(target, page, pages, isFile);
          return link === undefined ? words : `${image}[${words}](${link})`;
        });
    })
    .join("");
}

function siteLink(target, page, pages, isFile) {
  const [path, anchor] = target.split("#");
  const named = posix.join(posix.dirname(page), path);
  const isFolderOfPages = pages.has(posix.join(named, "README.md"));
  const found = isFolderOfPages ? posix.join(named, "README.md") : named;
  const from = posix.dirname(placeOf(page));
  if (pages.has(found) || found.startsWith("docs/images/")) {
    const to = posix.relative(from, placeOf(found));
    return `${to.startsWith(".") ? to : `./${to}`}${anchor === undefined ? "" : `#${anchor}`}`;
  }
  return found.startsWith("docs/") && isFile(found) ? `/${servedAs(placeOf(found))}` : undefined;
}
