// The packages of a release: which they are, what is wrong with their versions, and what is wrong
// with the files that npm would pack.
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const scope = "@yardmaster/";
/** A package needs these besides its compiled files. */
const always = ["LICENSE", "README.md", "package.json"];

/** The workspaces that are published, each with its folder and its package.json. */
export function releasedPackages(root = ".") {
  return readdirSync(join(root, "packages"))
    .map((name) => ({ folder: join(root, "packages", name), manifest: manifestIn(root, name) }))
    .filter(({ manifest }) => !manifest.private);
}

function manifestIn(root, name) {
  return JSON.parse(readFileSync(join(root, "packages", name, "package.json"), "utf8"));
}

/** All packages have one version, and depend on exactly that version of each other. */
export function versionMistakes(packages, version, changelog, isFinal) {
  const mistakes = [];
  for (const { manifest } of packages) {
    // Where the source is published is not known before the first release.
    if (isFinal && !manifest.repository)
      mistakes.push(`${manifest.name} does not say where its repository is`);
    if (manifest.version !== version)
      mistakes.push(`${manifest.name} is ${manifest.version}, not ${version}`);
    for (const [name, wanted] of Object.entries(manifest.dependencies ?? {})) {
      if (name.startsWith(scope) && wanted !== version) {
        mistakes.push(`${manifest.name} depends on ${name}@${wanted}, not on ${version}`);
      }
    }
  }
  const notes = notesOf(changelog, version) || (isFinal ? "" : notesOf(changelog, "Unreleased"));
  if (!notes) mistakes.push(`CHANGELOG.md says nothing under "## ${version}"`);
  return mistakes;
}

function notesOf(changelog, heading) {
  const section = changelog.split(/^## /m).find((text) => text.startsWith(`${heading}\n`));
  return section?.slice(heading.length).trim() ?? "";
}

/** The paths that npm would pack, for each package, without packing them. */
export function packedPaths(root, packages) {
  const chosen = packages.flatMap(({ manifest }) => ["--workspace", manifest.name]);
  const args = ["pack", "--dry-run", "--json", "--ignore-scripts", "--loglevel=error", ...chosen];
  const { stdout, stderr, status } = spawnSync("npm", args, { cwd: root, encoding: "utf8", maxBuffer: 1e8 });
  if (status !== 0) throw new Error(`npm pack: ${stderr}`);
  const packed = Object.values(JSON.parse(stdout));
  return packages.map(({ manifest }) =>
    packed.find(({ name }) => name === manifest.name).files.map(({ path }) => path),
  );
}

/** What a package must not have, and what it lacks. */
export function contentMistakes({ manifest }, paths) {
  const has = new Set(paths);
  const mistakes = always.filter((path) => !has.has(path)).map((path) => `lacks ${path}`);
  for (const entry of entryPoints(manifest)) if (!has.has(entry)) mistakes.push(`lacks ${entry}`);
  for (const path of paths) {
    const wrong = strangeness(path);
    if (wrong) mistakes.push(`${path}: ${wrong}`);
  }
  return mistakes.map((mistake) => `${manifest.name}: ${mistake}`);
}

function entryPoints({ exports: exported = {}, bin = {} }) {
  const targets = Object.values(exported).flatMap((target) =>
    typeof target === "string" ? [target] : Object.values(target),
  );
  return [...targets, ...Object.values(bin)].map((path) => path.replace(/^\.\//, ""));
}

function strangeness(path) {
  if (always.includes(path) || /^(?:bin|assets)\//.test(path)) return undefined;
  if (!path.startsWith("dist/")) return "is not part of what runs";
  if (/\.test\.|\/(?:testing|test-kit|conformance)\b|under-test/.test(path)) return "is a test";
  return /\.(?:d\.ts|js)$/.test(path) ? undefined : "is no program";
}

/** Compiled files whose source is gone. A build does not delete them, so a release must. */
export function leftovers({ folder }, paths) {
  return paths
    .filter((path) => path.startsWith("dist/"))
    .filter((path) => {
      const source = join(folder, path.replace(/^dist\//, "src/").replace(/\.(?:d\.ts|js)$/, ""));
      return ![".ts", ".tsx", ".js"].some((ending) => existsSync(source + ending));
    })
    .map((path) => join(folder, path));
}
