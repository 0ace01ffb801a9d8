import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { ConfigFault } from "../config/config-fault.js";
import { Access, type AccessOptions, tokenPrincipal } from "./access.js";
import { sha256 } from "./secrets.js";
import { accessSettings } from "./settings.js";

const ciToken = "a token of the build machine".replaceAll(" ", "-");
const nextToken = "another-token-of-the-build-machine";
const key = "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7";

function optionsOf(principals: Record<string, unknown>, more: Partial<AccessOptions> = {}): AccessOptions {
  return { settings: accessSettings.parse({ principals }), doors: {}, ...more };
}

const ci = {
  tokens: [{ sha256: sha256(ciToken).toString("hex") }],
  rights: { submit: ["build-*"], read: ["build-*", "shared"] },
};

describe("access", () => {
  test("a token leads to its principal, and another one to none", () => {
    const access = new Access(optionsOf({ ci }));
    assert.equal(access.byToken(ciToken)?.principal.name, "ci");
    assert.equal(access.byToken(`${ciToken}x`), undefined);
    assert.equal(access.byToken(""), undefined);
  });

  test("rights hold for queues whose names match", () => {
    const { principal } = new Access(optionsOf({ ci })).byToken(ciToken) ?? assert.fail();
    assert.ok(principal.may("submit", "build-main"));
    assert.ok(principal.may("submit", "build-"));
    assert.ok(!principal.may("submit", "prebuild-main"));
    assert.ok(!principal.may("submit", "shared"));
    assert.ok(principal.may("read", "shared"));
    assert.ok(!principal.may("operate", "build-main"));
    assert.ok(principal.rights.mayForSome("submit"));
    assert.ok(!principal.rights.mayForAll("submit"));
    assert.ok(!principal.rights.mayForSome("watch"));
  });

  test("a secret comes from a file or an environment variable, without its line break", () => {
    const access = new Access(
      optionsOf(
        { a: { tokens: [{ file: "/secret" }] }, b: { tokens: [{ env: "SECRET" }] } },
        { env: { SECRET: nextToken }, readFile: () => `${ciToken}\n` },
      ),
    );
    assert.equal(access.byToken(ciToken)?.principal.name, "a");
    assert.equal(access.byToken(nextToken)?.principal.name, "b");
  });

  test("a secret that cannot be read is a mistake that does not show it", () => {
    const short = () =>
      new Access(optionsOf({ a: { tokens: [{ env: "SECRET" }] } }, { env: { SECRET: "geheim" } }));
    assert.throws(short, (fault) => fault instanceof ConfigFault && !fault.message.includes("geheim"));
    assert.throws(
      () => new Access(optionsOf({ a: { tokens: [{ env: "SECRET" }] } }, { env: {} })),
      /SECRET is not set/,
    );
    assert.throws(
      () => new Access(optionsOf({ a: { tokens: [{ file: "/no/such/file" }] } })),
      /cannot be read \(ENOENT\)/,
    );
  });

  test("PLAIN: user and password belong together", () => {
    const passwords = [{ sha256: sha256("correct horse").toString("hex") }];
    const access = new Access(optionsOf({ ann: { passwords }, robot: { user: "r2", passwords } }));
    assert.equal(access.byPassword("ann", Buffer.from("correct horse"))?.principal.name, "ann");
    assert.equal(access.byPassword("r2", "correct horse")?.principal.name, "robot");
    assert.equal(access.byPassword("robot", "correct horse"), undefined);
    assert.equal(access.byPassword("ann", ""), undefined);
    assert.equal(access.byPassword("nobody", ""), undefined);
  });

  test("CURVE keys and certificates", () => {
    const fingerprint = "AB:".repeat(31).concat("CD");
    const access = new Access(
      optionsOf({
        pump: { curveKeys: [key] },
        ci: { certificates: [{ commonName: "ci.example" }] },
        ann: { certificates: [{ fingerprint }] },
      }),
    );
    assert.equal(access.byCurveKey(key)?.principal.name, "pump");
    assert.equal(access.byCurveKey("x"), undefined);
    assert.equal(access.byCertificate({ commonName: "ci.example", fingerprint: "00" })?.principal.name, "ci");
    const both = { commonName: "ci.example", fingerprint: fingerprint.replaceAll(":", "").toLowerCase() };
    assert.equal(access.byCertificate(both)?.principal.name, "ann");
    assert.equal(access.byCertificate({ commonName: "ci", fingerprint: "00" }), undefined);
  });

  test("without access: everybody may do everything, and leaves no name", () => {
    const { principal } =
      new Access({ settings: undefined, doors: { http: {} } }).anonymousAt("http") ?? assert.fail();
    assert.ok(principal.may("operate", "any"));
    assert.equal(principal.by, undefined);
  });

  test("with access: nobody may do anything without a credential, unless the door names a principal", () => {
    const guest = { rights: { read: ["public"] } };
    const access = new Access(optionsOf({ ci, guest }, { doors: { http: { anonymous: "guest" }, udp: {} } }));
    assert.equal(access.anonymousAt("http")?.principal.by, "guest");
    assert.equal(access.anonymousAt("udp"), undefined);
    assert.throws(
      () => new Access(optionsOf({ ci }, { doors: { http: { anonymous: "gast" } } })),
      /doors.http.anonymous: there is no principal gast/,
    );
  });

  test("the token of the http door is a principal with all rights, and closes only that door", () => {
    const access = new Access({ settings: undefined, doors: { http: { token: ciToken }, udp: {} } });
    assert.equal(access.anonymousAt("http"), undefined);
    assert.ok(access.anonymousAt("udp"));
    const { principal } = access.byToken(ciToken) ?? assert.fail();
    assert.equal(principal.name, tokenPrincipal);
    assert.ok(principal.may("operate", "any"));
    assert.match(access.warnings.join(), /doors.http.token has all rights/);
  });

  test("a reload revokes what is gone, and keeps the rest with its new rights", () => {
    const both = [...ci.tokens, { sha256: sha256(nextToken).toString("hex") }];
    const access = new Access(optionsOf({ ci: { ...ci, tokens: both }, ann: { curveKeys: [key] } }));
    const old = access.byToken(ciToken) ?? assert.fail();
    const next = access.byToken(nextToken) ?? assert.fail();
    const ann = access.byCurveKey(key) ?? assert.fail();
    let told = 0;
    access.follow(() => {
      told += 1;
    });
    const change = access.reload(
      optionsOf({ ci: { tokens: both.slice(1), rights: { operate: ["*"] } }, bob: {} }),
    );
    assert.deepEqual(change, { added: ["bob"], removed: ["ann"], revoked: ["ci", "ann"] });
    assert.equal(told, 1);
    assert.ok(old.isRevoked);
    assert.ok(ann.isRevoked);
    assert.ok(!next.isRevoked);
    assert.equal(access.byToken(nextToken), next);
    assert.ok(next.principal.may("operate", "any"));
    assert.ok(!next.principal.may("submit", "build-main"));
    assert.equal(access.byToken(ciToken), undefined);
  });

  test("a reload with a mistake changes nothing", () => {
    const access = new Access(optionsOf({ ci }));
    const login = access.byToken(ciToken) ?? assert.fail();
    assert.throws(() =>
      access.reload(optionsOf({ ci: { rights: {} }, x: { tokens: [{ env: "NONE" }] } }, { env: {} })),
    );
    assert.ok(!login.isRevoked);
    assert.ok(login.principal.may("submit", "build-main"));
  });

  test("the name of the http door's token is taken, whether or not there is one", () => {
    const given = { principals: { [tokenPrincipal]: {} } };
    assert.throws(
      () => new Access({ settings: accessSettings.parse(given), doors: {} }),
      /access\.principals\.http-token: this is the name of doors\.http\.token/,
    );
  });

  test("one credential of two principals is a mistake", () => {
    assert.throws(() => new Access(optionsOf({ ci, other: ci })), /ci and other have the same token/);
  });

  test("warnings: nobody can come in, nobody can operate, a principal without rights", () => {
    assert.match(new Access(optionsOf({ ann: {} })).warnings.join(), /locks everybody out/);
    assert.match(new Access(optionsOf({})).warnings.join(), /locks everybody out/);
    assert.match(new Access(optionsOf({ ci })).warnings.join(), /right to operate/);
    assert.match(new Access(optionsOf({ ann: {} })).warnings.join(), /ann has no rights/);
    const boss = { ...ci, rights: { operate: ["*"] } };
    assert.deepEqual(new Access(optionsOf({ boss })).warnings, []);
  });

  test("patterns that no queue matches give no right", () => {
    const odd = { ...ci, rights: { submit: ["no.such.queue", "*-*-*-x"], read: [] } };
    const { principal } = new Access(optionsOf({ odd })).byToken(ciToken) ?? assert.fail();
    assert.ok(!principal.may("submit", "a-b-x"));
    assert.ok(principal.may("submit", "a-b-c-x"));
    assert.ok(!principal.may("submit", "no_such_queue"));
    assert.ok(!principal.may("read", "x"));
  });

  test("a pattern of many stars is matched in time", () => {
    const odd = { ...ci, rights: { submit: [`${"*".repeat(100)}x`] } };
    const { principal } = new Access(optionsOf({ odd })).byToken(ciToken) ?? assert.fail();
    assert.ok(!principal.may("submit", "a".repeat(128)));
  });

  test("a secret in clear is refused", () => {
    assert.ok(!accessSettings.safeParse({ principals: { ci: { tokens: [ciToken] } } }).success);
    assert.ok(!accessSettings.safeParse({ principals: { ci: { tokens: [{ sha256: ciToken }] } } }).success);
    assert.ok(!accessSettings.safeParse({ principals: { ci: { tokens: [{}] } } }).success);
  });
});
