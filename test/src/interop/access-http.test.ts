// The http part of the access matrix: principal × credential × action, with curl over TLS, against
// a dispatcher in its own process.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { promisify } from "node:util";
import { connect, RefusedError, UnreachableError } from "@yardmaster/sdk";
import { type ServedYard, serveYard } from "../end-to-end/served-yard.js";
import { patience } from "../patience.js";
import { type Action, allowed, principalSettings, tokenOf } from "./access-principals.js";
import { skipReason } from "./foreign.js";
import { type IssuedCertificate, TestAuthority } from "./test-authority.js";

const run = promisify(execFile);
const skip = skipReason("curl", ["--version"]) || skipReason("openssl", ["version"]);

describe("access over http, with curl", { ...patience, skip }, () => {
  let folder: string;
  let authority: TestAuthority;
  let yard: ServedYard;
  let url: string;
  let task: string;
  /** The certificate of the principal `client`. */
  let own: IssuedCertificate;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "yard-tls-"));
    authority = new TestAuthority(folder, "yard");
    own = authority.issue("client.example");
    const { cert, key } = authority.issue("yard", { names: "IP:127.0.0.1" });
    const tls = { cert, key, clientCa: authority.ca };
    const certificates = [{ commonName: "client.example" }];
    const principals = principalSettings({ client: { certificates } });
    yard = await serveYard({ access: { principals }, engine: "memory", doors: { http: { tls } } });
    url = yard.url.replace("http:", "https:");
    task = JSON.parse((await curl(as("boss"), "/v1/queues/build-a/tasks", "-d", "x")).body).id;
  });

  after(async () => {
    await yard?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  async function curl(credential: readonly string[], path: string, ...args: string[]) {
    const more = ["--cacert", authority.ca, "--max-time", "20", "-w", "\n%{http_code}"];
    const { stdout } = await run("curl", ["-s", "-S", ...more, ...credential, ...args, `${url}${path}`]);
    const end = stdout.lastIndexOf("\n");
    return { status: Number(stdout.slice(end + 1)), body: stdout.slice(0, end) };
  }

  const as = (name: string) => ["-H", `Authorization: Bearer ${tokenOf(name)}`];
  const showing = ({ cert, key }: IssuedCertificate) => ["--cert", cert, "--key", key];

  /** The status of one action in this queue. */
  async function statusOf(credential: readonly string[], action: Action, queue: string): Promise<number> {
    switch (action) {
      case "submit":
        return (await curl(credential, `/v1/queues/${queue}/tasks`, "-d", "x")).status;
      case "work":
        return (await curl(credential, `/v1/queues/${queue}:claim?worker=w`, "-X", "POST")).status;
      case "read":
        return (await curl(credential, `/v1/tasks?queue=${queue}`)).status;
      case "operate":
        return (await curl(credential, `/v1/queues/${queue}:resume?create=true`, "-X", "POST")).status;
      case "watch":
        return (await curl([...credential, "-I"], "/v1/wire", "-X", "GET", "--max-time", "1").catch(streamed))
          .status;
    }
  }

  /** A stream never ends by itself, so curl ends it: its status is before that. */
  function streamed(fault: { readonly stdout?: string }): { status: number } {
    return { status: Number(/(\d{3})\s*$/.exec(fault.stdout ?? "")?.[1]) };
  }

  for (const [name, may] of Object.entries(allowed)) {
    test(`${name} may ${may.join(", ") || "do nothing"}`, async () => {
      for (const action of ["submit", "work", "read", "operate", "watch"] as const) {
        const status = await statusOf(as(name), action, "build-a");
        assert.equal(status < 300, may.includes(action), `${action}: ${status}`);
        if (!may.includes(action)) assert.equal(status, 403, action);
      }
    });
  }

  test("in another queue only boss may", async () => {
    for (const name of ["client", "worker", "operator"]) {
      for (const action of ["submit", "work", "operate"] as const)
        assert.equal(await statusOf(as(name), action, "other"), 403, `${name} ${action}`);
    }
    assert.equal(await statusOf(as("boss"), "submit", "other"), 201);
    const shown = JSON.parse((await curl(as("client"), "/v1/tasks?queue=other")).body) as {
      items: unknown[];
    };
    assert.deepEqual(shown.items, []);
  });

  test("nobody comes in without a credential, or with a wrong one", async () => {
    for (const path of ["/v1/me", "/v1/tasks", "/metrics", "/v1/wire"])
      assert.equal((await curl([], path)).status, 401, path);
    assert.equal((await curl(["-H", "Authorization: Bearer wrong"], "/v1/me")).status, 401);
    for (const path of ["/healthz", "/readyz"]) assert.equal((await curl([], path)).status, 200);
  });

  test("a client certificate is a credential; expired and foreign ones are not", async () => {
    const me = await curl(showing(own), "/v1/me");
    assert.equal(me.status, 200);
    assert.deepEqual(pick(me.body), { principal: "client", credential: "certificate" });
    assert.equal(await statusOf(showing(own), "submit", "build-a"), 201);
    assert.equal(await statusOf(showing(own), "operate", "build-a"), 403);
    const expired = await curl(showing(authority.issue("client.example", { days: -1 })), "/v1/me");
    assert.equal(expired.status, 401);
    assert.match(expired.body, /CERT_HAS_EXPIRED/);
    const stranger = await curl(showing(authority.issue("stranger.example")), "/v1/me");
    assert.equal(stranger.status, 401);
    assert.match(stranger.body, /belongs to no principal/);
    const foreign = new TestAuthority(folder, "foreign").issue("client.example");
    assert.equal((await curl(showing(foreign), "/v1/me")).status, 401);
  });

  test("the SDK trusts the authority it is given, and shows a certificate", async () => {
    const ca = readFileSync(authority.ca);
    const tls = { ca, cert: readFileSync(own.cert), key: readFileSync(own.key) };
    const client = await connect(url, { tls });
    assert.ok((await client.submit("y", { queue: "build-a" })).id);
    await assert.rejects(
      client.submit("y", { queue: "other" }),
      (fault) => fault instanceof RefusedError && fault.code === "no_right",
    );
    await client.close();
    const trusting = await connect(url, { token: tokenOf("boss") });
    await assert.rejects(trusting.submit("y", { queue: "build-a" }), UnreachableError);
    await trusting.close();
  });

  test("the story names the principal", async () => {
    const { story } = JSON.parse((await curl(as("boss"), `/v1/tasks/${task}`)).body) as {
      story: { cause: string }[];
    };
    assert.equal(story[0]?.cause, "submitted by boss");
  });

  test("SIGHUP: the revoked are out, a renewed certificate is served, others stay", async () => {
    const stayed = await connect(url, { token: tokenOf("boss"), tls: { ca: readFileSync(authority.ca) } });
    await stayed.submit("z", { queue: "build-a" });
    const file = join(yard.folder, "yardmaster.json");
    const config = JSON.parse(readFileSync(file, "utf8"));
    config.access.principals.client.tokens = [];
    delete config.access.principals.watcher;
    const renewed = authority.issue("renewed", { names: "IP:127.0.0.1" });
    Object.assign(config.doors.http.tls, renewed);
    writeFileSync(file, JSON.stringify(config));
    yard.process.kill("SIGHUP");
    while ((await curl(as("client"), "/v1/me")).status !== 401);
    assert.equal((await curl(as("watcher"), "/v1/me")).status, 401);
    assert.equal((await curl(showing(own), "/v1/me")).status, 200);
    const { stderr } = await run("curl", ["-s", "-v", "--cacert", authority.ca, `${url}/healthz`]);
    assert.match(stderr, /subject: CN=renewed/);
    await stayed.submit("z", { queue: "build-a" });
    await stayed.close();
  });
});

function pick(body: string): { principal: unknown; credential: unknown } {
  const { principal, credential } = JSON.parse(body) as Record<string, unknown>;
  return { principal, credential };
}
