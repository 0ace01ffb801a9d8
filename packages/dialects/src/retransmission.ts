// Sending again what was not acknowledged, where the wire may lose it: so many sends, so far apart, and then it is given
// up. Time is the caller's; an acknowledgement costs one look-up.
//
// All wait for the same time, so the order of sending is the order of coming due: what is open is linked in it, and found
// by number through a table of chains. A map and a heap would do, but a map that everything goes through is made anew
// time and again, and each old one keeps the next alive, with all that was in it, until the old generation is collected.

import type { Instant, Moment } from "@yardmaster/core";

export interface RetransmissionSettings {
  /** All sends of one message, the first with them. */
  readonly sends: number;
  readonly everyMs: number;
}

export interface RetransmissionHost<Message> {
  sendAgain(message: Message): void;
  /** Its last send has not been answered in its time. */
  giveUp(sent: Sent<Message>): void;
}

/** A message that was sent. Its links are written by `Retransmissions` alone. */
export class Sent<Message> {
  /** What its acknowledgement will name. */
  readonly id: number;
  readonly message: Message;
  sends = 1;
  isOpen = true;
  dueAt: Instant;
  earlier: Sent<Message> | undefined = undefined;
  later: Sent<Message> | undefined = undefined;
  /** The next in the same place of the table. */
  beside: Sent<Message> | undefined = undefined;

  constructor(id: number, message: Message, dueAt: Instant) {
    this.id = id;
    this.message = message;
    this.dueAt = dueAt;
  }
}

/** At first; it doubles when more are open than it has places. */
const placesMin = 256;

export class Retransmissions<Message> {
  readonly #settings: RetransmissionSettings;
  readonly #host: RetransmissionHost<Message>;
  #places: (Sent<Message> | undefined)[] = new Array(placesMin).fill(undefined);
  #first: Sent<Message> | undefined;
  #last: Sent<Message> | undefined;
  #size = 0;

  constructor(settings: RetransmissionSettings, host: RetransmissionHost<Message>) {
    this.#settings = settings;
    this.#host = host;
  }

  get size(): number {
    return this.#size;
  }

  /** It has just been sent for the first time. No other that is open has this number. */
  sent(id: number, message: Message, now: Moment): Sent<Message> {
    const sent = new Sent(id, message, this.#dueAfter(now));
    if (this.#size >= this.#places.length) this.#grow();
    this.#size += 1;
    this.#place(sent);
    this.#append(sent);
    return sent;
  }

  /** The message that an acknowledgement of this number is for; undefined for one that nobody waits for. */
  find(id: number): Sent<Message> | undefined {
    let sent = this.#places[id & (this.#places.length - 1)];
    while (sent !== undefined && sent.id !== id) sent = sent.beside;
    return sent;
  }

  /** It is not sent again. False when it was over before. */
  close(sent: Sent<Message>): boolean {
    if (!sent.isOpen) return false;
    this.#unlink(sent);
    this.#forget(sent);
    return true;
  }

  nextDeadline(): Instant | undefined {
    return this.#first?.dueAt;
  }

  handleTimeout(now: Moment): void {
    for (let sent = this.#first; sent !== undefined && sent.dueAt <= now.instant; sent = this.#first) {
      this.#unlink(sent);
      if (sent.sends < this.#settings.sends) {
        sent.sends += 1;
        sent.dueAt = this.#dueAfter(now);
        this.#append(sent);
        this.#host.sendAgain(sent.message);
      } else {
        this.#forget(sent);
        this.#host.giveUp(sent);
      }
    }
  }

  #dueAfter(now: Moment): Instant {
    return (now.instant + this.#settings.everyMs) as Instant;
  }

  #append(sent: Sent<Message>): void {
    sent.earlier = this.#last;
    if (this.#last === undefined) this.#first = sent;
    else this.#last.later = sent;
    this.#last = sent;
  }

  /** Leaves it without links: what is over must not keep what is not. */
  #unlink(sent: Sent<Message>): void {
    const { earlier, later } = sent;
    if (earlier === undefined) this.#first = later;
    else earlier.later = later;
    if (later === undefined) this.#last = earlier;
    else later.earlier = earlier;
    sent.earlier = undefined;
    sent.later = undefined;
  }

  #place(sent: Sent<Message>): void {
    const place = sent.id & (this.#places.length - 1);
    sent.beside = this.#places[place];
    this.#places[place] = sent;
  }

  #forget(sent: Sent<Message>): void {
    const place = sent.id & (this.#places.length - 1);
    let before: Sent<Message> | undefined;
    for (let each = this.#places[place]; each !== sent && each !== undefined; each = each.beside)
      before = each;
    if (before === undefined) this.#places[place] = sent.beside;
    else before.beside = sent.beside;
    sent.beside = undefined;
    sent.isOpen = false;
    this.#size -= 1;
  }

  #grow(): void {
    this.#places = new Array(2 * this.#places.length).fill(undefined);
    for (let sent = this.#first; sent !== undefined; sent = sent.later) this.#place(sent);
  }
}
