// What a broker under test reports: the processor time that it used since the last report.

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
