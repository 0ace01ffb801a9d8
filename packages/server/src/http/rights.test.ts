import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { pino } from "pino";
import { Access, type AccessOptions } from "../access/access.js";
import { sha256 } from "../access/secrets.js";
import { accessSettings } from "../access/settings.js";
import { patience } from "../testing/patience.js";
import { routeRights } from "./route-rights.js";
import type { TaskJson } from "./task-json.js";
import { type ApiResponse, type Attempt, YardUnderTest } from "./yard-under-test.js";

const tokenOf = (name: string) => `${name}-0123456789abcdef`;
const tokens = (name: string) => [{ sha256: sha256(tokenOf(name)).toString("hex") }];

const principals = {
  boss: {
    tokens: tokens("boss"),
    rights: { submit: ["*"], work: ["*"], read: ["*"], operate: ["*"], watch: ["*"] },
  },
  ci: { tokens: tokens("ci"), rights: { submit: ["build-*"], read: ["build-*"], watch: ["build-*"] } },
  robot: { tokens: tokens("robot"), rights: { work: ["build-*"] } },
  op: { tokens: tokens("op"), rights: { operate: ["build-*"], read: ["build-*"] } },
  idle: { tokens: tokens("idle") },
};

function optionsWith(given: Record<string, unknown>): AccessOptions {
  return { settings: accessSettings.parse({ principals: given }), doors: { http: {} } };
}

describe("rights over http", () => {
  const access = new Access(optionsWith(principals));
  const yard = new YardUnderTest({ access, queues: { "build-a": {}, secret: {} } });
  let mine: TaskJson;
  let hidden: TaskJson;

  function as(name: string, method: string, path: string, options: RequestInit = {}): Promise<ApiResponse> {
    const headers = { ...options.headers, Authorization: `Bearer ${tokenOf(name)}` };
    return yard.ask(method, path, { ...options, headers });
  }

  async function statuses(name: string, method: string, ...paths: string[]): Promise<number[]> {
    const answers: number[] = [];
    for (const path of paths) answers.push((await as(name, method, path)).status);
    return answers;
  }

  before(async () => {
    await yard.open();
    mine = (await as("ci", "POST", "/v1/queues/build-a/tasks", { body: "x" })).json;
    hidden = (await as("boss", "POST", "/v1/queues/secret/tasks", { body: "y" })).json;
  });
  after(() => yard.close());

  test("every operation has an entry, and every entry an operation", patience, async () => {
    const { paths } = (await as("boss", "GET", "/openapi.json")).json as {
      paths: Record<string, Record<string, { operationId: string }>>;
    };
    const ids = Object.values(paths).flatMap((path) => Object.values(path).map((each) => each.operationId));
    assert.deepEqual(ids.toSorted(), [...routeRights.keys()].toSorted());
  });

  test("health and the page are open; everything else asks for a credential", patience, async () => {
    for (const path of ["/healthz", "/readyz", "/"])
      assert.equal((await yard.ask("GET", path)).status, 200, path);
    for (const path of ["/v1/me", "/v1/tasks", "/metrics", "/openapi.json", "/no-such-path"]) {
      const { status, headers, json } = await yard.ask("GET", path);
      assert.equal(status, 401, path);
      assert.equal(headers.get("www-authenticate"), "Bearer");
      assert.equal((json as { code: string }).code, "unauthorized");
    }
  });

  test(
    "any name of this dispatcher will do, as in a container's network, with a credential",
    patience,
    async () => {
      const ask = (more: string) =>
        yard.hear(`GET /v1/me HTTP/1.1\r\nHost: yardmaster:7420\r\n${more}Connection: close\r\n\r\n`);
      assert.match(await ask(`Authorization: Bearer ${tokenOf("ci")}\r\n`), /^HTTP\/1\.1 200 /);
      assert.match(await ask(""), /^HTTP\/1\.1 401 /);
      assert.match(await ask("Authorization: Bearer guess-0123456789abcdef\r\n"), /^HTTP\/1\.1 401 /);
      const foreign = `Authorization: Bearer ${tokenOf("ci")}\r\nOrigin: http://evil.example\r\n`;
      assert.match(await ask(foreign), /^HTTP\/1\.1 403 /);
    },
  );

  test("a wrong right is a problem that names principal and right", patience, async () => {
    const { status, json } = await as("ci", "POST", "/v1/queues/build-a:pause");
    assert.equal(status, 403);
    assert.equal((json as { code: string }).code, "no_right");
    assert.match((json as { detail: string }).detail, /ci does not have the right to operate/);
    assert.deepEqual(
      await statuses("ci", "POST", "/v1/queues/secret/tasks", "/v1/queues/build-a:claim?worker=w"),
      [403, 403],
    );
  });

  test("a task in a queue that may not be read does not exist", patience, async () => {
    const paths = (id: string) => [`/v1/tasks/${id}`, `/v1/tasks/${id}/payload`];
    assert.deepEqual(await statuses("ci", "GET", ...paths(mine.id)), [200, 200]);
    assert.deepEqual(await statuses("ci", "GET", ...paths(hidden.id)), [404, 404]);
    assert.deepEqual(await statuses("op", "POST", `/v1/tasks/${hidden.id}:cancel`), [404]);
    assert.deepEqual(await statuses("ci", "POST", `/v1/tasks/${mine.id}:cancel`), [403]);
    assert.deepEqual(await statuses("idle", "GET", ...paths(mine.id)), [403, 403]);
    // A worker may fetch what it could claim.
    assert.deepEqual(await statuses("robot", "GET", ...paths(mine.id)), [403, 200]);
  });

  test("lists and counts show only what may be read", patience, async () => {
    const queuesOf = async (name: string, path: string, field: string) => {
      const { items } = (await as(name, "GET", path)).json as { items: Record<string, string>[] };
      return [...new Set(items.map((item) => item[field]))].toSorted();
    };
    assert.deepEqual(await queuesOf("ci", "/v1/queues", "name"), ["build-a"]);
    assert.deepEqual(await queuesOf("boss", "/v1/queues", "name"), ["build-a", "secret"]);
    assert.deepEqual(await queuesOf("ci", "/v1/tasks", "queue"), ["build-a"]);
    assert.deepEqual(await queuesOf("ci", "/v1/tasks?queue=secret", "queue"), []);
    assert.deepEqual(await queuesOf("boss", "/v1/tasks", "queue"), ["build-a", "secret"]);
    const counts = ["/v1/tasks:count", "/v1/tasks:count?queue=secret", "/v1/tasks:count?queue=build-a"];
    assert.deepEqual(await statuses("ci", "GET", ...counts), [403, 403, 200]);
    const lists = [
      "/v1/history?queue=build-a,secret",
      "/v1/history?queue=build-a",
      "/v1/failures?queue=secret",
    ];
    assert.deepEqual(await statuses("ci", "GET", ...lists), [403, 200, 403]);
    assert.deepEqual(
      await statuses("ci", "GET", "/v1/figures", "/v1/traffic", "/v1/history"),
      [403, 403, 403],
    );
  });

  test("a list fills its page over tasks that may not be read", patience, async () => {
    for (let at = 0; at < 30; at++) await as("boss", "POST", "/v1/queues/secret/tasks", { body: "y" });
    const { items } = (await as("ci", "GET", "/v1/tasks?limit=5")).json as { items: TaskJson[] };
    assert.deepEqual(
      items.map(({ queue }) => queue),
      ["build-a"],
    );
  });

  test("bulk actions need the right for the queue of their filter", patience, async () => {
    const all = await as("op", "POST", "/v1/tasks:cancel?state=waiting");
    assert.equal(all.status, 403);
    assert.match((all.json as { detail: string }).detail, /name one with \?queue=/);
    assert.deepEqual(await statuses("op", "POST", "/v1/tasks:cancel?queue=secret"), [403]);
    const own = await as("op", "POST", "/v1/tasks:cancel?queue=build-none");
    assert.equal(own.status, 202);
    assert.match((own.json as { by: string }).by, /^op \(127\.0\.0\.1\)$/);
    const wide = (await as("boss", "POST", "/v1/tasks:cancel?state=running")).json as { id: string };
    const shown = (await as("op", "GET", "/v1/actions")).json as { items: { id: string }[] };
    assert.deepEqual(
      shown.items.map(({ id }) => id),
      [(own.json as { id: string }).id],
    );
    assert.deepEqual(await statuses("op", "GET", `/v1/actions/${wide.id}`), [404]);
    assert.deepEqual(await statuses("op", "POST", `/v1/actions/${wide.id}:stop`), [404]);
  });

  test("a graph needs the right to submit to each of its queues", patience, async () => {
    const graph = (queue: string) =>
      ["build-a", queue].map((each, at) => JSON.stringify({ name: `n${at}`, queue: each })).join("\n");
    assert.equal((await as("ci", "POST", "/v1/tasks:graph", { body: graph("secret") })).status, 403);
    assert.equal((await as("ci", "POST", "/v1/tasks:graph", { body: graph("build-b") })).status, 201);
  });

  test("a task cannot depend on one that may not be read", patience, async () => {
    const depend = (id: string) => as("ci", "POST", `/v1/queues/build-a/tasks?after=${id}`, { body: "x" });
    const refused = await depend(hidden.id);
    assert.equal(refused.status, 409);
    assert.equal((refused.json as { code: string }).code, "unknown_dependency");
    assert.equal((await depend(mine.id)).status, 201);
    const item = { name: "n", queue: "build-a", after: [hidden.id] };
    assert.equal((await as("ci", "POST", "/v1/tasks:graph", { body: JSON.stringify(item) })).status, 409);
  });

  test("a schedule needs the right to operate on its queue, old and new", patience, async () => {
    const form = (queue: string) => ({ body: JSON.stringify({ queue, every: "1h" }) });
    assert.equal((await as("op", "PUT", "/v1/schedules/s1", form("secret"))).status, 403);
    assert.equal((await as("boss", "PUT", "/v1/schedules/s1", form("secret"))).status, 200);
    assert.equal((await as("op", "PUT", "/v1/schedules/s1", form("build-a"))).status, 403);
    assert.equal((await as("op", "PUT", "/v1/schedules/s2", form("build-a"))).status, 200);
    assert.deepEqual(await statuses("op", "GET", "/v1/schedules/s1", "/v1/schedules/s2"), [404, 200]);
    const { items } = (await as("op", "GET", "/v1/schedules")).json as { items: { name: string }[] };
    assert.deepEqual(
      items.map(({ name }) => name),
      ["s2"],
    );
  });

  test("work: claims, streams over several queues, and workers of others", patience, async () => {
    const claimed = await as("robot", "POST", "/v1/queues/build-a:claim?worker=r1");
    assert.equal(claimed.status, 200);
    const [attempt] = (claimed.json as { attempts: Attempt[] }).attempts;
    assert.ok(attempt);
    const done = `/v1/tasks/${attempt.task}/attempts/${attempt.attempt}:done`;
    const headers = { "Yard-Token": attempt.token };
    assert.equal((await as("ci", "POST", done, { headers })).status, 403);
    assert.equal((await as("robot", "POST", done, { headers })).status, 200);
    assert.deepEqual(
      await statuses(
        "robot",
        "POST",
        "/v1/queues/secret:claim?worker=r1",
        "/v1/queues/build-a:work?worker=r2&also=secret",
      ),
      [403, 403],
    );
    assert.equal((await as("boss", "POST", "/v1/queues/secret:claim?worker=b1")).status, 200);
    assert.deepEqual(await statuses("op", "POST", "/v1/workers/http%2Fboss%2Fb1:drain"), [404]);
    const { items } = (await as("op", "GET", "/v1/workers")).json as { items: { id: string }[] };
    assert.ok(!items.some(({ id }) => id === "http/boss/b1"));
  });

  test("a worker's name belongs to its principal", patience, async () => {
    const two = { ...principals.robot, tokens: tokens("two") };
    access.reload(optionsWith({ ...principals, two }));
    await as("ci", "POST", "/v1/queues/build-n/tasks", { body: "x" });
    const claim = "/v1/queues/build-n:claim?worker=same";
    const [attempt] = ((await as("robot", "POST", claim)).json as { attempts: Attempt[] }).attempts;
    assert.ok(attempt);
    assert.equal(
      (await as("boss", "GET", `/v1/tasks/${attempt.task}`)).json["worker" as never],
      "http/robot/same",
    );
    // Another principal under the same name: neither a goodbye nor a drain nor a report reaches it.
    assert.deepEqual(await statuses("two", "POST", "/v1/workers/http%2Fsame:leave"), [404]);
    assert.deepEqual(await statuses("two", "POST", "/v1/workers/http%2Frobot%2Fsame:leave"), [404]);
    assert.deepEqual(await statuses("two", "POST", "/v1/workers/http%2Frobot%2Fsame:drain"), [404]);
    const path = `/v1/tasks/${attempt.task}/attempts/${attempt.attempt}`;
    const token = { "Yard-Token": attempt.token };
    for (const word of ["beat", "done", "return"])
      assert.equal((await as("two", "POST", `${path}:${word}`, { headers: token })).status, 401, word);
    const line = JSON.stringify({ task: attempt.task, attempt: attempt.attempt, result: "stolen" });
    const batch = await as("two", "POST", "/v1/attempts:batch", { headers: token, body: line });
    assert.equal((batch.json as unknown as { items: { code: string }[] }).items[0]?.code, "unauthorized");
    assert.equal((await as("robot", "POST", `${path}:beat`, { headers: token })).status, 200);
    assert.deepEqual(await statuses("robot", "POST", "/v1/workers/http%2Fsame:drain?view=minimal"), [204]);
    assert.deepEqual(await statuses("robot", "POST", "/v1/workers/http%2Fsame:leave"), [204]);
    access.reload(optionsWith(principals));
  });

  test("the story names who submitted and who cancelled", patience, async () => {
    const task = (await as("ci", "POST", "/v1/queues/build-a/tasks", { body: "z" })).json as TaskJson;
    assert.equal(task.story[0]?.cause, "submitted by ci");
    const cancelled = (await as("op", "POST", `/v1/tasks/${task.id}:cancel`)).json as TaskJson;
    assert.deepEqual(
      cancelled.story.map(({ cause }) => cause),
      ["submitted by ci", "cancelled by op (127.0.0.1)"],
    );
  });

  test("me: principal, credential and rights", patience, async () => {
    assert.deepEqual((await as("op", "GET", "/v1/me")).json, {
      principal: "op",
      credential: "token",
      rights: { submit: [], work: [], read: ["build-*"], operate: ["build-*"], watch: [] },
    });
  });

  test("events show only queues that may be read", patience, async () => {
    const stop = new AbortController();
    const headers = { Authorization: `Bearer ${tokenOf("ci")}` };
    const url = `http://${yard.base}/v1/events?types=queue,worker,task,figures,beats`;
    const { body } = await fetch(url, { headers, signal: stop.signal });
    const reader = (body as ReadableStream<Uint8Array>).getReader();
    await as("boss", "POST", "/v1/queues/secret/tasks", { body: "hidden" });
    await as("boss", "POST", "/v1/queues/build-a/tasks", { body: "shown" });
    let text = "";
    while (!/event: task/.test(text)) text += Buffer.from((await reader.read()).value ?? []).toString();
    stop.abort();
    assert.match(text, /"build-a"/);
    assert.doesNotMatch(text, /secret|figures|beats/);
  });

  test("the wire shows only tasks of queues that may be watched, and no credential", patience, async () => {
    const stop = new AbortController();
    const headers = { Authorization: `Bearer ${tokenOf("ci")}` };
    const { body, status } = await fetch(`http://${yard.base}/v1/wire`, { headers, signal: stop.signal });
    assert.equal(status, 200);
    const reader = (body as ReadableStream<Uint8Array>).getReader();
    await as("boss", "POST", "/v1/queues/secret/tasks", { body: "hidden" });
    const { id } = (await as("ci", "POST", "/v1/queues/build-a/tasks", { body: "shown" })).json as TaskJson;
    let text = "";
    while (!text.includes(`"task":"${id}"`))
      text += Buffer.from((await reader.read()).value ?? []).toString();
    stop.abort();
    assert.doesNotMatch(text, /secret|Bearer|0123456789abcdef/);
    assert.deepEqual(await statuses("op", "GET", "/v1/wire"), [403]);
  });
});

describe("logins over http", () => {
  test("failures of an address are slowed down, and a known login goes on", patience, async () => {
    const access = new Access(optionsWith(principals));
    const yard = await new YardUnderTest({ access }).open();
    try {
      const me = async (token: string) => {
        const headers = { Authorization: `Bearer ${token}`, Connection: "close" };
        return (await yard.ask("GET", "/v1/me", { headers })).status;
      };
      assert.equal(await me("wrong"), 401);
      assert.equal(await me(tokenOf("ci")), 200);
      const answers = await Promise.all(Array.from({ length: 200 }, (_, at) => me(`wrong-${at}`)));
      assert.ok(answers.filter((status) => status === 401).length < 20);
      assert.ok(answers.includes(429));
      assert.equal(await me(tokenOf("ci")), 200);
      assert.ok(yard.door.failedLogins >= 201);
      assert.equal((await yard.ask("GET", "/healthz")).status, 200);
    } finally {
      await yard.close();
    }
  });

  test("a reload closes the connections of the revoked, and no other", patience, async () => {
    const access = new Access(optionsWith(principals));
    const yard = await new YardUnderTest({ access }).open();
    try {
      const follow = async (name: string) => {
        const headers = { Authorization: `Bearer ${tokenOf(name)}` };
        const { body } = await fetch(`http://${yard.base}/v1/events`, { headers });
        const reader = (body as ReadableStream<Uint8Array>).getReader();
        await reader.read();
        return reader;
      };
      const ci = await follow("ci");
      const op = await follow("op");
      const { ci: _, ...rest } = principals;
      const { revoked } = access.reload(optionsWith(rest));
      assert.deepEqual(revoked, ["ci"]);
      await assert.rejects(async () => {
        while (!(await ci.read()).done);
        throw new Error("ended in order");
      });
      assert.equal(
        (await yard.ask("GET", "/v1/me", { headers: { Authorization: `Bearer ${tokenOf("ci")}` } })).status,
        401,
      );
      const boss = { Authorization: `Bearer ${tokenOf("boss")}` };
      await yard.ask("POST", "/v1/queues/build-a/tasks", { headers: boss, body: "x" });
      let text = "";
      while (!text.includes("build-a")) text += Buffer.from((await op.read()).value ?? []).toString();
      await op.cancel();
    } finally {
      await yard.close();
    }
  });

  test("a reload that takes a right away ends a stream and narrows events", patience, async () => {
    const both = { ...principals.boss, tokens: tokens("both") };
    const access = new Access(optionsWith({ ...principals, both }));
    const yard = await new YardUnderTest({ access }).open();
    try {
      const headers = { Authorization: `Bearer ${tokenOf("both")}` };
      const work = await fetch(`http://${yard.base}/v1/queues/secret:work?worker=w&slots=1`, {
        method: "POST",
        headers,
      });
      const lines = (work.body as ReadableStream<Uint8Array>).getReader();
      await lines.read();
      const events = await fetch(`http://${yard.base}/v1/events`, { headers });
      const news = (events.body as ReadableStream<Uint8Array>).getReader();
      await news.read();
      const less = { ...both, rights: { read: ["build-*"], submit: ["*"] } };
      assert.deepEqual(access.reload(optionsWith({ ...principals, both: less })).revoked, []);
      let text = "";
      for (let part = await lines.read(); !part.done; part = await lines.read())
        text += Buffer.from(part.value);
      assert.match(text, /"end"/);
      for (const queue of ["secret", "build-a"])
        await yard.ask("POST", `/v1/queues/${queue}/tasks`, { headers, body: "x" });
      let seen = "";
      while (!/"queue":"build-a"/.test(seen)) seen += Buffer.from((await news.read()).value ?? []).toString();
      assert.doesNotMatch(seen, /"queue":"secret"/);
      await news.cancel();
    } finally {
      await yard.close();
    }
  });

  test("a claim that waits while its right is taken away gets nothing", patience, async () => {
    const access = new Access(optionsWith(principals));
    const yard = await new YardUnderTest({ access }).open();
    try {
      const bearer = (name: string) => ({ Authorization: `Bearer ${tokenOf(name)}` });
      const path = "/v1/queues/build-a:claim?worker=r&wait=60s";
      const waiting = yard.ask("POST", path, { headers: bearer("robot") });
      await yard.eventually(async () => {
        const { json } = await yard.ask("GET", "/v1/workers", { headers: bearer("boss") });
        return (json as { items: unknown[] }).items.length > 0 ? true : undefined;
      });
      access.reload(
        optionsWith({ ...principals, robot: { ...principals.robot, rights: { work: ["other"] } } }),
      );
      const made = await yard.ask("POST", "/v1/queues/build-a/tasks", { headers: bearer("boss"), body: "x" });
      assert.equal((await waiting).status, 403);
      const again = await yard.ask("POST", "/v1/queues/build-a:claim?worker=b&wait=60s", {
        headers: bearer("boss"),
      });
      const [attempt] = (again.json as { attempts: Attempt[] }).attempts;
      assert.equal(attempt?.task, (made.json as TaskJson).id);
    } finally {
      await yard.close();
    }
  });

  test("leases of a removed principal end by themselves; its reports are refused", patience, async () => {
    const access = new Access(optionsWith(principals));
    const yard = await new YardUnderTest({ access }).open();
    try {
      const bearer = (name: string) => ({ Authorization: `Bearer ${tokenOf(name)}` });
      const { id } = (
        await yard.ask("POST", "/v1/queues/build-a/tasks", { headers: bearer("boss"), body: "x" })
      ).json as TaskJson;
      const path = "/v1/queues/build-a:claim?worker=r&lease=1s";
      const claimed = await yard.ask("POST", path, { headers: bearer("robot") });
      const [attempt] = (claimed.json as { attempts: Attempt[] }).attempts;
      assert.ok(attempt);
      const { robot: _, ...rest } = principals;
      access.reload(optionsWith(rest));
      const headers = { ...bearer("robot"), "Yard-Token": attempt.token };
      assert.equal((await yard.speak(attempt, "done", { headers })).status, 401);
      const again = await yard.eventually(async () => {
        const answer = await yard.ask("POST", "/v1/queues/build-a:claim?worker=b&wait=5s", {
          headers: bearer("boss"),
        });
        return answer.status === 200 ? (answer.json as { attempts: Attempt[] }).attempts[0] : undefined;
      });
      assert.equal(again.task, id);
      const done = await yard.speak(again, "done", {
        headers: { ...bearer("boss"), "Yard-Token": again.token },
      });
      assert.equal((done.json as TaskJson).state, "done");
    } finally {
      await yard.close();
    }
  });

  test(
    "a flood of refused orders does not fill the log, nor shows what stood in a URL",
    patience,
    async () => {
      const lines: string[] = [];
      const log = pino({ level: "info" }, { write: (line: string) => void lines.push(line) });
      const access = new Access(optionsWith(principals));
      const yard = await new YardUnderTest({ access, log }).open();
      try {
        const order = async (name: string, path: string) => {
          const headers = { Authorization: `Bearer ${tokenOf(name)}` };
          return (await yard.ask("POST", path, { headers })).status;
        };
        for (let count = 0; count < 20; count++)
          assert.equal(await order("ci", `/v1/queues/build-${count}:pause`), 403);
        assert.equal(await order("op", "/v1/queues/build-a:pause?token=geheim"), 400);
        for (let count = 0; count < 3; count++)
          assert.equal(await order("op", "/v1/queues/build-a:pause?create=true"), 200);
        const orders = lines.filter((line) => line.includes("an operator's order"));
        const shown = orders.map(
          (line) => JSON.parse(line) as { principal: string; path: string; status: number },
        );
        assert.deepEqual(
          shown.map(({ principal, path, status }) => [principal, path, status]),
          [
            ["ci", "/v1/queues/build-0:pause", 403],
            ["op", "/v1/queues/build-a:pause", 400],
            ...Array(3).fill(["op", "/v1/queues/build-a:pause?create=true", 200]),
          ],
        );
        assert.ok(!lines.some((line) => line.includes("geheim")));
      } finally {
        await yard.close();
      }
    },
  );

  test("a flood of failed logins: others are served, and memory is bounded", patience, async () => {
    const lines: string[] = [];
    const log = pino({ level: "info" }, { write: (line: string) => void lines.push(line) });
    const access = new Access(optionsWith(principals));
    const yard = await new YardUnderTest({ access, log }).open();
    try {
      const me = async () => {
        const headers = { Authorization: `Bearer ${tokenOf("ci")}` };
        return (await yard.ask("GET", "/v1/me", { headers })).status;
      };
      assert.equal(await me(), 200);
      // Each has a connection of its own: beyond the limit, the answer closes the connection.
      const wrong = (at: number) =>
        yard.hear(
          `GET /v1/me HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer guess-${at}-geheim\r\nConnection: close\r\n\r\n`,
        );
      const heard: string[] = [];
      for (let wave = 0; wave < 20; wave++) {
        const flood = Promise.all(Array.from({ length: 100 }, (_, at) => wrong(wave * 100 + at)));
        assert.equal(await me(), 200);
        heard.push(...(await flood));
      }
      assert.ok(heard.filter((answer) => answer.startsWith("HTTP/1.1 401")).length < 200);
      assert.ok(heard.every((answer) => /^HTTP\/1\.1 (401|429)/.test(answer)));
      assert.equal(yard.door.failedLogins, 2_000);
      assert.ok(lines.length < 200, `${lines.length} lines of log`);
      assert.doesNotMatch(lines.join(""), /geheim/);
    } finally {
      await yard.close();
    }
  });

  test("the log has the principal as a field, and no secret", patience, async () => {
    const lines: string[] = [];
    const log = pino({ level: "trace" }, { write: (line: string) => void lines.push(line) });
    const access = new Access(optionsWith(principals));
    const yard = await new YardUnderTest({ access, log }).open();
    try {
      const headers = (name: string) => ({ Authorization: `Bearer ${tokenOf(name)}` });
      await yard.ask("POST", "/v1/queues/build-a:pause?create=true", { headers: headers("op") });
      await yard.ask("POST", "/v1/queues/build-a:pause", { headers: headers("ci") });
      await yard.ask("POST", "/v1/queues/build-a/tasks", { headers: headers("ci"), body: "a payload" });
      await yard.ask("GET", "/v1/me", { headers: { Authorization: "Bearer not-a-known-token" } });
      const said = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
      const order = said.find(({ operation, principal }) => operation === "pauseQueue" && principal === "op");
      assert.equal(order?.status, 200);
      assert.ok(said.some(({ kind, principal }) => kind === "no_right" && principal === "ci"));
      assert.doesNotMatch(lines.join(""), /0123456789abcdef|not-a-known-token|a payload/);
    } finally {
      await yard.close();
    }
  });

  test("quotas: a principal has no more connections than its quota", patience, async () => {
    const few = { ...principals.boss, tokens: tokens("few"), quotas: { connections: 1 } };
    const access = new Access(optionsWith({ ...principals, few }));
    const yard = await new YardUnderTest({ access }).open();
    try {
      const request = (path: string, more = "") =>
        `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n${more}Authorization: Bearer ${tokenOf("few")}\r\n\r\n`;
      const first = yard.connect(request("/v1/events"));
      await yard.eventually(async () => (quotasOf(access, "few").connections === 1 ? true : undefined));
      assert.match(await yard.hear(request("/v1/me", "Connection: close\r\n")), /429 [\s\S]*quota_reached/);
      first.destroy();
      await yard.eventually(async () => (quotasOf(access, "few").connections === 0 ? true : undefined));
      assert.match(await yard.hear(request("/v1/me", "Connection: close\r\n")), /^HTTP\/1.1 200/);
    } finally {
      await yard.close();
    }
  });

  test("quotas: a greedy principal is refused, and others are not", patience, async () => {
    const greedy = {
      ...principals.boss,
      tokens: tokens("greedy"),
      quotas: { submissionsPerSecond: 0.01, submissionBurst: 2, inFlightBytes: 1000, connections: 2 },
    };
    const access = new Access(optionsWith({ ...principals, greedy }));
    const yard = await new YardUnderTest({ access }).open();
    try {
      const submit = (name: string, path = "tasks", body = "x") =>
        yard.ask("POST", `/v1/queues/q/${path}`, {
          headers: { Authorization: `Bearer ${tokenOf(name)}` },
          body,
        });
      assert.equal((await submit("greedy")).status, 201);
      const batch = await submit(
        "greedy",
        "tasks:batch",
        '{"payload":"a"}\n{"payload":"b"}\n{"payload":"c"}',
      );
      assert.equal((batch.json as { items: unknown[] }).items.length, 3, "a batch is paid for later");
      const refused = await submit("greedy");
      assert.equal(refused.status, 429);
      assert.equal((refused.json as { code: string }).code, "quota_reached");
      assert.ok(Number(refused.headers.get("retry-after")) > 100);
      assert.equal((await submit("boss")).status, 201);
      // Two connections that send a body slowly. A third is refused.
      const head = (length: number) =>
        `POST /v1/queues/q:claim?worker=w HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${tokenOf("greedy")}\r\nContent-Length: ${length}\r\n\r\n`;
      const slow = yard.connect(head(900));
      await yard.eventually(async () =>
        quotasOf(access, "greedy").inFlightBytes === 900 ? true : undefined,
      );
      const second = await yard.hear(
        `${head(500)}${"x".repeat(500)}`.replace("HTTP/1.1\r\n", "HTTP/1.1\r\nConnection: close\r\n"),
      );
      assert.match(second, /429 [\s\S]*quota_reached/);
      slow.destroy();
      await yard.eventually(async () => (quotasOf(access, "greedy").inFlightBytes === 0 ? true : undefined));
    } finally {
      await yard.close();
    }
  });
});

function quotasOf(access: Access, name: string) {
  for (const principal of access.principals()) if (principal.name === name) return principal.quotas;
  return assert.fail();
}
