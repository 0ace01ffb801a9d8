// Whether anything listens at a ZeroMQ door. ZeroMQ connects in the background and goes on trying,
// so a command with a wrong address would wait for ever without a word.

import { once } from "node:events";
import { createConnection } from "node:net";
import { dialectTable, UnreachableError, type YardAddress, type YardClient } from "@yardmaster/sdk";

/**
 * Settles as the work does, or rejects with an UnreachableError if nothing listens. A mistake in
 * the arguments comes first.
 */
export async function ifListening<Value>({ address }: YardClient, work: Promise<Value>): Promise<Value> {
  work.catch(() => {});
  if (dialectTable[address.scheme]?.isZmq !== true) return work;
  return Promise.race([work, expectListener(address).then(() => work)]);
}

async function expectListener({ host, port, url }: YardAddress): Promise<void> {
  const socket = createConnection({ host, port });
  try {
    await once(socket, "connect");
  } catch (cause) {
    throw new UnreachableError(url, cause);
  } finally {
    socket.destroy();
  }
}
