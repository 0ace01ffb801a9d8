import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { LoginGuard } from "./login-guard.js";
import { implicitPrincipal, Login } from "./principal.js";
import { Quotas } from "./quotas.js";

describe("quotas of a principal", () => {
  test("a batch is taken whole and paid for later", () => {
    const quotas = new Quotas({ submissionsPerSecond: 10 });
    assert.equal(quotas.takeSubmissions(30, 1000), 0);
    assert.equal(quotas.takeSubmissions(1, 1000), 2100);
    assert.equal(quotas.takeSubmissions(1, 3099), 1);
    assert.equal(quotas.takeSubmissions(1, 3100), 0);
    assert.equal(quotas.refusals.submissions, 2);
  });

  test("a pause allows no more than the burst", () => {
    const quotas = new Quotas({ submissionsPerSecond: 2, submissionBurst: 3 });
    assert.equal(quotas.takeSubmissions(1, 0), 0);
    for (let taken = 0; taken < 3; taken++) assert.equal(quotas.takeSubmissions(1, 60_000), 0);
    assert.equal(quotas.takeSubmissions(1, 60_000), 500);
  });

  test("a paced submission is always taken, and says how long to pause", () => {
    const quotas = new Quotas({ submissionsPerSecond: 10, submissionBurst: 2 });
    assert.deepEqual(
      [0, 0, 0, 0].map((at) => quotas.paceSubmission(at)),
      [0, 100, 200, 300],
    );
    assert.equal(quotas.paceSubmission(300), 100);
    assert.equal(quotas.paceSubmission(10_000), 0);
    assert.equal(new Quotas({}).paceSubmission(0), 0);
  });

  test("bytes that have arrived: one message alone may be larger than the quota", () => {
    const quotas = new Quotas({ inFlightBytes: 100 });
    assert.equal(quotas.addBytes(150, 150), true);
    assert.equal(quotas.addBytes(1, 1), false);
    quotas.releaseBytes(151);
    assert.equal(quotas.addBytes(60, 60), true);
    assert.equal(quotas.addBytes(40, 40), true);
    assert.equal(quotas.inFlightBytes, 100);
  });

  test("without limits nothing is refused", () => {
    const quotas = new Quotas({});
    assert.equal(quotas.takeSubmissions(1e9, 0), 0);
    assert.ok(quotas.openConnection());
    assert.ok(quotas.holdBytes(1e12) && quotas.holdBytes(1e12));
  });

  test("connections and bytes come back when they are released", () => {
    const quotas = new Quotas({ connections: 1, inFlightBytes: 100 });
    assert.ok(quotas.openConnection());
    assert.ok(!quotas.openConnection());
    quotas.closeConnection();
    assert.ok(quotas.openConnection());
    assert.ok(quotas.holdBytes(500), "a body that alone is too large");
    assert.ok(!quotas.holdBytes(1));
    quotas.releaseBytes(500);
    assert.ok(quotas.holdBytes(60) && quotas.holdBytes(40) && !quotas.holdBytes(1));
  });
});

describe("failed logins", () => {
  const good = new Login(implicitPrincipal(), "token");

  test("an address that fails too often is slowed down, whatever it shows then", () => {
    const guard = new LoginGuard({ failures: 3, everyMs: 1000 });
    for (let at = 0; at < 3; at++) assert.equal(guard.judge("10.0.0.1", undefined, 0), "wrong");
    assert.equal(guard.judge("10.0.0.1", undefined, 0), "slowed");
    assert.equal(guard.judge("10.0.0.1", good, 0), "slowed");
    assert.equal(guard.waitMs("10.0.0.1"), 1000);
    assert.equal(guard.judge("10.0.0.2", good, 0), "in");
    assert.equal(guard.judge("10.0.0.1", good, 1000), "in");
    assert.equal(guard.failed, 5);
  });

  test("a login that was in before goes on", () => {
    const guard = new LoginGuard({ failures: 2, everyMs: 1000 });
    guard.judge("10.0.0.1", undefined, 0);
    assert.equal(guard.judge("10.0.0.1", good, 0), "in");
    for (let at = 0; at < 5; at++) guard.judge("10.0.0.1", undefined, 0);
    assert.equal(guard.judge("10.0.0.1", undefined, 0), "slowed");
    assert.equal(guard.judge("10.0.0.1", good, 0), "in");
  });

  test("addresses of one IPv6 network count together, and there is a limit to how many are kept", () => {
    const guard = new LoginGuard({ failures: 1, everyMs: 1000 });
    assert.equal(guard.judge("2001:db8::1", undefined, 0), "wrong");
    assert.equal(guard.judge("2001:db8:0:0:1::2", undefined, 0), "slowed");
    assert.equal(guard.judge("2001:db8:0:1::2", undefined, 0), "wrong");
    for (let at = 0; at < 20_000; at++) guard.judge(`10.1.${at >> 8}.${at & 255}`, undefined, 0);
    assert.equal(guard.addresses, 10_000);
  });
});
