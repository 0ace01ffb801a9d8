// Conformance: an engine compared with the plain model, over random changes in random batches by
// any number of owners.

import assert from "node:assert/strict";
import type { Change } from "@yardmaster/core";
import type { TaskQuery } from "../engine.js";
import { idsInUse, type Step } from "./change-lists.js";
import { type EngineSite, Owner, plain } from "./owner.js";
import { PlainModel } from "./plain-model.js";

export async function compareWithModel(
  site: EngineSite,
  someSteps: readonly Step[],
  someQueries: readonly TaskQuery[],
) {
  const model = new PlainModel();
  let owner = await Owner.take(site);
  let batch: Change[] = [];
  let number = 1;
  for (const { change, next } of [...someSteps, last]) {
    // Only an accepted task makes progress. Progress after a trim has its own test.
    if (change.kind !== "progress" || model.has(change.progress.id)) {
      model.apply(change);
      batch.push(change);
    }
    if (next === "more") continue;
    await owner.commit(...batch);
    if (next === "commit-twice") assert.deepEqual(await owner.again(number, batch), { type: "done" });
    number++;
    batch = [];
    if (next !== "new-owner") continue;
    owner = await Owner.take(site);
    number = 1;
  }
  assert.deepEqual(await owner.load(), model.load());
  for (const id of idsInUse) {
    const task = model.task(id);
    assert.deepEqual(await owner.task(id), plain(task));
    assert.deepEqual(await owner.body(id, "payload"), plain(task?.head.payload));
    assert.deepEqual(await owner.body(id, "result"), plain(task?.progress?.result));
  }
  for (const query of someQueries) {
    assert.deepEqual(plain(await owner.findAll(query)), plain(model.find(query)));
  }
}

/**
 * Ends every list: gathered changes are committed, and read by an owner that did not write them.
 */
const last: Step = { change: { kind: "queue-gone", name: "nobody" }, next: "new-owner" };
