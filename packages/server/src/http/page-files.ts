// The files of the built page in memory, with their types and compressed forms. They are read once,
// at the start. Every file except index.html has a hash in its name, so a browser may cache it
// forever.

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";

export interface PageFile {
  readonly type: string;
  readonly bytes: Buffer;
  readonly brotli: Buffer | undefined;
  readonly gzip: Buffer | undefined;
}

/** One way to send a file. */
export interface SentForm {
  readonly bytes: Buffer;
  readonly encoding: "br" | "gzip" | undefined;
}

const types: ReadonlyMap<string, string> = new Map([
  [".html", "text/html; charset=utf-8"],
  [".js", "text/javascript; charset=utf-8"],
  [".css", "text/css; charset=utf-8"],
  [".svg", "image/svg+xml"],
]);

/** Shown in a clone in which the page was not built. */
const notBuilt: PageFile = {
  type: "text/html; charset=utf-8",
  bytes: Buffer.from(
    "<!doctype html><title>Yardmaster</title><p>The page is not built. Run <code>npm run build</code>, then start again.",
  ),
  brotli: undefined,
  gzip: undefined,
};

export class PageFiles {
  readonly index: PageFile;
  readonly #assets = new Map<string, PageFile>();

  constructor(folder = fileURLToPath(new URL("../../assets/page", import.meta.url))) {
    this.index = existsSync(join(folder, "index.html")) ? readFile(join(folder, "index.html")) : notBuilt;
    const assets = join(folder, "assets");
    if (!existsSync(assets)) return;
    for (const name of readdirSync(assets)) {
      if (types.has(extname(name))) this.#assets.set(name, readFile(join(assets, name)));
    }
  }

  asset(name: string): PageFile | undefined {
    return this.#assets.get(name);
  }
}

/** The smallest form that the browser can read. */
export function sentForm(file: PageFile, acceptEncoding: string | undefined): SentForm {
  const accepted = new Set((acceptEncoding ?? "").split(",").map((part) => part.trim()));
  if (file.brotli && accepted.has("br")) return { bytes: file.brotli, encoding: "br" };
  if (file.gzip && accepted.has("gzip")) return { bytes: file.gzip, encoding: "gzip" };
  return { bytes: file.bytes, encoding: undefined };
}

function readFile(path: string): PageFile {
  const optional = (name: string) => (existsSync(name) ? readFileSync(name) : undefined);
  return {
    type: types.get(extname(path)) ?? "application/octet-stream",
    bytes: readFileSync(path),
    brotli: optional(`${path}.br`),
    gzip: optional(`${path}.gz`),
  };
}
