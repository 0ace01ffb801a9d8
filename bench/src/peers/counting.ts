// Counts the messages of a receiver: on request it waits a little for the stream to settle, then
// measures.

import { onOrder, report } from "./child.js";

export function countFor(): { add(bytes: number): void } {
  let messages = 0;
  let bytes = 0;
  onOrder(({ warmUpMs, measureMs }) => {
    setTimeout(() => {
      const from = { at: performance.now(), messages, bytes, cpu: process.cpuUsage() };
      setTimeout(() => {
        const seconds = (performance.now() - from.at) / 1000;
        const cpu = process.cpuUsage(from.cpu);
        report({
          perSecond: (messages - from.messages) / seconds,
          bytesPerSecond: (bytes - from.bytes) / seconds,
          cpuMicros: cpu.user + cpu.system,
        });
      }, measureMs as number);
    }, warmUpMs as number);
  });
  return {
    add(frameBytes) {
      messages++;
      bytes += frameBytes;
    },
  };
}
