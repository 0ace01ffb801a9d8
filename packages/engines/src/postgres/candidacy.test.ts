import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { Candidacy, type Sighting } from "./candidacy.js";

const silenceMs = 600;
const row: Sighting = { epoch: 3, position: 10, beat: 7, instance: "a", hasSession: true, connection: 1 };

/** Looks every 50 ms from `from` on. Returns the reason to claim and when it came. */
function looks(candidacy: Candidacy, from: number, times: number, at: (look: number) => Partial<Sighting>) {
  for (let look = 0; look < times; look++) {
    const now = from + look * 50;
    const reason = candidacy.saw({ ...row, ...at(look) }, now);
    if (reason !== undefined) return { reason, ms: now - from };
  }
  return undefined;
}

describe("candidacy", () => {
  test("a database without an owner is claimed at the first look", () => {
    assert.equal(new Candidacy(silenceMs).saw({ ...row, instance: "", epoch: 0 }, 0), "vacant");
    assert.equal(new Candidacy(silenceMs).saw({ ...row, instance: "" }, 0), "stepped-down");
  });

  test("an owner that beats is never judged silent; one that stops beating is, after the limit", () => {
    const candidacy = new Candidacy(silenceMs);
    assert.equal(
      looks(candidacy, 0, 200, (look) => ({ beat: look >> 1 })),
      undefined,
    );
    const found = looks(candidacy, 10_000, 20, () => ({ beat: 1000 }));
    assert.deepEqual(found, { reason: "silent", ms: 600 });
  });

  test("sessions that end shorten the wait", () => {
    const candidacy = new Candidacy(silenceMs);
    const found = looks(candidacy, 0, 20, (look) => ({ hasSession: look < 2 }));
    assert.deepEqual(found, { reason: "session-ended", ms: 50 + 3 * 50 });
  });

  test("sessions that were never seen on this connection are no hint", () => {
    const candidacy = new Candidacy(silenceMs);
    const found = looks(candidacy, 0, 20, (look) => ({
      connection: look < 4 ? 1 : 2,
      hasSession: look < 4,
    }));
    assert.deepEqual(found, { reason: "silent", ms: 4 * 50 + 600 });
  });

  test("a new owner's sessions are judged anew", () => {
    const candidacy = new Candidacy(silenceMs);
    const found = looks(candidacy, 0, 12, (look) => ({
      instance: look < 4 ? "a" : "b",
      beat: look,
      hasSession: look < 4,
    }));
    assert.equal(found, undefined);
  });

  test("a failed look starts the wait again", () => {
    const candidacy = new Candidacy(silenceMs);
    assert.equal(
      looks(candidacy, 0, 12, () => ({})),
      undefined,
    );
    candidacy.missed();
    assert.equal(
      looks(candidacy, 600, 12, () => ({})),
      undefined,
    );
  });

  test("property: after a pause of any length, several looks come before a claim for silence", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 3 }), fc.integer({ min: 0, max: 1e6 }), (before, pauseMs) => {
        const candidacy = new Candidacy(silenceMs);
        for (let look = 0; look <= before; look++)
          assert.equal(candidacy.saw({ ...row, beat: look }, look * 50), undefined);
        const now = before * 50 + pauseMs;
        for (let look = 0; look < 3; look++)
          assert.equal(candidacy.saw({ ...row, beat: before }, now + look), undefined);
      }),
    );
  });

  test("property: an owner whose row changes within the limit keeps the database, however looks fall", () => {
    const gaps = fc.array(fc.integer({ min: 1, max: 250 }), { minLength: 1, maxLength: 200 });
    fc.assert(
      fc.property(gaps, (steps) => {
        const candidacy = new Candidacy(silenceMs);
        let now = 0;
        for (const step of steps) {
          now += step;
          const beat = Math.floor(now / (silenceMs - 250));
          assert.equal(candidacy.saw({ ...row, beat }, now), undefined);
        }
      }),
    );
  });

  test("property: a silent owner loses the database, however slow looks are", () => {
    const gaps = fc.array(fc.integer({ min: 1, max: 5000 }), { minLength: 600, maxLength: 600 });
    fc.assert(
      fc.property(gaps, (steps) => {
        const candidacy = new Candidacy(silenceMs);
        let now = 0;
        let isClaimed = false;
        for (const step of steps) {
          now += step;
          isClaimed ||= candidacy.saw(row, now) === "silent";
        }
        assert.ok(isClaimed);
      }),
      { numRuns: 30 },
    );
  });
});
