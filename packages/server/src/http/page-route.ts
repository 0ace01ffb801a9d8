// The page at `/` and its files. The page gets all its data from the API. If a token is set, the
// page asks for it, so the page's own files are open to everyone who can reach this door.

import type { FastifyReply } from "fastify";
import * as z from "zod";
import { anyBytes, operation } from "./operation.js";
import { type PageFile, PageFiles, sentForm } from "./page-files.js";
import { Problem } from "./problems.js";
import type { HttpServer } from "./server.js";

/**
 * Only our own scripts and styles run, whatever a task or a worker is called. Images of payloads
 * come from blobs.
 */
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

export function addPageRoute(app: HttpServer, files = new PageFiles()): void {
  app.get("/", pageOperation, ({ headers }, reply) =>
    sendFile(reply, files.index, headers["accept-encoding"], "no-cache"),
  );

  app.get("/assets/:file", assetOperation, ({ headers, params }, reply) => {
    const file = files.asset(params.file);
    if (file === undefined) throw new Problem("not_found", `the page has no file ${params.file}`);
    const forEver = "public, max-age=31536000, immutable";
    return sendFile(reply, file, headers["accept-encoding"], forEver);
  });
}

function sendFile(
  reply: FastifyReply,
  file: PageFile,
  acceptEncoding: string | string[] | undefined,
  cacheControl: string,
): FastifyReply {
  const { bytes, encoding } = sentForm(file, acceptEncoding?.toString());
  if (encoding !== undefined) reply.header("Content-Encoding", encoding);
  return reply
    .type(file.type)
    .header("Cache-Control", cacheControl)
    .header("Vary", "Accept-Encoding")
    .header("Content-Security-Policy", policy)
    .header("X-Content-Type-Options", "nosniff")
    .header("Referrer-Policy", "no-referrer")
    .send(bytes);
}

const pageOperation = operation({
  id: "getPage",
  tag: "yard",
  summary: "The page for people",
  answers: { 200: { is: "A page that follows `/v1/events`", content: { "text/html": { type: "string" } } } },
});

const assetOperation = operation({
  id: "getPageFile",
  tag: "yard",
  summary: "A script, style or image of the page",
  description: "Its name has a hash of its content, so it may be kept for ever.",
  path: z.object({ file: z.string().min(1).max(200) }),
  answers: { 200: { is: "The file", content: anyBytes } },
  problems: ["not_found"],
});
