// A result of the doctor.

export interface Finding {
  readonly check: string;
  /** `better`: works, but could be improved. */
  readonly status: "good" | "better" | "wrong";
  readonly says: string;
  /** How to fix or improve it. */
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
