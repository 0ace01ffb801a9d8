// What `top` shows and does: the view, the chosen line, what is typed, and what keys do. It returns
// lines; the command writes them to the terminal.

import { type HttpClient, urlsIn } from "@yardmaster/sdk";
import { counted } from "../amounts.js";
import { cut, padded, printable } from "../terminal.js";
import {
  failuresView,
  keysView,
  problemsView,
  queuesView,
  streamView,
  tasksView,
  taskView,
  wireView,
  workersView,
} from "./list-views.js";
import { footLine, headLine, overviewLines, type Room, type ScreenLine, type Target } from "./overview.js";
import { clock } from "./page-words.js";
import type { TaskFilter, TopLooks } from "./top-looks.js";
import type { TopYard } from "./top-yard.js";

const narrowViews = ["overview", "stream", "tasks", "workers", "queues"];
const wideViews = ["overview", "stream", "tasks", "failures", "workers", "queues", "wire"];
/** With less, a row would not have the name of its queue and a number. */
const widthMin = 40;
const heightMin = 7;
/** A second press within this time confirms an order that cannot be undone. */
const armedMs = 4_000;

export interface ScreenSize {
  readonly width: number;
  readonly height: number;
  /** It is printed once and not followed: without the stream, which begins empty. */
  readonly isPrinted?: boolean;
}

interface Armed {
  readonly key: string;
  readonly id: string;
  readonly untilMs: number;
}

export class TopScreen {
  readonly #client: HttpClient;
  readonly #yard: TopYard;
  readonly #looks: TopLooks;
  readonly #url: URL;
  view = "overview";
  /**
   * What the chosen line stands for: it follows when the list is sorted again. Empty if none is
   * chosen.
   */
  #chosen = "";
  #typed: string | undefined;
  #filter = "";
  taskFilter: TaskFilter = {};
  #message = "";
  #armed: Armed | undefined;
  #lines: readonly ScreenLine[] = [];

  constructor(client: HttpClient, yard: TopYard, looks: TopLooks, url: string) {
    this.#client = client;
    this.#yard = yard;
    this.#looks = looks;
    this.#url = new URL(urlsIn(url)[0] ?? url);
  }

  lines({ width, height, isPrinted = false }: ScreenSize, atMs: number): string[] {
    if (width < widthMin || height < heightMin) return tooSmall(width, height);
    const room: Room = {
      width,
      height: Math.max(1, height - 2),
      now: this.#yard.now(atMs),
      filter: this.#filter,
      isPrinted,
    };
    this.#lines = this.#viewLines(room).slice(0, room.height);
    const chosen = this.#target();
    const body = this.#lines.map(({ text, target }) =>
      target && target === chosen ? inverse(text, width) : text,
    );
    const head = headLine(this.#yard, this.#url.host, width, this.#yard.link(atMs, clock));
    return [
      head,
      ...body,
      ...Array<string>(Math.max(0, room.height - body.length)).fill(""),
      this.#foot(width),
    ];
  }

  /** True when it is time to quit. */
  async press(key: string, size: ScreenSize, atMs: number): Promise<boolean> {
    if (this.#typed !== undefined) {
      this.#type(key, this.#typed);
      return false;
    }
    if (key === "q" || key === "\x03") return true;
    const armed = this.#armed;
    this.#armed = undefined;
    this.#message = "";
    if (key === "/") this.#typed = "";
    else if (key === "?") this.#show("keys");
    else if (key === "!") this.#show("problems");
    else if (key === "esc") this.#back();
    else if (key === "j" || key === "down") this.#choose(1);
    else if (key === "k" || key === "up") this.#choose(-1);
    else if (/^[1-9]$/.test(key)) this.#number(Number(key), size.width);
    else if (key === "enter") this.#open();
    else if (key === "s") this.#startLine();
    else if (key === "p") await this.#pause();
    else if (key === "d" || key === "c") await this.#confirmed(key, armed, atMs);
    return false;
  }

  #viewLines(room: Room): ScreenLine[] {
    switch (this.view) {
      case "stream":
        return streamView(this.#yard, room);
      case "tasks":
        return tasksView(this.#looks, room);
      case "task":
        return taskView(this.#looks, room);
      case "failures":
        return failuresView(this.#looks, room);
      case "workers":
        return workersView(this.#yard, room);
      case "queues":
        return queuesView(this.#yard, room);
      case "wire":
        return wireView(this.#looks, room);
      case "problems":
        return problemsView(this.#yard, room);
      case "keys":
        return keysView(room);
      default:
        return overviewLines(this.#yard, room);
    }
  }

  #foot(width: number): string {
    if (this.#typed !== undefined) return cut(`find: ${printable(this.#typed)}_`, width);
    if (this.#message !== "") return cut(printable(this.#message), width);
    const { queue, worker, text } =
      this.view === "tasks"
        ? this.taskFilter
        : { ...this.taskFilter, queue: undefined, worker: undefined, text: undefined };
    const filter = this.#filter || queue || worker || text;
    if (filter) return cut(`only ${printable(filter)}   esc shows all`, width);
    return footLine(this.#views(width), this.view, width);
  }

  #views(width: number): readonly string[] {
    return width >= 112 ? wideViews : narrowViews;
  }

  #targets(): Target[] {
    return this.#lines.flatMap(({ target }) => target ?? []);
  }

  #target(): Target | undefined {
    return this.#targets().find((target) => nameOf(target) === this.#chosen);
  }

  #show(view: string): void {
    this.view = view;
    this.#chosen = "";
  }

  #number(number: number, width: number): void {
    const view = this.#views(width)[number - 1];
    if (view === undefined) return;
    this.taskFilter = {};
    this.#filter = "";
    this.#show(view);
  }

  #choose(step: number): void {
    const names = this.#targets().map(nameOf);
    this.#chosen = names[Math.min(names.length - 1, Math.max(0, names.indexOf(this.#chosen) + step))] ?? "";
  }

  #back(): void {
    if (this.view === "task") {
      this.taskFilter = {};
      return this.#show("tasks");
    }
    if (this.#chosen !== "") this.#chosen = "";
    else if (this.#filter !== "" || Object.keys(this.taskFilter).length > 0) {
      this.#filter = "";
      this.taskFilter = {};
    } else this.#show("overview");
  }

  #type(key: string, typed: string): void {
    if (key === "esc" || key === "\x03") this.#typed = undefined;
    else if (key === "backspace") this.#typed = typed.slice(0, -1);
    else if (key === "enter") {
      this.#typed = undefined;
      this.#find(typed.trim());
    } else if (key.length === 1 && key >= " ") this.#typed = `${typed}${key}`.slice(0, 200);
  }

  #find(text: string): void {
    if (/^\d{1,16}$/.test(text)) this.#openTask(text);
    else if (this.view === "tasks") this.taskFilter = { ...this.taskFilter, text: text || undefined };
    else this.#filter = text.toLowerCase();
    this.#chosen = "";
  }

  #openTask(id: string): void {
    this.taskFilter = { id };
    this.#looks.task = undefined;
    this.#show("task");
  }

  #open(): void {
    const target = this.#target();
    if (target?.is === "task") this.#openTask(target.id);
    else if (target?.is === "queue") this.#tasksOf({ queue: target.queue.name });
    else if (target?.is === "worker") this.#tasksOf({ worker: target.worker.id });
    else if (target?.is === "problem") {
      const { queue, worker, task } = target.alert.subject;
      if (task !== undefined) this.#openTask(task);
      else if (queue !== undefined) this.#tasksOf({ queue });
      else if (worker !== undefined) this.#tasksOf({ worker });
      else this.#message = target.alert.words;
    }
  }

  #tasksOf(filter: TaskFilter): void {
    this.taskFilter = filter;
    this.#show("tasks");
  }

  /** What a key acts on: the chosen line, else the first problem that the key mends. */
  #subject(fix: string): { readonly queue?: string; readonly worker?: string } | undefined {
    const target = this.#target();
    if (target?.is === "queue") return { queue: target.queue.name };
    if (target?.is === "worker") return { worker: target.worker.id };
    const alerts = target?.is === "problem" ? [target.alert] : target ? [] : this.#yard.problems();
    return (
      alerts.flatMap(({ fixes }) => fixes).find((one) => one.do === fix) ??
      (target?.is === "problem" ? target.alert.subject : undefined)
    );
  }

  #startLine(): void {
    const queue = this.#subject("start-worker")?.queue;
    this.#message =
      queue === undefined
        ? "choose a queue first: j and k move"
        : `yardmaster work ${this.#url.origin} --queue ${queue} -- ./your-program`;
  }

  /** Acts at once: the same key takes it back. */
  async #pause(): Promise<void> {
    const name = this.#subject("resume-queue")?.queue;
    const queue = this.#yard.queues.get(name ?? "");
    if (!queue) {
      this.#message = "choose a queue first: j and k move";
      return;
    }
    const order = queue.paused || queue.draining ? "resume" : "pause";
    await this.#act(async () => {
      this.#yard.queues.set(queue.name, { ...queue, ...(await this.#client.orderQueue(queue.name, order)) });
      return order === "pause" ? `${queue.name} is paused; p resumes it` : `${queue.name} runs again`;
    });
  }

  /** The first press says what will happen; the second one does it. */
  async #confirmed(key: "d" | "c", armed: Armed | undefined, atMs: number): Promise<void> {
    const target = this.#target();
    const id =
      key === "d"
        ? this.#subject("drain-worker")?.worker
        : target?.is === "task"
          ? target.id
          : this.view === "task"
            ? this.taskFilter.id
            : undefined;
    if (id === undefined) {
      this.#message =
        key === "d" ? "choose a worker first: j and k move" : "choose a task first: 3 lists tasks";
      return;
    }
    if (armed?.key === key && armed.id === id && atMs < armed.untilMs) {
      await this.#act(async () => {
        if (key === "c") await this.#client.cancel(id);
        else await this.#client.drainWorker(id);
        return key === "c" ? `task ${id} is cancelled` : `${id} gets nothing more`;
      });
      return;
    }
    this.#armed = { key, id, untilMs: atMs + armedMs };
    const held = this.#yard.beats.get(id)?.running ?? this.#yard.workers.get(id)?.running ?? 0;
    this.#message =
      key === "c"
        ? `cancel task ${id}? c again cancels it`
        : `drain ${id}? It holds ${counted(held, "task")}. d again drains it`;
  }

  async #act(action: () => Promise<string>): Promise<void> {
    try {
      this.#message = await action();
    } catch (fault) {
      this.#message = fault instanceof Error ? fault.message : String(fault);
    }
  }
}

function tooSmall(width: number, height: number): string[] {
  const lines = [`This terminal has ${width} x ${height};`, `top needs ${widthMin} x ${heightMin}. q quits.`];
  return lines.slice(0, height).map((line) => cut(line, width));
}

function nameOf(target: Target): string {
  if (target.is === "problem") return `problem ${target.alert.id}`;
  if (target.is === "queue") return `queue ${target.queue.name}`;
  return target.is === "worker" ? `worker ${target.worker.id}` : `task ${target.id}`;
}

function inverse(text: string, width: number): string {
  return `\x1b[7m${padded(cut(printable(stripped(text)), width), width)}\x1b[27m`;
}

/** Colours inside an inverted line would end the inversion. */
function stripped(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: that is what a colour is.
  return text.replace(/\x1b\[\d+m/g, "");
}
