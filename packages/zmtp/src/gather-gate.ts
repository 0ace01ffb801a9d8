// Bounds the memory for streamed bodies that must be whole before they are sent, over all peers of
// one or several sockets. A body waits until it fits; one alone always fits.

export interface Gathering {
  readonly length: number;
  /** Called once, when there is room. */
  begin(): void;
}

export class GatherGate {
  private heldBytes = 0;
  private readonly inside = new Set<Gathering>();
  /** In the order of their requests. */
  private readonly waiting = new Set<Gathering>();

  enter(body: Gathering, bytesMax: number): void {
    this.waiting.add(body);
    this.admit(bytesMax);
  }

  /** The body was sent, or will not be. May be called again, or without enter(). */
  leave(body: Gathering, bytesMax: number): void {
    this.waiting.delete(body);
    if (this.inside.delete(body)) this.heldBytes -= body.length;
    this.admit(bytesMax);
  }

  private admit(bytesMax: number): void {
    for (const body of this.waiting) {
      if (this.inside.size > 0 && this.heldBytes + body.length > bytesMax) return;
      this.waiting.delete(body);
      this.inside.add(body);
      this.heldBytes += body.length;
      body.begin();
    }
  }
}
