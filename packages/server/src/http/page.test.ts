// The page's files as a browser gets them: types, caching, compressed forms, and the content
// security policy.

import assert from "node:assert/strict";
import { test } from "node:test";
import { patience } from "../testing/patience.js";
import { YardUnderTest } from "./yard-under-test.js";

test("the page and its files are served to anybody, with a policy that runs nothing else", {
  ...patience,
}, async () => {
  const yard = await new YardUnderTest({ config: { token: "t0ken" } }).open();
  try {
    const { status, text, headers } = await yard.ask("GET", "/");
    assert.equal(status, 200);
    assert.match(headers.get("content-type") ?? "", /^text\/html/);
    assert.equal(headers.get("cache-control"), "no-cache");
    const policy = headers.get("content-security-policy") ?? "";
    assert.match(policy, /default-src 'none'; script-src 'self'; style-src 'self';/);
    assert.doesNotMatch(policy, /unsafe/);
    const names = [...text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, name]) => name as string);
    assert.ok(names.length >= 2, text);
    for (const name of names) {
      assert.match(name, /^\.\/assets\/[\w.-]+$/, "every address is relative");
      const file = await yard.ask("GET", name.slice(1));
      assert.equal(file.status, 200);
      assert.match(file.headers.get("cache-control") ?? "", /immutable/);
      assert.match(file.headers.get("content-type") ?? "", /javascript|css|svg/);
    }
    assert.equal((await yard.ask("GET", "/assets/nothing.js")).status, 404);
    assert.equal((await yard.ask("GET", "/assets/..%2findex.html")).status, 404);
  } finally {
    await yard.close();
  }
});

test("a browser that reads brotli gets it", { ...patience }, async () => {
  const yard = await new YardUnderTest().open();
  try {
    const plain = await yard.ask("GET", "/", { headers: { "Accept-Encoding": "identity" } });
    const name = /src="\.(\/assets\/[^"]+\.js)"/.exec(plain.text)?.[1] ?? "";
    const whole = await yard.ask("GET", name, { headers: { "Accept-Encoding": "identity" } });
    const head = await yard.hear(
      `GET ${name} HTTP/1.1\r\nHost: ${yard.base}\r\nAccept-Encoding: gzip, br\r\nConnection: close\r\n\r\n`,
    );
    assert.match(head, /content-encoding: br/i);
    const packed = await yard.ask("GET", name, { headers: { "Accept-Encoding": "br" } });
    assert.equal(packed.text, whole.text);
  } finally {
    await yard.close();
  }
});
