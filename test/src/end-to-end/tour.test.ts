// The README's tour, run in a shell line by line exactly as written.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { skipReason } from "../interop/foreign.js";
import { patience } from "../patience.js";
import { serveYard } from "./served-yard.js";

const bin = fileURLToPath(new URL("../../../packages/cli/bin/yardmaster.js", import.meta.url));

const readme = readFileSync(fileURLToPath(new URL("../../../README.md", import.meta.url)), "utf8");

test("the README's tour works", { skip: skipReason("curl", ["--version"]) }, async () => {
  const tour = /<!-- tour -->\n```sh\n([\s\S]*?)```/.exec(readme)?.[1];
  assert.ok(tour !== undefined, "the README has no tour");
  const yard = await serveYard();
  const script = tour.replace("http://127.0.0.1:7420", yard.url);
  const { stdout, stderr, status } = spawnSync("sh", ["-e", "-c", script], {
    cwd: yard.folder,
    encoding: "utf8",
  });
  assert.equal(status, 0, stderr);
  assert.deepEqual(
    stdout.match(/"state":"[a-z]+"|^rendered|frame 1(?=\{)|"cancel":false|outcomes_total\{.*/gm),
    [
      '"state":"waiting"',
      '"state":"waiting"',
      '"state":"waiting"',
      "frame 1",
      '"cancel":false',
      '"state":"done"',
      '"state":"done"',
      '"state":"waiting"',
      '"state":"cancelled"',
      '"state":"idle"',
      'outcomes_total{queue="render",state="done"} 1',
      'outcomes_total{queue="render",state="cancelled"} 1',
    ],
    stdout,
  );
  assert.match(stdout, /rendered/);
  assert.equal(await yard.stop(), 0);
});

test("the README's tour of the command works", patience, async () => {
  const tour = /<!-- tour of the command -->\n```sh\n([\s\S]*?)```/.exec(readme)?.[1];
  assert.ok(tour !== undefined, "the README has no tour of the command");
  const yard = await serveYard();
  // The command of this clone, as npx would find it.
  const npx = `npx() { shift; '${process.execPath}' '${bin}' "$@"; }\n`;
  const { stdout, stderr, status } = spawnSync(
    "sh",
    ["-e", "-c", npx + tour.replace("http://127.0.0.1:7420", yard.url)],
    {
      cwd: yard.folder,
      encoding: "utf8",
    },
  );
  assert.equal(status, 0, stdout + stderr);
  const expected = [
    /^5 tasks accepted in .*\n(task \d done in .*, \d B\n){5}/,
    /ID +QUEUE +STATE .*\n( [54321] +squares +done .*\n){5}/,
    /task 3 is done\n {2}queue {5}squares\n[\s\S]* done +done /,
    /\n1\nONE\nTWO\nTHREE\ntask 9 is accepted in queue later\ntask 9 is cancelled\n/,
    /QUEUE +WAITING +RUNNING +IS\n[\s\S]*squares +0 +0 +open\n/,
    /ok {5}dispatcher {5}http.* is ready\n/,
  ];
  for (const pattern of expected) assert.match(stdout, pattern);
  // Both have said goodbye, so they are neither idle nor lost.
  assert.doesNotMatch(stdout, /^http\/\S+ +(idle|busy|lost) /m);
  assert.equal(await yard.stop(), 0);
});
