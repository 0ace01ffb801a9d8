// Polls /readyz and records why it was not ready.

const askEveryMs = 250;

export class Readiness {
  readonly #url: string;
  readonly #reasons = new Set<string>();
  readonly #timer: NodeJS.Timeout;
  #isAsking = false;

  constructor(url: string) {
    this.#url = `${url}/readyz`;
    this.#timer = setInterval(() => void this.#ask(), askEveryMs);
  }

  /** Each reason once, without its figures. */
  get reasons(): readonly string[] {
    return [...this.#reasons];
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  async #ask(): Promise<void> {
    if (this.#isAsking) return;
    this.#isAsking = true;
    try {
      const response = await fetch(this.#url);
      const text = await response.text();
      if (response.status === 503) this.#reasons.add(reasonIn(text));
    } catch {
      // The dispatcher is slow or gone, which is measured elsewhere.
    } finally {
      this.#isAsking = false;
    }
  }
}

function reasonIn(text: string): string {
  const { detail } = JSON.parse(text) as { detail?: string };
  return (detail ?? text).replace(/\d+/g, "N");
}
