// An address of loopback that no other process uses, for tests that let a port go and come back to it. A port of
// 127.0.0.1 may be another program's by then, if only for a moment: every connection to loopback takes one.

/** Differs between the processes of a machine. Elsewhere than on Linux loopback has one address. */
export const ownLoopback: string = process.platform === "linux" ? addressOf(process.pid) : "127.0.0.1";

/** Below 127.64.0.0 are the addresses that people use. */
function addressOf(pid: number): string {
  return `127.${64 + ((pid >>> 16) & 63)}.${(pid >>> 8) & 255}.${1 + ((pid & 255) % 254)}`;
}
