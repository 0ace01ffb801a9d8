import assert from "node:assert/strict";
import { test } from "node:test";
import { OriginRules } from "./origin-rules.js";

const rules = new OriginRules(["Yard.Example"]);

test("a Host is an address, localhost, or a name that was set", () => {
  for (const host of [
    "127.0.0.1",
    "127.0.0.1:7420",
    "10.1.2.3:80",
    "[::1]:7420",
    "[::1]",
    "localhost",
    "LOCALHOST:7420",
    "yard.localhost:1",
    "yard.example",
    "YARD.example:7420",
  ]) {
    assert.equal(rules.originFault({ host }), undefined, host);
  }
  for (const host of [
    "evil.example",
    "evil.example:7420",
    "localhost.evil.example",
    "notlocalhost",
    "127.0.0.1.evil.example",
    "127.0.0.1@evil",
    "",
    "::1",
    "[evil]:1",
    "localhost:port",
    "a.yard.example",
  ]) {
    assert.equal(rules.originFault({ host })?.code, "forbidden", host);
  }
  assert.equal(rules.originFault({})?.code, "bad_request");
});

test("any Host will do while every request needs a credential, which no foreign page has", () => {
  let areCredentialsAsked = true;
  const guarded = new OriginRules([], () => areCredentialsAsked);
  const host = "yardmaster.default.svc:7420";
  assert.equal(guarded.originFault({ host }), undefined);
  assert.equal(guarded.originFault({ host, origin: "https://evil.example" })?.code, "forbidden");
  assert.equal(guarded.originFault({})?.code, "bad_request");
  // A reload let peers without a credential in.
  areCredentialsAsked = false;
  assert.equal(guarded.originFault({ host })?.code, "forbidden");
});

test("an Origin is the Host's own or none", () => {
  const host = "127.0.0.1:7420";
  for (const origin of [undefined, "http://127.0.0.1:7420", "https://127.0.0.1:7420"]) {
    assert.equal(rules.originFault({ host, ...(origin ? { origin } : {}) }), undefined, origin);
  }
  for (const origin of [
    "null",
    "",
    "http://127.0.0.1",
    "http://127.0.0.1:7421",
    "http://localhost:7420",
    "https://evil.example",
    "http://127.0.0.1:7420.evil.example",
  ]) {
    assert.equal(rules.originFault({ host, origin })?.code, "forbidden", origin);
  }
});
