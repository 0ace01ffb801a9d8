// Makes of a schema what an older version would have left.

import { tasksIn } from "../bundles.js";
import { insertTasks } from "../fold-writes.js";
import { Session } from "../session.js";

/** Version 2 had a row for each task, and no bundles. */
export async function asVersion2(url: string, schema: string): Promise<void> {
  const session = new Session({ url, schema, instance: "test", settings: "" }, 30_000);
  await session.transaction("begin", async (query) => {
    const { rows } = await query<{ bytes: Buffer }>("select bytes from bundles");
    const tasks = rows.flatMap(({ bytes }) => tasksIn(bytes));
    await insertTasks(query, tasks, true);
    await query(`drop table bundles; alter table fold drop column trimmed;
      update owner set version = 2`);
  });
  await session.close();
}
