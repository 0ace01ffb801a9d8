// The page at `/`: queues and workers as they are now, from the same events that anybody can follow. It is one file with
// nothing from elsewhere, and knows nothing that the API does not say; where a token is set, it asks for it.

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { operation } from "./operation.js";
import type { HttpServer } from "./server.js";

export function addPageRoute(app: HttpServer): void {
  const html = readFileSync(new URL("../../assets/page.html", import.meta.url), "utf8");
  const policy = policyFor(html);
  app.get("/", pageOperation, (_request, reply) =>
    reply
      .type("text/html; charset=utf-8")
      .header("Content-Security-Policy", policy)
      .header("Cache-Control", "no-cache")
      .header("X-Content-Type-Options", "nosniff")
      .send(html),
  );
}

/** What stands in the page may run, and nothing else, whatever a task or a worker is called. */
function policyFor(html: string): string {
  const hash = (tag: string) => {
    const inside = new RegExp(`<${tag}>([\\s\\S]*?)</${tag}>`).exec(html)?.[1] ?? "";
    return `'sha256-${createHash("sha256").update(inside).digest("base64")}'`;
  };
  return (
    `default-src 'none'; script-src ${hash("script")}; style-src ${hash("style")}; connect-src 'self'; ` +
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
  );
}

const pageOperation = operation({
  id: "getPage",
  tag: "yard",
  summary: "The page for people",
  answers: { 200: { is: "A page that follows `/v1/events`", content: { "text/html": { type: "string" } } } },
  isOpen: true,
});
