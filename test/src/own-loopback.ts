// A loopback address that no other process uses, for tests that release a port and bind it again.
// On 127.0.0.1 another program may have taken the port meanwhile: every connection to loopback uses
// one.

/** Differs between the processes of a machine. Only on Linux does loopback have many addresses. */
export const ownLoopback: string = process.platform === "linux" ? addressOf(process.pid) : "127.0.0.1";

/** People use addresses below 127.64.0.0. */
function addressOf(pid: number): string {
  return `127.${64 + ((pid >>> 16) & 63)}.${(pid >>> 8) & 255}.${1 + ((pid & 255) % 254)}`;
}
