import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { after, before, describe, test } from "node:test";
import { CommandYard } from "../testing/commands.js";

const yard = new CommandYard();
const scripts: Record<string, string> = {};
before(async () => {
  for (const shell of ["bash", "zsh", "fish"]) {
    const { code, stdout } = await yard.run(["completion", shell]);
    assert.equal(code, 0);
    scripts[shell] = stdout;
  }
});
after(() => yard.close());

/** What bash would offer for a line. */
function completed(...words: string[]): string[] {
  const quoted = words.map((word) => `'${word}'`).join(" ");
  const script = `${scripts.bash}\nCOMP_WORDS=(${quoted}); COMP_CWORD=${words.length - 1}; _yardmaster; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout, status, stderr } = spawnSync("bash", ["-c", script], { encoding: "utf8" });
  assert.equal(status, 0, stderr);
  return stdout.split("\n").filter((word) => word !== "");
}

function without(shell: string): string | false {
  return spawnSync(shell, ["-c", "true"]).status === 0 ? false : `${shell} does not run here`;
}

describe("yardmaster completion", { timeout: 300_000 }, () => {
  test("bash offers commands, options and choices", { skip: without("bash") }, () => {
    assert.deepEqual(completed("yardmaster", "ta"), ["tasks", "task", "tap"]);
    assert.deepEqual(completed("yardmaster", "serve", "--en"), ["--engine"]);
    assert.deepEqual(completed("yardmaster", "serve", "--engine", ""), ["memory", "embedded"]);
    assert.deepEqual(completed("yardmaster", "tasks", "--st"), ["--state"]);
    assert.deepEqual(completed("yardmaster", "tasks", "--state", "wa"), ["waiting"]);
    assert.deepEqual(completed("yardmaster", "export", "-s", "ca"), ["cancelled"]);
    assert.deepEqual(completed("yardmaster", "completion", ""), ["bash", "zsh", "fish"]);
  });

  test("zsh and fish take the scripts, where they are found", (t) => {
    for (const shell of ["zsh", "fish"]) {
      const reason = without(shell);
      if (reason) t.diagnostic(reason);
      else assert.equal(spawnSync(shell, ["-n"], { input: scripts[shell] ?? "" }).status, 0);
      for (const word of ["submit", "--key-prefix", "waiting", "doctor"].map((name) =>
        name.replace(/^--/, ""),
      )) {
        assert.ok(scripts[shell]?.includes(word), `${shell}: ${word}`);
      }
    }
  });

  test("another shell is a mistake", async () => {
    const { code, stderr } = await yard.run(["completion", "csh"]);
    assert.equal(code, 2);
    assert.match(stderr, /Allowed choices are bash, zsh, fish\./);
  });
});
