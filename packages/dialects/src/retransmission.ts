// Sending again what was not acknowledged, where the wire may lose it: so many sends, so far apart, and then it is given
// up. Time is the caller's; an acknowledgement costs one look-up.
//
// All wait for the same time, so the order of sending is the order of coming due: what is open is linked in it, and found
// by number through a table of chains. A map and a heap would do, but not well: see core's `Chain`.

import { Chain, type Instant, type Moment } from "@yardmaster/core";

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
  previous: Sent<Message> | undefined = undefined;
  next: Sent<Message> | undefined = undefined;
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
  /** In the order of coming due. */
  readonly #open = new Chain<Sent<Message>>();

  constructor(settings: RetransmissionSettings, host: RetransmissionHost<Message>) {
    this.#settings = settings;
    this.#host = host;
  }

  get size(): number {
    return this.#open.size;
  }

  /** It has just been sent for the first time. No other that is open has this number. */
  sent(id: number, message: Message, now: Moment): Sent<Message> {
    const sent = new Sent(id, message, this.#dueAfter(now));
    if (this.#open.size >= this.#places.length) this.#grow();
    this.#place(sent);
    this.#open.add(sent);
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
    this.#open.remove(sent);
    this.#forget(sent);
    return true;
  }

  nextDeadline(): Instant | undefined {
    return this.#open.first?.dueAt;
  }

  handleTimeout(now: Moment): void {
    for (
      let sent = this.#open.first;
      sent !== undefined && sent.dueAt <= now.instant;
      sent = this.#open.first
    ) {
      this.#open.remove(sent);
      if (sent.sends < this.#settings.sends) {
        sent.sends += 1;
        sent.dueAt = this.#dueAfter(now);
        this.#open.add(sent);
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
  }

  #grow(): void {
    this.#places = new Array(2 * this.#places.length).fill(undefined);
    for (const sent of this.#open) this.#place(sent);
  }
}
