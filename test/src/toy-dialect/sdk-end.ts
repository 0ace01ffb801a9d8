// The toy dialect behind the SDK's common interface: the entry of the SDK's table.

import {
  AnsweringClient,
  Body,
  type DialectEntry,
  handled,
  hostAndPort,
  startSlots,
  TaskEndedError,
  unheard,
  type YardAddress,
} from "@yardmaster/sdk";
import { Dealer } from "@yardmaster/zmtp";
import { decode, encode, type ToyMessage } from "./codec.js";
import { ToyClientSession, type ToyWork, ToyWorkerSession } from "./peer-sessions.js";

interface Session {
  connected?(): void;
  disconnected?(): void;
  receive(message: ToyMessage): void;
}

/** Opens a socket for a session. Resolves when it is connected. */
function open(address: YardAddress, makeSession: (send: (message: ToyMessage) => void) => Session) {
  return new Promise<Dealer>((resolve) => {
    const session = makeSession((message) => void dealer.send(encode(message)));
    const dealer = new Dealer({
      onPeer: () => {
        session.connected?.();
        resolve(dealer);
      },
      onPeerGone: () => session.disconnected?.(),
      onMessage: (_peer, frames) => {
        const message = decode(frames);
        if (message !== undefined) session.receive(message);
      },
    });
    dealer.connect(`tcp://${hostAndPort(address)}`);
  });
}

function ask(session: ToyClientSession, payload: Body, id: string) {
  let accept = () => {};
  const accepted = new Promise<void>((resolve) => {
    accept = resolve;
  });
  const outcome = new Promise<Body>((resolve, reject) => {
    session.submit(payload.bytes, (verb, body) => {
      if (verb === "accepted") accept();
      else if (verb === "done") resolve(new Body(body));
      else reject(new TaskEndedError(id, "failed", { code: verb, message: body.toString() }));
    });
  });
  return { taken: Promise.race([accepted, outcome.then(() => {})]), outcome };
}

export const toyEntry: DialectEntry = {
  port: 5599,
  example: "toy://127.0.0.1:5599",
  hasQueues: false,
  connect: async (address) => {
    let session = new ToyClientSession(() => {});
    const dealer = await open(address, (send) => (session = new ToyClientSession(send)));
    const dialect = { name: "toy", acknowledges: true, knows: new Set<never>(), close: () => dealer.close() };
    return new AnsweringClient({ ...dialect, ask: (body, _, id) => ask(session, body, id) }, address);
  },
  work: (address, { concurrency = 1, timeoutMs }, handler) => {
    const unknown = { task: undefined, attempt: undefined, queue: undefined };
    const context = { dialect: "toy", ...unknown, signal: new AbortController().signal, ...unheard };
    const run: ToyWork = (payload, finish) => {
      handled(handler, new Body(payload), context, timeoutMs).then(
        ({ bytes }) => finish("done", bytes),
        (fault: Error) => finish("failed", Buffer.from(fault.message)),
      );
    };
    return startSlots(concurrency, async () => {
      const dealer = await open(address, (send) => new ToyWorkerSession(send, run));
      return { stop: () => dealer.close() };
    });
  },
};
