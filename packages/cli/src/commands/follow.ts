// `yardmaster task ID --follow`: shows how far a task is until it has ended. At a terminal one line
// is drawn again and again; elsewhere each change is a line of its own.

import { type HttpClient, hasEnded, type Task } from "@yardmaster/sdk";
import { print, printJson } from "../command.js";
import { barOf, Progress } from "../progress.js";
import { paintState, printable } from "../terminal.js";

/** Resolves with the task once it has ended. */
export async function follow(client: HttpClient, id: string, isJson: boolean): Promise<Task> {
  const progress = new Progress("tasks", !isJson);
  let lastLine = "";
  for await (const task of client.watch(id)) {
    const line = followLine(task);
    if (isJson) printJson(task);
    else if (hasEnded(task.state)) progress.clear();
    else if (progress.isShown) progress.say(line);
    else if (line !== lastLine) print(line);
    lastLine = line;
    if (hasEnded(task.state)) return task;
  }
  throw new Error(`the watch of task ${id} ended before the task did`);
}

export function followLine({ id, state, progress, why }: Task): string {
  const words = [`task ${id} is ${paintState(state)}`];
  if (state === "waiting" && why !== null) words.push(printable(why.message));
  if (state === "running" && progress !== undefined) words.push(...progressWords(progress));
  return words.join("  ");
}

/** A bar for a number, the JSON of anything else, and the message. */
export function progressWords({ value, message }: NonNullable<Task["progress"]>): string[] {
  const words: string[] = [];
  if (typeof value === "number") words.push(barOf(value));
  else if (value !== null) words.push(printable(JSON.stringify(value)));
  if (message !== null) words.push(printable(message));
  return words;
}
