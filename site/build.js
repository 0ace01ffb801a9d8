// Builds the pages of docs/ into site/dist: `npm run docs`. The result must not load anything from
// another host, and its links must lead somewhere.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "vitepress";
import { deadLinks } from "./dead-links.js";
import { writePages } from "./pages.js";

const root = fileURLToPath(new URL(".", import.meta.url));
const dist = join(root, "dist");
writePages(join(root, ".."), join(root, "pages"));
await build(root);

const foreign = readdirSync(dist, { recursive: true })
  .filter((name) => name.endsWith(".html"))
  .flatMap((name) => {
    const html = readFileSync(join(dist, name), "utf8");
    const loads = /<(?:script|link|img|iframe)\b[^>]*(?:src|href)="(?:https?:)?\/\/[^"]+"/g;
    return (html.match(loads) ?? []).map((tag) => `${name}: ${tag}`);
  });
if (foreign.length > 0) throw new Error(`pages load from another host:\n${foreign.join("\n")}`);
const dead = deadLinks(dist, process.env.DOCS_BASE ?? "/");
if (dead.length > 0) throw new Error(`links lead nowhere:\n${dead.join("\n")}`);
process.stdout.write("docs: the pages are in site/dist\n");
