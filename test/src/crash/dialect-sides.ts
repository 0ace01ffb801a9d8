// Clients and workers of the other dialects, from the SDK, which reconnect by themselves.

import {
  bytesSerializer,
  connect,
  PingpongClient,
  PingpongWorker,
  PulseWorker,
  ScalerClient,
  ScalerWorker,
  type ScalerWorkerOptions,
  UdpCalculator,
  UdpClient,
  work,
} from "@yardmaster/sdk";
import type { Going } from "./http-side.js";
import type { Ledger } from "./ledger.js";
import { type Addresses, moniqueSpec } from "./lives.js";
import { sizedWithMark } from "./sizes.js";
import { pause, workMs } from "./timing.js";

export interface Peer {
  stop(): Promise<void>;
}

export async function pingpongClient(
  { pingpongClients }: Addresses,
  ledger: Ledger,
  going: Going,
): Promise<void> {
  const client = new PingpongClient({ broker: pingpongClients });
  while (going.isSubmitting) {
    const mark = ledger.newMark("pingpong");
    try {
      const [result] = await client.submit(Buffer.from(sizedWithMark(mark)));
      ledger.told(mark, String(result));
    } catch {
      // The connection was lost. It is not known whether the job was accepted, and it was not
      // acknowledged.
      await pause(50);
    }
  }
  await client.close();
}

export async function udpClient({ udp }: Addresses, ledger: Ledger, going: Going): Promise<void> {
  const client = await UdpClient.open({ dispatcher: udp });
  const open = new Set<Promise<void>>();
  while (going.isSubmitting) {
    const mark = ledger.newMark("udp");
    const ended = client
      .submit({ mark }, { onAccepted: () => ledger.accepted(mark) })
      .then(({ result }) => ledger.told(mark, String(result)))
      .catch(() => {})
      .finally(() => open.delete(ended));
    open.add(ended);
    await (open.size < 8 ? pause(30 * Math.random()) : Promise.race(open));
  }
  while (going.isWorking && open.size > 0) await Promise.race([...open, pause(100)]);
  await client.close();
}

export async function scalerClient({ scaler }: Addresses, ledger: Ledger, going: Going): Promise<void> {
  const client = new ScalerClient({ scheduler: scaler, serializer: bytesSerializer, plainNames: true });
  const open = new Set<Promise<void>>();
  while (going.isSubmitting) {
    const mark = ledger.newMark("scaler");
    const ended = client
      .call("scaler", [sizedWithMark(mark)], { id: mark })
      .result()
      .then((result) => ledger.told(mark, String(result)))
      .catch((error: Error) => ledger.told(mark, error.message))
      .finally(() => open.delete(ended));
    open.add(ended);
    await (open.size < 8 ? pause(30 * Math.random()) : Promise.race(open));
  }
  while (going.isWorking && open.size > 0) await Promise.race([...open, pause(100)]);
  await client.close();
}

export function pingpongWorker({ pingpongWorkers }: Addresses, name: string, ledger: Ledger): Peer {
  return new PingpongWorker({
    broker: pingpongWorkers,
    identity: name,
    work: async ([payload]) => {
      const result = sizedWithMark(ledger.ran(String(payload), name));
      await pause(workMs());
      return [Buffer.from(result)];
    },
  });
}

export async function udpCalculator({ udp }: Addresses, name: string, ledger: Ledger): Promise<Peer> {
  return UdpCalculator.open({
    dispatcher: udp,
    heartbeatMs: 500,
    work: async (params) => {
      const result = ledger.ran(JSON.stringify(params), name);
      await pause(workMs());
      return result;
    },
  });
}

export function pulseWorker({ pulse }: Addresses, name: string, ledger: Ledger): Peer {
  return new PulseWorker({
    dir: pulse,
    nextPulseSeconds: 5,
    pulseMs: 200,
    retryMs: 100,
    work: async (payload) => {
      const result = sizedWithMark(ledger.ran(payload.toString(), name));
      await pause(workMs());
      return Buffer.from(result);
    },
  });
}

export function scalerWorker(
  { scaler }: Addresses,
  name: string,
  ledger: Ledger,
  options: Partial<ScalerWorkerOptions> = {},
): Peer {
  return new ScalerWorker({
    scheduler: scaler,
    identity: name,
    serializer: bytesSerializer,
    heartbeatMs: 200,
    functions: {
      scaler: async ([payload]) => {
        const result = sizedWithMark(ledger.ran(String(payload), name));
        await pause(workMs());
        return result;
      },
    },
    ...options,
  });
}

/**
 * A component does not receive what is published while it is away. It then asks the next question.
 */
const answerMsMax = 5_000;

export async function moniqueClient({ monique }: Addresses, ledger: Ledger, going: Going): Promise<void> {
  const client = await connect(monique);
  while (going.isSubmitting) {
    const mark = ledger.newMark("monique");
    try {
      const { body } = await client.call(sizedWithMark(mark), { queue: moniqueSpec, waitMs: answerMsMax });
      ledger.told(mark, body.text());
    } catch {
      await pause(50);
    }
  }
  await client.close();
}

export async function moniqueWorker({ monique }: Addresses, name: string, ledger: Ledger): Promise<Peer> {
  return work(monique, { queue: moniqueSpec, name }, async (payload) => {
    const result = sizedWithMark(ledger.ran(payload.text(), name));
    await pause(workMs());
    return result;
  });
}
