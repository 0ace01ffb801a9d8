// The toy dialect's part of a simulated run: clients and workers around the real sessions, on
// simulated connections to the real door, and their checks of the promise.

import type { Port } from "@yardmaster/server";
import { fail } from "../simulation/checker.js";
import { type DiskTask, DiskTasks, isFinished } from "../simulation/disk-tasks.js";
import { drawPingpongFaults, noPingpongFaults } from "../simulation/faults.js";
import type { Plug } from "../simulation/plug.js";
import type { Side, SideOptions } from "../simulation/side.js";
import { StreamPeer } from "../simulation/stream-peer.js";
import { Streams } from "../simulation/streams.js";
import type { Process } from "../simulation/world.js";
import { decode, encode, type ToyMessage } from "./codec.js";
import { ToyDoor } from "./door.js";
import { ToyClientSession, ToyWorkerSession } from "./peer-sessions.js";

interface Plan {
  readonly name: string;
}

/** One end of a connection, with the session that `make` returns for it. */
abstract class ToyPeer extends StreamPeer<ToyChecker, Plan> {
  protected plug: Plug | undefined;

  protected join(make: (send: (message: ToyMessage) => void) => ToySession): void {
    let session = make(() => {});
    const plug = this.connect({
      endpoint: "workers",
      socketType: "DEALER",
      came: () => {
        session = make((message) => void plug.send(encode(message)));
        session.connected?.();
      },
      receive: (_line, frames) => {
        const message = decode(frames) ?? fail(`${this.plan.name} was sent what it cannot read`);
        session.receive(message);
      },
      gone: () => session.disconnected?.(),
    });
    this.plug = plug;
  }
}

interface ToySession {
  connected?(): void;
  disconnected?(): void;
  receive(message: ToyMessage): void;
}

class ToyClient extends ToyPeer {
  #last = 0;

  protected begin(): void {
    let session = new ToyClientSession(() => {});
    this.join((send) => {
      session = new ToyClientSession(send);
      return session;
    });
    for (let count = this.random.integer(1, 10); count > 0; count -= 1) {
      this.world.plan(this.process, this.random.between(0, 15_000), () => {
        const line = this.plug?.line;
        if (line === undefined) return;
        const mark = `${this.plan.name}/${++this.#last}/`;
        this.checker.asked(mark, line);
        session.submit(Buffer.from(mark), (verb, body) => this.checker.told(mark, verb, body.toString()));
      });
    }
  }
}

class ToyWorker extends ToyPeer {
  protected begin(): void {
    this.join(
      (send) =>
        new ToyWorkerSession(send, (payload, finish) => {
          this.checker.given(payload.toString());
          const isGood = !this.random.chance(0.1);
          const result = Buffer.from(`${payload} by ${this.plan.name}`);
          this.world.plan(this.process, this.random.between(1, 500), () =>
            finish(isGood ? "done" : "failed", result),
          );
        }),
    );
  }
}

interface Asked {
  /** The connection that gets the outcome. */
  readonly line: number;
  isAccepted: boolean;
  /** The outcome that its client received. */
  ending: string | undefined;
}

/** `accepted` means on the disk; what is on the disk ends once; a connected client is told. */
class ToyChecker {
  readonly #disk: DiskTasks;
  readonly #asked = new Map<string, Asked>();

  constructor(disk: DiskTasks) {
    this.#disk = disk;
  }

  asked(mark: string, line: number): void {
    this.#asked.set(mark, { line, isAccepted: false, ending: undefined });
  }

  given(mark: string): void {
    if (this.#onDisk(mark) === undefined) fail(`${mark} was given out and is not on the disk`);
  }

  told(mark: string, verb: string, body: string): void {
    const asked = this.#asked.get(mark) ?? fail(`${mark} was never asked for`);
    if (body === "the connection was lost") return;
    const stored = this.#onDisk(mark);
    if (verb === "refused") return stored && fail(`${mark} was refused and is on the disk`);
    if (stored === undefined) return fail(`${mark} was ${verb} and is not on the disk`);
    if (verb === "accepted") {
      asked.isAccepted = true;
      return;
    }
    if (asked.ending !== undefined) fail(`${mark} was told ${asked.ending} and then ${verb}`);
    asked.ending = verb;
    if (stored.state !== verb) fail(`${mark} was told as ${verb} and is ${stored.state} on the disk`);
    if (verb === "done" && !body.startsWith(mark)) fail(`${mark} was told another's result: ${body}`);
  }

  get acceptedCount(): number {
    return this.#disk.all().length;
  }

  /** What is still missing; undefined if the promise is kept. */
  complaint(isWhole: (line: number) => boolean): string | undefined {
    for (const task of this.#disk.all()) {
      const mark = this.#disk.textOf(task.head);
      if (!isFinished(task.state)) return `${mark} was accepted and is ${task.state}`;
      const { line, ending } = this.#asked.get(mark) ?? fail(`${mark} was never asked for`);
      if (ending === undefined && isWhole(line))
        return `${mark} is ${task.state} and its client was not told`;
    }
    return undefined;
  }

  finish(): void {
    const marks = this.#disk.all().map(({ head }) => this.#disk.textOf(head));
    if (new Set(marks).size !== marks.length) fail("a task was accepted twice");
    for (const [mark, { isAccepted }] of this.#asked)
      if (isAccepted && !marks.includes(mark)) fail(`${mark} was accepted and is lost`);
  }

  #onDisk(mark: string): DiskTask | undefined {
    return this.#disk.all().find(({ head }) => this.#disk.textOf(head) === mark);
  }
}

export class ToySide implements Side {
  readonly door = "toy";
  readonly #options: SideOptions;
  readonly connections: Streams;
  readonly #checker: ToyChecker;
  readonly #clients: ToyClient[] = [];
  readonly #workers: ToyWorker[] = [];

  constructor(options: SideOptions) {
    const { world, random, store, isQuiet } = options;
    this.#options = options;
    this.#checker = new ToyChecker(new DiskTasks(store, this.door));
    this.connections = new Streams(
      world,
      random,
      (isQuiet ? noPingpongFaults : drawPingpongFaults(random)).streams,
    );
  }

  get acceptedCount(): number {
    return this.#checker.acceptedCount;
  }

  makeDoor(port: Port, process: Process): ToyDoor {
    const [listen, makeRouter] = [{ host: "yard", port: 2 }, this.connections.routersOf(process)];
    const limits = { peersMax: 100, payloadBytesMax: 1_000 };
    return new ToyDoor({ port, listen, queue: this.#options.queue, log: () => {}, ...limits, makeRouter });
  }

  populate(): void {
    const { world, random } = this.#options;
    const add = <Peer extends ToyPeer>(peers: Peer[], Kind: new (...given: Given) => Peer, name: string) => {
      const peer = new Kind(world, this.connections, random, this.#checker, {
        name: `${name}-${peers.length}`,
      });
      peers.push(peer);
      peer.start();
    };
    for (let count = random.integer(1, 3); count > 0; count -= 1) add(this.#clients, ToyClient, "client");
    for (let count = random.integer(1, 3); count > 0; count -= 1) add(this.#workers, ToyWorker, "worker");
  }

  planTrouble(): void {
    const { random, faults, often } = this.#options;
    often(faults.workerDeaths, () => this.connections.kill(random.pick(this.#workers)));
    often(faults.clientDeaths, () => this.connections.kill(random.pick(this.#clients)));
    often(this.connections.faults.breaks, () => this.connections.breakOne());
  }

  heal(): void {
    this.connections.heal();
    for (const worker of this.#workers) if (worker.process.isDead) worker.start();
  }

  isComplete(): boolean {
    return this.#checker.complaint((line) => this.connections.isWhole(line)) === undefined;
  }

  finish(): void {
    const complaint = this.#checker.complaint((line) => this.connections.isWhole(line));
    if (complaint !== undefined) fail(complaint);
    this.#checker.finish();
  }

  wasGiven(): boolean {
    return false;
  }
}

type Given = ConstructorParameters<typeof StreamPeer<ToyChecker, Plan>>;
