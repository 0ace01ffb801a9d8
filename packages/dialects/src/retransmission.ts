// Sending again what was not acknowledged, where the wire may lose it: so many sends, so far apart, and then it is given
// up. Time is the caller's; an acknowledgement costs one look-up.

import { Deadline, Deadlines, type Instant, type Moment } from "@yardmaster/core";

export interface RetransmissionSettings {
  /** All sends of one message, the first with them. */
  readonly sends: number;
  readonly everyMs: number;
}

export interface RetransmissionHost<Message> {
  sendAgain(message: Message): void;
  /** Its last send has not been answered in its time. */
  giveUp(message: Message): void;
}

interface Open<Message> {
  readonly key: string;
  readonly message: Message;
  sends: number;
}

export class Retransmissions<Message> {
  readonly #settings: RetransmissionSettings;
  readonly #host: RetransmissionHost<Message>;
  readonly #open = new Map<string, Deadline<Open<Message>>>();
  readonly #deadlines = new Deadlines<Open<Message>>();

  constructor(settings: RetransmissionSettings, host: RetransmissionHost<Message>) {
    this.#settings = settings;
    this.#host = host;
  }

  get size(): number {
    return this.#open.size;
  }

  /** It has just been sent for the first time. `key` is what its acknowledgement will name. */
  sent(key: string, message: Message, now: Moment): void {
    const deadline = new Deadline<Open<Message>>({ key, message, sends: 1 });
    this.#open.set(key, deadline);
    this.#arm(deadline, now);
  }

  /** The message that is acknowledged by this, and how often it was sent; undefined for one that nobody waits for. */
  acknowledge(key: string): { readonly message: Message; readonly sends: number } | undefined {
    const deadline = this.#open.get(key);
    if (deadline === undefined) return undefined;
    this.#open.delete(key);
    this.#deadlines.disarm(deadline);
    return deadline.subject;
  }

  nextDeadline(): Instant | undefined {
    return this.#deadlines.next();
  }

  handleTimeout(now: Moment): void {
    for (;;) {
      const deadline = this.#deadlines.takeDue(now.instant);
      if (deadline === undefined) return;
      const { subject } = deadline;
      if (subject.sends < this.#settings.sends) {
        subject.sends += 1;
        this.#arm(deadline, now);
        this.#host.sendAgain(subject.message);
      } else {
        this.#open.delete(subject.key);
        this.#host.giveUp(subject.message);
      }
    }
  }

  #arm(deadline: Deadline<Open<Message>>, now: Moment): void {
    this.#deadlines.arm(deadline, (now.instant + this.#settings.everyMs) as Instant);
  }
}
