// For tests: after how long one counts as hung. This is no statement about the machine: a test that needs a second may
// need a minute beside other work, and one that passes is never the slower for it.

export const patience = { timeout: 120_000 } as const;
