// Who is looking: the token, kept in memory unless the person asks the browser to keep it, and
// requests made with it. Every address is relative to the page's own, so that a proxy may put all
// of it below a path.

import type { ReachedApi } from "../model/shell-lines.js";

const tokenName = "yardmaster.token";
/** After this time without an answer, the dispatcher counts as unreachable. */
const patienceMs = 20_000;

/** The dispatcher refused: its own words and stable code. */
export class Refusal extends Error {
  readonly status: number;
  readonly code: string;
  readonly retryAfter: string | null;

  constructor(status: number, code: string, detail: string, retryAfter: string | null = null) {
    super(detail);
    this.status = status;
    this.code = code;
    this.retryAfter = retryAfter;
  }
}

let token: string | undefined = stored()?.getItem(tokenName) ?? undefined;
const listeners = new Set<() => void>();
let isRefused = false;

export const session = {
  get isSignedOut(): boolean {
    return isRefused;
  },
  get hasToken(): boolean {
    return token !== undefined;
  },
  /** Signs in; whether the token is right shows with the next request. */
  open(given: string, isKept: boolean): void {
    token = given;
    if (isKept) stored()?.setItem(tokenName, given);
    else stored()?.removeItem(tokenName);
    isRefused = false;
    changed();
  },
  signOut(): void {
    token = undefined;
    stored()?.removeItem(tokenName);
    isRefused = true;
    changed();
  },
  refused(): void {
    if (isRefused) return;
    isRefused = true;
    changed();
  },
  onChange(listener: () => void): () => void {
    listeners.add(listener);
    return () => listeners.delete(listener);
  },
};

/** A browser may forbid storage. */
function stored(): Storage | undefined {
  try {
    return globalThis.localStorage;
  } catch {
    return undefined;
  }
}

function changed(): void {
  for (const listener of listeners) listener();
}

/** The address of an API path as the page reaches it. */
export function addressOf(path: string): string {
  return new URL(path.replace(/^\//, ""), document.baseURI).href;
}

/** The same for lines to paste. */
export function reachedApi(): ReachedApi {
  return { base: addressOf("").replace(/\/$/, ""), hasToken: session.hasToken };
}

/** As `fetch`, with the token; a refusal is thrown with the dispatcher's words. */
export async function request(path: string, options: RequestInit = {}): Promise<Response> {
  const headers = new Headers(options.headers);
  const shown = token;
  if (shown !== undefined) headers.set("Authorization", `Bearer ${shown}`);
  const response = await fetch(addressOf(path), { cache: "no-store", ...options, headers });
  if (response.ok) return response;
  // A late answer to a request with an earlier token says nothing about the one in use.
  if (response.status === 401 && shown === token) session.refused();
  throw await refusalOf(response);
}

export async function getJson<Answer>(path: string, options: RequestInit = {}): Promise<Answer> {
  const response = await request(path, { signal: AbortSignal.timeout(patienceMs), ...options });
  return (await response.json()) as Answer;
}

export async function post<Answer>(path: string, options: RequestInit = {}): Promise<Answer> {
  return getJson<Answer>(path, { method: "POST", ...options });
}

async function refusalOf(response: Response): Promise<Refusal> {
  const text = await response.text().catch(() => "");
  let problem: { code?: unknown; detail?: unknown } = {};
  try {
    problem = JSON.parse(text);
  } catch {
    // Something between us and the dispatcher answered.
  }
  const code = typeof problem.code === "string" ? problem.code : `http_${response.status}`;
  const detail = typeof problem.detail === "string" ? problem.detail : `the answer was ${response.status}`;
  return new Refusal(response.status, code, detail, response.headers.get("retry-after"));
}

/** What went wrong, as a sentence's end. */
export function faultWords(fault: unknown): string {
  if (fault instanceof Refusal) return fault.message;
  return "the dispatcher does not answer";
}
