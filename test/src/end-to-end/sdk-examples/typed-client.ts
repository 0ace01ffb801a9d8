// An example of docs/sdk.md: a client whose queues have types.

import { connect, work } from "@yardmaster/sdk";

interface Jobs {
  resize: { payload: { file: string; width: number }; result: { bytes: number } };
  mail: { payload: { to: string }; result: null };
}

export async function main(url: string): Promise<number> {
  const worker = await work(url, { queues: ["resize", "mail"] }, (payload, { queue }) => {
    return queue === "mail" ? null : { bytes: payload.bytes.length };
  });
  const client = await connect<Jobs>(url);
  const resized = await client.submit({ file: "a.png", width: 640 }, { queue: "resize", attempts: 3 });
  // @ts-expect-error: the queue `resize` wants a width.
  const wrong = () => client.submit({ file: "a.png" }, { queue: "resize" });
  const { bytes } = (await client.result(resized)).json(); // a number, says the compiler
  await client.close();
  await worker.stop();
  return wrong.length + bytes;
}
