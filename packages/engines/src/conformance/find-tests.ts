// Conformance: finding tasks. Every filter, pages, and cursors.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Change, TaskId, WorkerId } from "@yardmaster/core";
import { CursorMismatch } from "../cursor.js";
import type { TaskQuery } from "../engine.js";
import type { Take } from "./owner.js";
import { headOf, progressOf, put, settledOf, submittedAt } from "./samples.js";

export function findTests(take: Take): void {
  const worker = "udp/w" as WorkerId;
  const error = { code: "boom", message: "no disk left" };
  // The first 24 words count.
  const manyWords = Array.from({ length: 30 }, (_, at) => `word${at}`).join(" ");
  const yard: Change[] = [
    put(headOf(1, { key: "5" })),
    put(headOf(2, { queue: "mail", key: "boom" })),
    put(headOf(3, { door: "udp" })),
    put(headOf(4)),
    put(headOf(5)),
    put(headOf(6, { queue: "mail" })),
    put(progressOf(2, { state: "waiting", worker })),
    put(progressOf(3, { worker })),
    put(progressOf(4, { state: "failed", error })),
    put(settledOf(5, 1)),
    put(headOf(7)),
    put(
      settledOf(7, 2, {
        state: "failed",
        error: { code: "full", message: "Disk /dev/SDA2: die Größe of it" },
      }),
    ),
    put(headOf(8)),
    put(settledOf(8, 3, { state: "failed", error: { code: "many", message: manyWords } })),
  ];
  const cases: [asked: Omit<TaskQuery, "limit">, ids: number[]][] = [
    [{}, [8, 7, 6, 5, 4, 3, 2, 1]],
    [{ queue: "mail" }, [6, 2]],
    [{ queue: "nobody" }, []],
    [{ state: "waiting" }, [6, 2, 1]],
    [{ state: "running" }, [3]],
    [{ state: "done" }, [5]],
    [{ state: "failed" }, [8, 7, 4]],
    [{ door: "udp" }, [3]],
    [{ worker }, [3, 2]],
    [{ since: submittedAt(5) }, [8, 7, 6, 5]],
    [{ until: submittedAt(3) }, [2, 1]],
    [{ since: submittedAt(2), until: submittedAt(4) }, [3, 2]],
    [{ since: submittedAt(9) }, []],
    [{ text: "5" }, [5, 1]],
    [{ text: "boom" }, [4, 2]],
    [{ text: "boo" }, []],
    [{ text: "no disk" }, [4]],
    [{ text: "disk" }, [7, 4]],
    [{ text: "DI" }, [7, 4]],
    [{ text: "d" }, [7, 4]],
    [{ text: "left disk" }, [4]],
    [{ text: "isk" }, []],
    [{ text: "disk of" }, [7]],
    [{ text: "sda2" }, [7]],
    [{ text: "größe" }, [7]],
    [{ text: "word23" }, [8]],
    [{ text: "word24" }, []],
    [{ text: "- –" }, []],
    [{ messagePrefix: "no disk" }, [4]],
    [{ messagePrefix: "disk" }, []],
    [{ messagePrefix: "Disk /dev/SDA2", state: "failed" }, [7]],
    [{ messagePrefix: "" }, [8, 7, 4]],
    [{ queue: "render", state: "waiting", door: "http" }, [1]],
    [{ queue: "mail", state: "done" }, []],
  ];
  for (const [asked, ids] of cases) {
    test(`find ${JSON.stringify(asked)} gives ${JSON.stringify(ids)}, in pages of any size`, async () => {
      await (await take()).commit(...yard);
      const reader = await take();
      for (const limit of [1, 2, 3, 100]) assert.deepEqual(await reader.ids({ ...asked, limit }), ids);
    });
  }

  test("a page is full if there is enough, and one that is not is the last", async () => {
    const owner = await take();
    await owner.commit(...yard);
    const first = await owner.engine.find({ limit: 6 });
    assert.ok(first.items.length === 6 && first.cursor !== undefined);
    const second = await owner.engine.find({ limit: 6, cursor: first.cursor });
    assert.ok(second.items.length === 2 && second.cursor === undefined);
  });

  test("tasks accepted or trimmed between two pages do not shift them", async () => {
    const owner = await take();
    await owner.commit(...[10, 20, 30, 40, 50, 60].map((id) => put(headOf(id))), put(settledOf(40, 1)));
    const first = await owner.engine.find({ limit: 3 });
    assert.deepEqual(idsOf(first.items), [60, 50, 40]);
    assert.ok(first.cursor);
    await owner.commit(put(headOf(61)), put(headOf(62)), { kind: "history-trimmed", through: 0 });
    const reader = await take();
    const second = await reader.engine.find({ limit: 2, cursor: first.cursor });
    assert.deepEqual(idsOf(second.items), [30, 20]);
    assert.ok(second.cursor);
    await reader.commit(put(headOf(63)));
    const third = await reader.engine.find({ limit: 2, cursor: second.cursor });
    assert.deepEqual(idsOf(third.items), [10]);
    assert.deepEqual(await reader.ids({ limit: 2 }), [63, 62, 61, 60, 50, 30, 20, 10]);
  });

  test("a cursor of another query, or of none, is refused", async () => {
    const owner = await take();
    await owner.commit(...yard);
    const { cursor } = await owner.engine.find({ limit: 2, queue: "render" });
    assert.ok(cursor);
    const others: Omit<TaskQuery, "limit">[] = [
      {},
      { queue: "mail" },
      { door: "render" },
      { queue: "render", state: "waiting" },
      { queue: "render", since: submittedAt(0) },
      { queue: "render", until: submittedAt(9) },
      { queue: "render", text: "5" },
      { queue: "render", messagePrefix: "5" },
    ];
    for (const other of others) {
      await assert.rejects(owner.engine.find({ ...other, limit: 2, cursor }), CursorMismatch);
    }
    for (const nonsense of ["", "0", "nonsense", `${cursor}A`, cursor.slice(2)]) {
      const query = { queue: "render", limit: 2, cursor: nonsense };
      await assert.rejects(owner.engine.find(query), CursorMismatch);
    }
  });
}

function idsOf(tasks: readonly { readonly head: { readonly id: TaskId } }[]): number[] {
  return tasks.map((task) => task.head.id);
}
