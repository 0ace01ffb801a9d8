// Builds the page into the server package, where its files are served from, unless nothing has
// changed since the last build. Each file that compresses well also lies there as .br and .gz, so
// that the server never compresses anything.
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { build } from "vite";

const root = fileURLToPath(new URL(".", import.meta.url));
const page = join(root, "../server/assets/page");
const sources = ["src", "public", "index.html", "vite.config.js", "build.js", "package.json"];
/** Below this a compressed file saves no packet. */
const compressedBytesMin = 1_000;

/** The latest change of a file, or of any file in a folder. */
function changedAt(path) {
  if (!existsSync(path)) return 0;
  const { mtimeMs } = statSync(path);
  if (!statSync(path).isDirectory()) return mtimeMs;
  return Math.max(mtimeMs, ...readdirSync(path).map((name) => changedAt(join(path, name))));
}

function compress(folder) {
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    if (statSync(path).isDirectory()) compress(path);
    else if (/\.(html|js|css|svg)$/.test(name)) {
      const bytes = readFileSync(path);
      if (bytes.length < compressedBytesMin) continue;
      const params = { [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length };
      writeFileSync(`${path}.br`, brotliCompressSync(bytes, { params }));
      writeFileSync(`${path}.gz`, gzipSync(bytes, { level: 9 }));
    }
  }
}

const latest = Math.max(...sources.map((name) => changedAt(join(root, name))));
if (latest > changedAt(join(page, "index.html"))) {
  await build({ root, configFile: join(root, "vite.config.js") });
  compress(page);
}
