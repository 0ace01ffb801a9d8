// One suite for every engine: the contract of engine.ts as tests. An engine's own test file calls
// `engineConformance` with a function that makes a store, and tests what it promises beyond the
// contract. The suite needs node:test and fast-check, so it is a separate entry point and not part
// of the package's index.

import { afterEach, beforeEach, describe, test } from "node:test";
import fc from "fast-check";
import { bodyTests } from "./conformance/body-tests.js";
import { queries, steps } from "./conformance/change-lists.js";
import { commitTests } from "./conformance/commit-tests.js";
import { findTests } from "./conformance/find-tests.js";
import { historyTests } from "./conformance/history-tests.js";
import { compareWithModel } from "./conformance/model-comparison.js";
import { type EngineSite, Owner } from "./conformance/owner.js";
import { ownershipTests } from "./conformance/ownership-tests.js";
import { recordTests } from "./conformance/record-tests.js";
import type { Engine } from "./engine.js";

export type { EngineSite } from "./conformance/owner.js";

export interface ConformanceOptions {
  /** A new, empty store. */
  create(): Promise<EngineSite>;
  /** Number of random change lists; fewer for an engine whose store is slow to make. */
  readonly propertyRuns?: number;
}

/** Registers the suite with node:test. */
export function engineConformance(name: string, { create, propertyRuns = 200 }: ConformanceOptions): void {
  describe(`${name} engine keeps the contract`, () => {
    let site: ClosingSite;
    beforeEach(async () => {
      site = new ClosingSite(await create());
    });
    afterEach(() => site.destroy());
    const take = () => Owner.take(site);

    ownershipTests(take);
    commitTests(take);
    recordTests(take);
    historyTests(take);
    bodyTests(take);
    findTests(take);

    test("any changes in any batches load and answer as a plain model does", async () => {
      const property = fc.asyncProperty(steps, queries, async (someSteps, someQueries) => {
        const own = new ClosingSite(await create());
        try {
          await compareWithModel(own, someSteps, someQueries);
        } finally {
          await own.destroy();
        }
      });
      await fc.assert(property, { numRuns: propertyRuns });
    });
  });
}

/** Closes engines that tests left open: most tests end an owner like a crash, by dropping it. */
class ClosingSite implements EngineSite {
  readonly #site: EngineSite;
  readonly #engines: Engine[] = [];

  constructor(site: EngineSite) {
    this.#site = site;
  }

  async open(): Promise<Engine> {
    const engine = await this.#site.open();
    this.#engines.push(engine);
    return engine;
  }

  async destroy(): Promise<void> {
    for (const engine of this.#engines) await engine.close();
    await this.#site.destroy();
  }
}
