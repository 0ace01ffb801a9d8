// Retransmission of unacknowledged messages: a fixed number of sends at a fixed interval, then the
// message is given up. Time is an argument. An acknowledgement costs one lookup.
//
// All messages wait equally long, so the order of sending is the order of coming due. Open messages
// are linked in that order and found by number through a hash table. A map and a heap would be
// slower under this traffic: see core's `Chain`.

import { Chain, type Instant, type Moment } from "@yardmaster/core";

export interface RetransmissionSettings {
  /** Total number of sends of one message, including the first. */
  readonly sends: number;
  readonly everyMs: number;
}

export interface RetransmissionHost<Message> {
  sendAgain(message: Message): void;
  /** The last send was not acknowledged in time. */
  giveUp(sent: Sent<Message>): void;
}

/** A message that was sent. Its links are written only by `Retransmissions`. */
export class Sent<Message> {
  /** The number that its acknowledgement names. */
  readonly id: number;
  readonly message: Message;
  sends = 1;
  isOpen = true;
  dueAt: Instant;
  previous: Sent<Message> | undefined = undefined;
  next: Sent<Message> | undefined = undefined;
  /** The next message in the same slot of the table. */
  beside: Sent<Message> | undefined = undefined;

  constructor(id: number, message: Message, dueAt: Instant) {
    this.id = id;
    this.message = message;
    this.dueAt = dueAt;
  }
}

/** Initial number of slots. The table doubles when more messages are open than it has slots. */
const placesMin = 256;

export class Retransmissions<Message> {
  readonly #settings: RetransmissionSettings;
  readonly #host: RetransmissionHost<Message>;
  #places: (Sent<Message> | undefined)[] = new Array(placesMin).fill(undefined);
  /** In order of coming due. */
  readonly #open = new Chain<Sent<Message>>();

  constructor(settings: RetransmissionSettings, host: RetransmissionHost<Message>) {
    this.#settings = settings;
    this.#host = host;
  }

  get size(): number {
    return this.#open.size;
  }

  /** Call after the first send. The number must differ from those of all open messages. */
  sent(id: number, message: Message, now: Moment): Sent<Message> {
    const sent = new Sent(id, message, this.#dueAfter(now));
    if (this.#open.size >= this.#places.length) this.#grow();
    this.#place(sent);
    this.#open.add(sent);
    return sent;
  }

  /** The open message that an acknowledgement of this number is for, if any. */
  find(id: number): Sent<Message> | undefined {
    let sent = this.#places[id & (this.#places.length - 1)];
    while (sent !== undefined && sent.id !== id) sent = sent.beside;
    return sent;
  }

  /** Stops retransmission. False when it had ended before. */
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
