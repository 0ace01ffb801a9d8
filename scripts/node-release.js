// Other releases of Node, as npm packages that are only the binary. They are installed once, under
// node_modules/.cache.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";

/** The folder of the binary of a release such as "22". */
export function nodeRelease(release) {
  const name = `node-${process.platform}-${process.arch}`;
  const prefix = join("node_modules", ".cache", `node-${release}`);
  const folder = join(process.cwd(), prefix, "node_modules", name, "bin");
  if (!existsSync(join(folder, "node"))) {
    const args = ["install", "--prefix", prefix, "--no-save", "--no-audit", "--ignore-scripts"];
    const { status } = spawnSync("npm", [...args, `${name}@${release}`], { stdio: "inherit" });
    if (status !== 0) process.exit(status ?? 1);
  }
  return folder;
}
