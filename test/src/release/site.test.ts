// The pages of the docs before VitePress sees them: pictures that match their texts, and links that
// are rewritten for the site.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";

const root = new URL("../../../", import.meta.url);

interface Dialogues {
  pictures(): [name: string, svg: string][];
}
interface Pages {
  withSiteLinks(
    text: string,
    page: string,
    pages: ReadonlySet<string>,
    isFile: (path: string) => boolean,
  ): string;
}
const dialogues = (await import(new URL("scripts/dialogues.js", root).href)) as Dialogues;
const site = (await import(new URL("site/pages.js", root).href)) as Pages;

test("each dialect's page shows its dialogue, drawn from its text", () => {
  const names = dialogues.pictures().map(([name]) => name);
  assert.deepEqual(
    names,
    ["bridging", "http", "monique", "pingpong", "pulse", "scaler", "udp"].map((name) => `${name}.svg`),
  );
  for (const [name, svg] of dialogues.pictures()) {
    const path = new URL(`docs/images/dialogues/${name}`, root);
    assert.equal(readFileSync(path, "utf8"), svg, `${name} is old: npm run dialogues`);
    const page = name === "http.svg" ? "docs/http.md" : `docs/dialects/${name.replace("svg", "md")}`;
    assert.ok(readFileSync(new URL(page, root), "utf8").includes(`images/dialogues/${name})`), page);
  }
});

test("every page of docs/ is in the sidebar", () => {
  const config = readFileSync(new URL("site/.vitepress/config.js", root), "utf8");
  const pages = readdirSync(new URL("docs", root)).filter((name) => name.endsWith(".md"));
  assert.ok(pages.length > 15);
  for (const name of pages.filter((page) => page !== "index.md"))
    assert.ok(config.includes(`"/${name.replace(".md", "")}"`), name);
});

test("links lead to pages of the site, or become text", () => {
  const pages = new Set(["README.md", "docs/http.md", "docs/dialects/udp.md", "docs/decisions/README.md"]);
  const isFile = (path: string) => path.startsWith("docs/deploy/") || path.startsWith("packages/");
  const written = (text: string, page: string) => site.withSiteLinks(text, page, pages, isFile);
  assert.equal(written("[a](../http.md#x)", "docs/dialects/udp.md"), "[a](../http.md#x)");
  assert.equal(written("[a](../README.md)", "docs/http.md"), "[a](./repository/README.md)");
  assert.equal(written("[a](docs/http.md)", "README.md"), "[a](../http.md)");
  assert.equal(written("[a](docs/decisions)", "README.md"), "[a](../decisions/README.md)");
  assert.equal(written("![a](docs/images/b.png)", "README.md"), "![a](../images/b.png)");
  assert.equal(written("[a](deploy/b.yaml)", "docs/http.md"), "[a](/deploy/b.yaml)");
  assert.equal(
    written("[a](deploy/Containerfile)", "docs/http.md"),
    "[a](/deploy/Containerfile.txt)",
    "VitePress would take it for a page",
  );
  assert.equal(written("see [`a.ts`](../packages/a.ts).", "docs/http.md"), "see `a.ts`.");
  assert.equal(
    written("[a](https://example.org) [b](#c)", "docs/http.md"),
    "[a](https://example.org) [b](#c)",
  );
});

test("code stays unchanged, and comments are left out", () => {
  const code = "```sh\n[a](../nowhere) <!-- b -->\n```\n";
  const text = `<!-- tour -->\n${code}\`[a](../nowhere)\`\n`;
  assert.equal(
    site.withSiteLinks(text, "docs/http.md", new Set(), () => false),
    `${code}\`[a](../nowhere)\`\n`,
  );
  const inList = `1. one\n\n   <!-- not run: why -->\n   ${code.replace(/\n(?=.)/g, "\n   ")}`;
  assert.equal(
    site.withSiteLinks(inList, "docs/http.md", new Set(), () => false),
    inList.replace(/ *<!-- not run.*\n/, ""),
  );
});
