// The commands in the documentation. Each block of them is run by a test, or says why not:
//   <!-- commands -->         run here: those of a page in one shell, with a dispatcher of its own
//   <!-- not run: reason -->  for example because it needs root
//   <!-- anything else -->    another test finds the block by this marker
// Commands inside sentences must exist, with their options, and configurations must be right.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { type ServedYard, serveYard } from "../end-to-end/served-yard.js";
import { skipReason } from "../interop/foreign.js";
import { patience } from "../patience.js";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const bin = join(root, "packages/cli/bin/yardmaster.js");
const text = (path: string) => readFileSync(join(root, path), "utf8");

interface Block {
  readonly page: string;
  /** undefined: the block has none. */
  readonly marker: string | undefined;
  readonly commands: string;
}

const pages = [
  ...["README.md", "CONTRIBUTING.md"],
  ...["docs", "docs/dialects"].flatMap((folder) => namesIn(folder, ".md")),
  ...readdirSync(join(root, "packages")).flatMap((name) => namesIn(`packages/${name}`, "README.md")),
];
const blocks: readonly Block[] = pages.flatMap((page) =>
  // A block in a list is indented.
  [...text(page).matchAll(/(?:^ *<!-- (.*) -->\n)?^( *)```sh\n([\s\S]*?)^ *```$/gm)].map(
    ([, marker, indent = "", commands = ""]) => ({
      page,
      marker,
      commands: commands.replaceAll(new RegExp(`^${indent}`, "gm"), ""),
    }),
  ),
);

function namesIn(folder: string, ending: string): string[] {
  return readdirSync(join(root, folder))
    .filter((name) => name.endsWith(ending))
    .map((name) => `${folder}/${name}`);
}

test("each block of commands is run by a test, or says why not", (t) => {
  assert.ok(blocks.length > 25, "the blocks are found");
  const tests = readdirSync(join(root, "test/src/end-to-end"))
    .filter((name) => name.endsWith(".test.ts"))
    .map((name) => text(`test/src/end-to-end/${name}`));
  for (const { page, marker, commands } of blocks) {
    const where = `${page}: ${commands.split("\n")[0]}`;
    assert.ok(marker !== undefined, `${where}: no marker; see the head of this test`);
    const [, reason] = /^not run: (.+)$/.exec(marker) ?? [];
    if (reason !== undefined) t.diagnostic(`not run: ${where} (${reason})`);
    else if (marker !== "commands") {
      assert.ok(
        tests.some((source) => source.includes(`<!-- ${marker} -->`)),
        `${where}: no test runs "${marker}"`,
      );
    }
  }
});

const toRun = blocks.filter(({ marker }) => marker === "commands");
for (const page of new Set(toRun.map((block) => block.page))) {
  const options = { ...patience, skip: skipReason("curl", ["--version"]) };
  test(`the commands of ${page} work`, options, async () => {
    const commands = toRun.filter((block) => block.page === page).map((block) => block.commands);
    const yard = await serveYard();
    try {
      const { stdout, stderr, status } = spawnSync("sh", ["-e", "-c", scriptOf(commands.join(""), yard)], {
        cwd: yard.folder,
        encoding: "utf8",
        env: { ...process.env, YARD_URL: yard.url },
      });
      assert.equal(status, 0, stdout + stderr);
      assert.doesNotMatch(stdout, /"status":[45]\d\d/, "no request is refused");
    } finally {
      assert.equal(await yard.stop(), 0);
    }
  });
}

/**
 * The commands on this machine: the command of this clone, the test's dispatcher and folders below
 * its own. `serve` would not end, so it only checks its options and the configuration.
 */
function scriptOf(commands: string, { url, folder }: ServedYard): string {
  const here = commands
    .replaceAll("http://127.0.0.1:7420", url)
    .replaceAll("/var/lib/yardmaster", `${folder}/yard-data`)
    .replaceAll("/backups/", `${folder}/backup-`)
    .replaceAll("/etc/yardmaster/", `${folder}/`);
  return `Y=${url}
yardmaster() {
  if [ "$1" = serve ]; then shift; set -- serve --print-config "$@"; fi
  '${process.execPath}' '${bin}' "$@"
}
npx() { "$@"; }
${here}`;
}

test("commands in sentences exist, with their options", patience, () => {
  const helps = new Map<string, string>();
  const found = pages.flatMap((page) =>
    [...text(page).matchAll(/`(?:npx )?yardmaster ([a-z][a-z-]*)((?:[^`])*)`/g)].map(([, command, rest]) => ({
      page,
      command: command ?? "",
      // What follows -- belongs to the worker's program.
      options: (rest ?? "").split(" -- ")[0]?.match(/--[a-z-]+/g) ?? [],
    })),
  );
  assert.ok(found.length > 40, `${found.length} commands`);
  for (const { page, command, options } of found) {
    if (!helps.has(command)) helps.set(command, helpOf(command));
    const help = helps.get(command) ?? "";
    assert.ok(help.startsWith("Usage: yardmaster"), `${page}: yardmaster ${command}\n${help}`);
    for (const option of options)
      assert.ok(help.includes(option), `${page}: yardmaster ${command} ${option}`);
  }
});

function helpOf(command: string): string {
  return spawnSync(process.execPath, [bin, command, "--help"], { encoding: "utf8" }).stdout;
}

test("configurations in pages have no mistakes", patience, (t) => {
  const folder = mkdtempSync(join(tmpdir(), "yard-docs-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const found = pages.flatMap((page) =>
    [...text(page).matchAll(/^ *```yaml\n([\s\S]*?)^ *```$/gm)].map(([, yaml = ""]) => ({ page, yaml })),
  );
  assert.ok(found.length > 5, `${found.length} configurations`);
  for (const { page, yaml } of found) {
    const file = join(folder, "yardmaster.yaml");
    // Digests are cut short in the pages.
    writeFileSync(file, yaml.replace(/sha256: [^ }\]]*…[^ }\]]*/g, `sha256: "${"0".repeat(64)}"`));
    const { stderr } = spawnSync(process.execPath, [bin, "config", "check", file], { encoding: "utf8" });
    // Files that the examples name are not on this machine.
    const mistakes = stderr.split("\n").filter((line) => line !== "" && !line.includes("(ENOENT)"));
    assert.deepEqual(mistakes, [], page);
  }
});

test("scripts that pages name exist", () => {
  const { scripts } = JSON.parse(text("package.json")) as { scripts: Record<string, string> };
  for (const page of pages) {
    for (const [, script = ""] of text(page).matchAll(/npm run ([a-z-]+)/g))
      assert.ok(script in scripts, `${page}: npm run ${script}`);
  }
});
