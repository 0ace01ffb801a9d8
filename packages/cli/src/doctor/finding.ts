// What the doctor finds.

export interface Finding {
  readonly check: string;
  /** `better`: it works, and could be better. */
  readonly status: "good" | "better" | "wrong";
  readonly says: string;
  /** What to do about it. */
  readonly advice?: string;
}

export function good(check: string, says: string): Finding {
  return { check, status: "good", says };
}

export function better(check: string, says: string, advice: string): Finding {
  return { check, status: "better", says, advice };
}

export function wrong(check: string, says: string, advice: string): Finding {
  return { check, status: "wrong", says, advice };
}
