// What strangers install: the files of every package, its exports and its versions.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { patience } from "../patience.js";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const floor = ">=20.19.0";

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly license: string;
  readonly description: string;
  readonly keywords: readonly string[];
  readonly engines: { readonly node: string };
  readonly exports: Readonly<Record<string, unknown>>;
}
interface Package {
  readonly folder: string;
  readonly manifest: Manifest;
}
interface Release {
  releasedPackages(root: string): Package[];
  versionMistakes(packages: Package[], version: string, changelog: string, isFinal: boolean): string[];
  packedPaths(root: string, packages: Package[]): string[][];
  contentMistakes(each: Package, paths: string[]): string[];
  leftovers(each: Package, paths: string[]): string[];
}

const release = (await import(
  new URL("../../../scripts/release/packages.js", import.meta.url).href
)) as Release;
const packages = release.releasedPackages(root);

function text(path: string): string {
  return readFileSync(`${root}${path}`, "utf8");
}

test("the packages that are published are these", () => {
  assert.deepEqual(
    packages.map(({ manifest }) => manifest.name),
    [
      "yardmaster",
      ...["core", "dialects", "engines", "sdk", "server", "zmtp"].map((name) => `@yardmaster/${name}`),
    ],
  );
  for (const { manifest } of packages) {
    assert.equal(manifest.license, "MIT");
    assert.equal(manifest.engines.node, floor);
    assert.ok(manifest.keywords.length > 2 && manifest.description.length > 20, manifest.name);
  }
});

test("a package has what runs, its types, licence and README, and nothing else", patience, () => {
  const paths = release.packedPaths(root, packages);
  const mistakes = packages.flatMap((each, index) => release.contentMistakes(each, paths[index] ?? []));
  assert.deepEqual(mistakes, []);
});

test("what does not belong into a package is named", () => {
  const [cli] = packages;
  assert.ok(cli);
  assert.deepEqual(release.leftovers(cli, ["dist/main.js", "dist/gone.js", "bin/yardmaster.js"]), [
    `${cli.folder}/dist/gone.js`,
  ]);
  const paths = [
    "package.json",
    "LICENSE",
    "dist/main.js",
    "dist/help.test.js",
    "dist/gone.js.map",
    "src/main.ts",
  ];
  assert.deepEqual(release.contentMistakes(cli, paths), [
    "yardmaster: lacks README.md",
    "yardmaster: lacks bin/yardmaster.js",
    "yardmaster: dist/help.test.js: is a test",
    "yardmaster: dist/gone.js.map: is no program",
    "yardmaster: src/main.ts: is not part of what runs",
  ]);
});

test("packages depend on each other in exactly their common version", () => {
  const { version } = JSON.parse(text("package.json")) as Manifest;
  assert.deepEqual(release.versionMistakes(packages, version, text("CHANGELOG.md"), false), []);
  const wrong = release.versionMistakes(packages, "9.9.9", "## 9.9.9\n\n## 0.1.0\n- x\n", true);
  assert.ok(wrong.includes("yardmaster does not say where its repository is"));
  assert.ok(wrong.includes("yardmaster is 0.1.0, not 9.9.9"));
  assert.ok(wrong.includes("@yardmaster/sdk depends on @yardmaster/zmtp@0.1.0, not on 9.9.9"));
  assert.ok(wrong.includes('CHANGELOG.md says nothing under "## 9.9.9"'));
});

test("the exports of every package", async (t) => {
  const promised = JSON.parse(text("test/src/release/exports.json")) as Record<string, string[]>;
  for (const { manifest } of packages) {
    if (manifest.exports["."] === undefined) continue;
    const names = Object.keys((await import(manifest.name)) as object).toSorted();
    t.diagnostic(`${manifest.name} exports ${names.length} values: ${names.join(" ")}`);
    assert.ok(names.length > 0, manifest.name);
    // Users program against two of them: a name that is gone breaks their programs. The others are
    // inner parts, whose interfaces may change.
    const gone = (promised[manifest.name] ?? []).filter((name) => !names.includes(name));
    assert.deepEqual(gone, [], `no longer exported by ${manifest.name}; see exports.json`);
  }
  assert.deepEqual(Object.keys(promised), ["@yardmaster/sdk", "@yardmaster/zmtp"]);
});

test("package-lock.json has no part that refuses the oldest supported Node", () => {
  const lock = JSON.parse(text("package-lock.json")) as {
    readonly packages: Readonly<
      Record<string, { readonly dev?: boolean; readonly engines?: { readonly node?: string } }>
    >;
  };
  // The ranges in use are few; one that is not listed here must be looked at.
  const tooNew = Object.entries(lock.packages)
    .filter(([, part]) => !part.dev && part.engines?.node !== undefined)
    .filter(([, part]) => Number(/(\d+)/.exec(part.engines?.node ?? "")?.[1]) > 20)
    .map(([path]) => path);
  assert.deepEqual(tooNew, []);
});

test("the lockfiles have the builds for other platforms, without which npm ci fails there", () => {
  for (const path of ["package-lock.json", "site/package-lock.json"]) {
    const lock = JSON.parse(text(path)) as {
      readonly packages: Readonly<Record<string, { readonly optionalDependencies?: object }>>;
    };
    const names = Object.keys(lock.packages).map((place) => place.replace(/^.*node_modules\//, ""));
    const has = new Set(names);
    const missing = Object.values(lock.packages)
      .flatMap(({ optionalDependencies = {} }) => Object.keys(optionalDependencies))
      .filter((name) => !has.has(name));
    assert.deepEqual(missing, [], path);
  }
});

test("the types of the libraries compile with TypeScript's own defaults", patience, () => {
  // Since TypeScript 6, no types are included unless a program or one of its files names them.
  const folder = mkdtempSync(`${root}test/dist/types-`);
  try {
    writeFileSync(`${folder}/package.json`, '{ "type": "module" }');
    for (const name of ["sdk", "zmtp", "dialects"]) {
      writeFileSync(`${folder}/${name}.ts`, `export * from "@yardmaster/${name}";\n`);
      const flags = ["--noEmit", "--strict", "--module", "nodenext", "--target", "es2022"];
      const args = [`${root}node_modules/typescript/bin/tsc`, "--ignoreConfig", ...flags, `${name}.ts`];
      const { stdout, status } = spawnSync(process.execPath, args, { cwd: folder, encoding: "utf8" });
      assert.equal(status, 0, `${name}: ${stdout.slice(0, 1000)}`);
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
});
