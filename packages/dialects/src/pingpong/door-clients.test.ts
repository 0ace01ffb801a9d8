import assert from "node:assert/strict";
import { test } from "node:test";
import type { Instant, Moment, Outcome, Submission, TaskHead, WallTime, YardEvent } from "@yardmaster/core";
import { bodyOf } from "../body.js";
import { PingpongDoorClients } from "./door-clients.js";
import type { ClientRequest } from "./messages.js";

const done: Outcome = { state: "done", result: bodyOf(Buffer.from("result")), error: undefined };
const job: ClientRequest = { correlation: [], payload: bodyOf(Buffer.from("job")) };
const correlated: ClientRequest = { ...job, correlation: [Buffer.from("7")] };

/** Clients without a network. What happens is one line each. */
class End {
  now = 0;
  /** Clients without room. */
  readonly full = new Set<string>();
  readonly lines: string[] = [];
  readonly submissions: Submission[] = [];
  readonly clients = new PingpongDoorClients<string>("q", {
    now: () => this.moment,
    post: (event) => this.#posted(event),
    send: (peer, answer) => {
      if (this.full.has(peer)) return "full";
      this.lines.push(`${peer} gets ${answer.type}`);
      return "sent";
    },
    pause: (peer) => this.lines.push(`pause ${peer}`),
    resume: (peer) => this.lines.push(`resume ${peer}`),
  });

  get moment(): Moment {
    return { instant: this.now as Instant, wall: this.now as WallTime };
  }

  #posted(event: YardEvent): void {
    if (event.type === "task-submitted") this.submissions.push(event.submission);
    else if (event.type === "outcomes-told") this.lines.push(`told ${event.tasks}`);
    else if (event.type === "outcome-undelivered") this.lines.push(event.again ? "full" : "gone");
  }

  came(peer: string, hasOwnName = true): void {
    this.clients.came(peer, { name: peer, connection: `${peer} life.1`, hasOwnName });
  }

  tell(id: number, address: string): void {
    const task = { id, replyTo: { address, diesWithConnection: true } } as TaskHead;
    this.clients.tell({ type: "tell", door: "pingpong", task, outcome: done });
  }

  refuse(code: "queue_full" | "payload_too_large", submission: Submission): void {
    this.clients.refuse({ type: "refuse", door: "pingpong", submission, code, message: "no" });
  }

  take(): string[] {
    return this.lines.splice(0);
  }
}

test("[pingpong 4.5] only a correlated answer may follow the client's own name", () => {
  const end = new End();
  end.came("ann");
  end.came("0x00ff", false);
  for (const peer of ["ann", "0x00ff"]) {
    end.clients.receive(peer, job);
    end.clients.receive(peer, correlated);
  }
  assert.deepEqual(
    end.submissions.map(({ replyTo }) => [replyTo?.address, replyTo?.diesWithConnection]),
    [
      ["ann life.1", true],
      ["ann", false],
      ["0x00ff life.1", true],
      ["0x00ff life.1", true],
    ],
  );
});

test("outcomes of one turn are told together, and one that cannot be sent is reported", () => {
  const end = new End();
  end.came("ann");
  end.tell(1, "ann life.1");
  end.tell(2, "ann life.1");
  end.tell(3, "ben life.2");
  end.full.add("ann");
  end.tell(4, "ann life.1");
  end.clients.endTurn();
  end.clients.endTurn();
  assert.deepEqual(end.take(), ["ann gets result", "ann gets result", "gone", "full", "told 1,2"]);
  end.clients.went("ann");
  end.tell(4, "ann life.1");
  assert.deepEqual(end.take(), ["gone"]);
});

test("a client is not read while its queue is full", () => {
  const end = new End();
  end.came("ann");
  end.clients.receive("ann", job);
  const [submission] = end.submissions as [Submission];
  end.refuse("payload_too_large", submission);
  assert.deepEqual(end.take(), ["ann gets error"]);
  end.refuse("queue_full", submission);
  assert.deepEqual(end.take(), ["ann gets error", "pause ann"]);
  end.now = end.clients.nextDeadline() as number;
  end.clients.handleTimeout(end.moment);
  assert.deepEqual([end.take(), end.clients.nextDeadline()], [["resume ann"], undefined]);
});

test("a client without room is owed its refusals, in order, before it is read again", () => {
  const end = new End();
  end.came("ann");
  end.clients.receive("ann", job);
  const [submission] = end.submissions as [Submission];
  end.full.add("ann");
  end.refuse("payload_too_large", submission);
  end.refuse("payload_too_large", submission);
  assert.deepEqual(end.take(), ["pause ann"]);
  const pass = () => {
    end.now = end.clients.nextDeadline() as number;
    end.clients.handleTimeout(end.moment);
    return end.take();
  };
  assert.deepEqual(pass(), ["pause ann"]);
  end.full.clear();
  assert.deepEqual(pass(), ["ann gets error", "ann gets error", "resume ann"]);
});
