// Packages ship without source maps, so their files must not refer to any. `drop`, before a package
// is packed, removes the last comment of each compiled file; `restore` puts it back. npm runs both
// in the package's folder.
import { existsSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";

const drop = process.argv[2] === "drop";
for (const name of readdirSync("dist", { recursive: true })) {
  const path = join("dist", name);
  if (!path.endsWith(".js") || !existsSync(`${path}.map`)) continue;
  const comment = `//# sourceMappingURL=${basename(path)}.map`;
  const source = readFileSync(path, "utf8");
  const body = source.replace(comment, "").trimEnd();
  const wanted = drop ? `${body}\n` : `${body}\n${comment}`;
  if (wanted === source) continue;
  // Renamed, because another process may be loading the file.
  writeFileSync(`${path}.new`, wanted);
  renameSync(`${path}.new`, path);
}
