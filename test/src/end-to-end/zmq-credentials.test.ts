// `yardmaster submit` and `work` with CURVE and PLAIN, by files and the environment, through a real
// dispatcher that asks for credentials.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { curveCertificate, curveKeyPair } from "@yardmaster/zmtp";
import { patience } from "../patience.js";
import { serveYard } from "./served-yard.js";

const bin = fileURLToPath(new URL("../../../packages/cli/bin/yardmaster.js", import.meta.url));
const [server, worker] = [curveKeyPair(), curveKeyPair()];
const password = "correct-horse-battery";

const principals = {
  worker: { curveKeys: [worker.publicKey], rights: { work: ["render"] } },
  client: {
    passwords: [{ sha256: createHash("sha256").update(password).digest("hex") }],
    rights: { submit: ["render"] },
  },
};

test("a command works with CURVE, another submits with PLAIN, a third is refused", patience, async () => {
  const security = { mechanisms: ["CURVE", "PLAIN"], serverKeyFile: "server.key_secret" };
  const yard = await serveYard(
    { access: { principals }, doors: { pingpong: { security, queue: "render" } } },
    {},
    {
      "server.key_secret": curveCertificate(server),
      "server.key": curveCertificate({ publicKey: server.publicKey }),
      "worker.key_secret": curveCertificate(worker),
      password: `${password}\n`,
    },
  );
  const { clients, workers } = yard.doors.pingpong ?? {};
  const run = (args: readonly string[], env: Readonly<Record<string, string>> = {}) => {
    const child = spawn(process.execPath, [bin, ...args], {
      cwd: yard.folder,
      env: { ...process.env, ...env },
    });
    const ended = Promise.all([text(child.stdout), text(child.stderr), once(child, "exit")]);
    return { child, ended: ended.then(([out, err, [code]]) => ({ out, err, code: code as number | null })) };
  };
  const keys = { YARD_CURVE_SERVER_KEY: server.publicKey, YARD_CURVE_KEY_FILE: "worker.key_secret" };
  const working = run(["work", `pingpong://${workers}`, "--quiet", "--", "tr", "a-z", "A-Z"], keys);
  try {
    const submit = ["submit", `pingpong://${clients}`, "--plain-user", "client"];
    const done = await run([...submit, "--plain-password-file", "password", "frame"]).ended;
    assert.deepEqual([done.code, done.out], [0, "FRAME\n"], done.err);
    const wrong = await run([...submit, "frame"], { YARD_PLAIN_PASSWORD: "wrong" }).ended;
    assert.equal(wrong.code, 1);
    assert.match(wrong.err, /Are the credentials right\?/);
    const byWorker = ["--curve-server-key", "server.key", "--curve-key-file", "worker.key_secret"];
    const denied = await run(["submit", `pingpong://${clients}`, ...byWorker, "frame"]).ended;
    assert.equal(denied.code, 1);
    assert.match(denied.err, /may not submit to queue render/);
    // A new key of the dispatcher is taken up by SIGHUP. The worker's connection goes on.
    const next = curveKeyPair();
    writeFileSync(join(yard.folder, "server.key_secret"), curveCertificate(next));
    yard.process.kill("SIGHUP");
    const nextKeys = { YARD_CURVE_SERVER_KEY: next.publicKey, YARD_CURVE_KEY_FILE: "worker.key_secret" };
    for (;;) {
      const { err } = await run(["submit", `pingpong://${clients}`, "frame"], nextKeys).ended;
      if (/may not submit to queue render/.test(err)) break;
      assert.match(err, /Are the credentials right\?/);
    }
    const again = await run([...submit, "--plain-password-file", "password", "frame"]).ended;
    assert.deepEqual([again.code, again.out], [0, "FRAME\n"], again.err);
  } finally {
    working.child.kill("SIGTERM");
    await working.ended;
    await yard.stop();
  }
});
