import assert from "node:assert/strict";
import { type ChildProcessByStdio, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import type { Readable, Writable } from "node:stream";
import { after, before, describe, test } from "node:test";
import { stripVTControlCharacters } from "node:util";
import { bin, CommandYard, withoutScript } from "../testing/commands.js";

const yard = new CommandYard();
const scripts: Record<string, string> = {};
before(async () => {
  await yard.serve({ udp: { client_address: { port: 0 } } }, { queues: { configured: {} } });
  await yard.run(["submit", "-q", "render", "x"]);
  await yard.run(["submit", "-q", "resize", "x"]);
  for (const shell of ["bash", "zsh", "fish"]) {
    const { code, stdout } = await yard.run(["completion", shell]);
    assert.equal(code, 0);
    scripts[shell] = stdout;
  }
});
after(() => yard.close());

/** As a clone has it; what npx would do is not ours to test. */
const npx = `npx() { shift; '${process.execPath}' '${bin}' "$@"; }`;

/** What bash would offer for each line, after running what the README prints. */
async function completed(lines: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<string[][]> {
  const asked = lines.map(
    (line) => `COMP_LINE=${quoted(line)}; COMP_POINT=\${#COMP_LINE}
COMP_WORDS=(${words(line).map(quoted).join(" ")}); COMP_CWORD=$((\${#COMP_WORDS[@]} - 1))
_yardmaster; echo "\${COMPREPLY[@]}"`,
  );
  const script = `${npx}\neval "$(npx yardmaster completion bash)"\n${asked.join("\n")}`;
  const child = spawn("bash", ["--norc", "-c", script], {
    env: { ...process.env, YARD_URL: yard.url, ...env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let stdout = "";
  child.stdout.on("data", (chunk) => {
    stdout += chunk;
  });
  const [code] = await once(child, "close");
  assert.equal(code, 0);
  const answers = stdout.trimEnd().split("\n");
  return lines.map((_, at) => (answers[at] ?? "").split(" ").filter((word) => word !== ""));
}

/** As readline cuts it: at blanks, and around = and :. */
function words(line: string): string[] {
  const found = line.match(/[=:]+|[^\s=:]+/g) ?? [];
  return line.endsWith(" ") ? [...found, ""] : found;
}

function quoted(text: string): string {
  return `'${text.replace(/'/g, "'\\''")}'`;
}

function without(shell: string): string | false {
  return spawnSync(shell, ["-c", "true"]).status === 0 ? false : `${shell} does not run here`;
}

/** A shell at its own terminal. */
class TypedShell {
  readonly #child: ChildProcessByStdio<Writable, Readable, null>;
  #shown = "";

  constructor(command: string) {
    this.#child = spawn("script", ["-qec", command, "/dev/null"], {
      env: { ...process.env, YARD_URL: yard.url, TERM: "dumb", INPUTRC: "/dev/null" },
      stdio: ["pipe", "pipe", "inherit"],
    });
    this.#child.stdout.on("data", (chunk) => {
      this.#shown += stripVTControlCharacters(String(chunk));
    });
  }

  /** Resolves when the terminal shows the expected text. */
  async type(keys: string, expected: string): Promise<void> {
    this.#shown = "";
    this.#child.stdin.write(keys);
    while (!this.#shown.includes(expected)) await once(this.#child.stdout, "data");
  }

  async end(): Promise<void> {
    // Ctrl-U takes the line away.
    this.#child.stdin.end("\x15exit\n");
    await once(this.#child, "close");
  }
}

describe("yardmaster completion", { timeout: 600_000, concurrency: 2 }, () => {
  const offers: Readonly<Record<string, string[]>> = {
    "yardmaster ta": ["tap", "task", "tasks"],
    "npx yardmaster ta": ["tap", "task", "tasks"],
    "npx --no yardmaster ta": ["tap", "task", "tasks"],
    "npx yard": ["yardmaster"],
    "npx other --st": [],
    "yardmaster serve --en": ["--engine"],
    "yardmaster serve --engine ": ["embedded", "memory", "postgres"],
    "npx yardmaster tasks --st": ["--state"],
    "yardmaster tasks --state wa": ["waiting"],
    "yardmaster tasks --state=wa": ["waiting"],
    "yardmaster export -s ca": ["cancelled"],
    "yardmaster completion ": ["bash", "fish", "zsh"],
    "yardmaster tasks --queue re": ["render", "resize"],
    "npx yardmaster submit -q ren": ["render"],
    "yardmaster queues --pause=res": ["resize"],
    "npx yardmaster tap --door u": ["udp"],
    "yardmaster tasks --door ": ["http", "udp"],
    "yardmaster tasks --url http://127.0.0.1:1 --queue re": [],
  };
  test("bash offers commands, options, choices and names", { skip: without("bash") }, async () => {
    const lines = Object.keys(offers);
    const found = await completed(lines);
    const sorted = lines.map((line, at) => [line, (found[at] ?? []).sort()]);
    assert.deepEqual(Object.fromEntries(sorted), offers);
  });

  test("names come from the dispatcher that the line gives; if none answers there are no names and no message", {
    skip: without("bash"),
  }, async () => {
    const nobody = { YARD_URL: "http://127.0.0.1:1" };
    const lines = [
      `yardmaster work ${yard.url} --queue ren`,
      `yardmaster tasks --url ${yard.url} --queue ren`,
      "yardmaster tasks --queue ren",
    ];
    assert.deepEqual(await completed(lines, nobody), [["render"], ["render"], []]);
    const { code, stdout, stderr } = await yard.run(["__names", "queues", "", ""], { env: nobody });
    assert.deepEqual([code, stdout, stderr], [0, "", ""]);
  });

  test("a real bash at a terminal completes what is typed", {
    skip: without("bash") || withoutScript(),
  }, async () => {
    const shell = new TypedShell("bash --norc --noprofile -i");
    await shell.type(`${npx}; PS1='rea''dy> '\n`, "ready> ");
    await shell.type('eval "$(npx yardmaster completion bash)"; echo evalu""ated\n', "evaluated\r\nready> ");
    await shell.type("npx yardmaster dr\t", "drain ");
    await shell.type("--que\t", "--queue ");
    await shell.type("ren\t", "render ");
    await shell.end();
  });

  test("a real zsh at a terminal completes what is typed", {
    skip: without("zsh") || withoutScript(),
  }, async () => {
    const shell = new TypedShell("zsh -f -i");
    await shell.type(`${npx}; HOME=${quoted(yard.folder)}; PS1='rea''dy> '\n`, "ready> ");
    await shell.type('eval "$(npx yardmaster completion zsh)"; echo evalu""ated\n', "evaluated\r\n");
    await shell.type("npx yardmaster dra\t", "drain ");
    await shell.type("--que\t", "--queue ");
    await shell.type("ren\t", "render ");
    await shell.end();
  });

  test("zsh and fish take the scripts, where they are found", (t) => {
    for (const shell of ["zsh", "fish"]) {
      const reason = without(shell);
      if (reason) t.diagnostic(reason);
      else assert.equal(spawnSync(shell, ["-n", yard.file(shell, scripts[shell] ?? "")]).status, 0);
      for (const word of ["submit", "key-prefix", "waiting", "doctor"]) {
        assert.ok(scripts[shell]?.includes(word), `${shell}: ${word}`);
      }
    }
  });

  test("fish offers the same", { skip: without("fish") }, () => {
    const offered = (line: string) => {
      const { stdout } = spawnSync("fish", ["-c", `${scripts.fish}\ncomplete -C ${quoted(line)}`], {
        encoding: "utf8",
        env: { ...process.env, YARD_URL: yard.url, HOME: yard.folder },
      });
      return stdout.split("\n").flatMap((one) => (one === "" ? [] : [one.split("\t")[0]]));
    };
    assert.deepEqual(offered("yardmaster ta").sort(), ["tap", "task", "tasks"]);
    assert.deepEqual(offered("npx yardmaster ta").sort(), ["tap", "task", "tasks"]);
    assert.deepEqual(offered("npx yardmaster tasks --queue ren"), ["render"]);
    assert.deepEqual(offered("yardmaster tap --door u"), ["udp"]);
    assert.deepEqual(offered("yardmaster tasks --state wa"), ["waiting"]);
  });

  test("another shell is a mistake", async () => {
    const { code, stderr } = await yard.run(["completion", "csh"]);
    assert.equal(code, 2);
    assert.match(stderr, /Allowed choices are bash, zsh, fish\./);
  });
});
