// What a broker under test tells: what the processor time it used since it was last asked comes to.

import { onOrder, report } from "./child.js";

export function reportCpu(): void {
  let before = process.cpuUsage();
  onOrder(({ end }) => {
    if (end === true) process.exit(0);
    const { user, system } = process.cpuUsage(before);
    before = process.cpuUsage();
    report({ cpuMicros: user + system });
  });
}
