// Makes a release: `npm run release -- --dry-run`, or with releases of Node to try the packages on:
// `npm run release -- --dry-run 20 22 24 26`. It checks versions and changelog, packs every
// package, checks what is in it, installs the tarballs into an empty folder and goes through a
// stranger's first minute there. Without --dry-run it then publishes them.
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { nodeRelease } from "./node-release.js";
import {
  contentMistakes,
  leftovers,
  packedPaths,
  releasedPackages,
  versionMistakes,
} from "./release/packages.js";
import { firstMinute, install } from "./release/smoke.js";

const args = process.argv.slice(2);
const isDryRun = args.includes("--dry-run");
const nodes = args.filter((arg) => /^\d+$/.test(arg));
const { version } = JSON.parse(readFileSync("package.json", "utf8"));
const packages = releasedPackages();

const work = mkdtempSync(join(tmpdir(), "yard-release-"));
try {
  stopAt(versionMistakes(packages, version, readFileSync("CHANGELOG.md", "utf8"), !isDryRun));
  if (!isDryRun) stopAt(output("git", ["status", "--porcelain"]).split("\n").filter(Boolean));
  const paths = packedPaths(".", packages);
  stopAt(packages.flatMap((each, index) => contentMistakes(each, paths[index])));
  for (const path of packages.flatMap((each, index) => leftovers(each, paths[index]))) rmSync(path);
  const tarballs = packed(join(work, "tarballs"));
  for (const node of nodes.length > 0 ? nodes : [undefined]) await tryOn(node, tarballs);
  if (isDryRun) console.log("release: dry run; nothing is published");
  else for (const tarball of tarballs) output("npm", ["publish", "--access", "public", tarball]);
} catch (fault) {
  console.error(fault.message.replace(/^/gm, "release: "));
  process.exitCode = 1;
} finally {
  rmSync(work, { recursive: true, force: true });
}

function packed(folder) {
  mkdirSync(folder);
  return packages.map(({ folder: from, manifest }) => {
    const answer = output("npm", ["pack", "--json", "--pack-destination", folder, `./${from}`]);
    const [{ filename, size, entryCount }] = Object.values(JSON.parse(answer));
    const tarball = join(folder, filename);
    // The comments are removed by a script of the package, which npm may have been told to skip.
    if (/sourceMappingURL/.test(output("tar", ["-xzOf", tarball, "--wildcards", "*.js"]))) {
      stopAt([`${manifest.name}: its files refer to source maps that it does not have`]);
    }
    console.log(`release: ${manifest.name}@${version}, ${(size / 1e3).toFixed(0)} kB, ${entryCount} files`);
    return tarball;
  });
}

async function tryOn(node, tarballs) {
  const nodeFolder = node === undefined ? undefined : nodeRelease(node);
  const folder = join(work, `on-${node ?? "this-node"}`);
  const { megabytes, packages: count, engineWarnings } = install(folder, tarballs, nodeFolder);
  stopAt(engineWarnings);
  await firstMinute(folder, nodeFolder, version);
  console.log(
    `release: on Node ${node ?? process.versions.node}: installed (${megabytes.toFixed(1)} MB, ${count} packages), started, submitted, worked, stopped`,
  );
}

function output(command, commandArgs) {
  const { status, stdout, stderr } = spawnSync(command, commandArgs, { encoding: "utf8", maxBuffer: 1e9 });
  if (status !== 0) stopAt([`${command} ${commandArgs.join(" ")}: ${stderr}`]);
  return stdout;
}

function stopAt(mistakes) {
  if (mistakes.length === 0) return;
  throw new Error(mistakes.join("\n"));
}
