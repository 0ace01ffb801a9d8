// A minimal worker: a connection that returns the bytes it receives. For a job whose result equals
// its payload these are correct, so the load leaves the processor to the broker under test.

import { connect } from "node:net";
import { COMMAND, encodeCommand, encodeFrame, encodeGreeting, encodeMetadata, MORE } from "@yardmaster/zmtp";

const greetingBytes = 64;
const shared = Buffer.allocUnsafeSlow(64 * 1024);

const opening = Buffer.concat([
  encodeGreeting({ minor: 1, mechanism: "NULL", isServer: false }),
  encodeFrame(COMMAND, encodeCommand("READY", encodeMetadata([["Socket-Type", Buffer.from("DEALER")]]))),
]);
const hello = Buffer.concat([encodeFrame(MORE, Buffer.alloc(0)), encodeFrame(0, Buffer.from("READY"))]);

/**
 * Connects to a ROUTER and sends ["", "READY"]; then it returns every byte. A job arrives in one
 * piece.
 */
export function startEchoWorker(endpoint: string, onReady: () => void, onJob: () => void): void {
  const { hostname: host, port } = new URL(endpoint.replace("tcp:", "http:"));
  let handshake: Buffer | undefined = Buffer.alloc(0);
  const callback = (bytes: number): boolean => {
    const chunk = Buffer.allocUnsafe(bytes);
    shared.copy(chunk, 0, 0, bytes);
    if (handshake === undefined) {
      stream.write(chunk);
      onJob();
      return true;
    }
    handshake = Buffer.concat([handshake, chunk]);
    // A greeting, and READY in a short frame, whose length is its second byte.
    const end = greetingBytes + 2 + (handshake[greetingBytes + 1] ?? 255);
    if (handshake.length < end) return true;
    stream.write(Buffer.concat([hello, handshake.subarray(end)]));
    handshake = undefined;
    onReady();
    return true;
  };
  const stream = connect({ host, port: Number(port), noDelay: true, onread: { buffer: shared, callback } });
  stream.on("connect", () => stream.write(opening));
  // A broker that stops before its load is not an error here.
  stream.on("error", () => {});
}
