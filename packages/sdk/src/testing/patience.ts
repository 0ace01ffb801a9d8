// For tests: the time after which a test counts as hung. It says nothing about the machine: a test
// that needs a second may need a minute on a busy one, and a passing test is never slower for it.

export const patience = { timeout: 120_000 } as const;
