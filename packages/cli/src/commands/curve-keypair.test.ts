// `yardmaster curve-keypair`: keys that fit together, in files that only their owner can read.

import assert from "node:assert/strict";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { publicKeyIn, secretKeyIn } from "@yardmaster/sdk";
import { CommandYard } from "../testing/commands.js";

const yard = new CommandYard();
after(() => yard.close());

test("prints a pair, for people and for programs", async () => {
  const { code, stdout } = await yard.run(["curve-keypair"]);
  assert.equal(code, 0);
  assert.match(stdout, /^public-key {2}\S{40}\nsecret-key {2}\S{40}\n$/);
  const { publicKey, secretKey } = JSON.parse((await yard.run(["curve-keypair", "--json"])).stdout);
  assert.equal(publicKeyIn(`secret-key = "${secretKey}"`), publicKey);
});

test("writes files, the secret one for its owner only, and replaces none", async () => {
  const name = join(yard.folder, "server");
  const { code, stdout, stderr } = await yard.run(["curve-keypair", "--out", name]);
  assert.deepEqual([code, stderr], [0, ""]);
  assert.equal(statSync(`${name}.key_secret`).mode & 0o777, 0o600);
  const [open, secret] = [readFileSync(`${name}.key`, "utf8"), readFileSync(`${name}.key_secret`, "utf8")];
  assert.equal(publicKeyIn(open), publicKeyIn(secret));
  assert.ok(stdout.includes(publicKeyIn(open)));
  for (const text of [stdout, open]) assert.ok(!text.includes(secretKeyIn(secret)));
  const again = await yard.run(["curve-keypair", "--out", name]);
  assert.equal(again.code, 1);
  assert.match(again.stderr, /server\.key_secret is there already/);
  assert.equal(readFileSync(`${name}.key_secret`, "utf8"), secret);
});

test("credentials that are not complete are refused before anything is sent", async () => {
  const url = "pingpong://127.0.0.1:1";
  const trial = async (...args: string[]) => (await yard.run(["submit", url, ...args, "x"])).stderr;
  assert.match(await trial("--curve-server-key", "x".repeat(40)), /needs --curve-key-file/);
  assert.match(await trial("--plain-user", "ann"), /needs --plain-password-file/);
  const none = ["--curve-server-key", "x".repeat(40), "--curve-key-file", join(yard.folder, "none")];
  assert.match(await trial(...none), /--curve-server-key|ENOENT/);
  assert.match(await trial(...none, "--plain-user", "ann"), /one of them/);
});
