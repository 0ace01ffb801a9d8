// Before the first task is done: three lines to paste, each ticked off as it happens, and the doors
// that are open.

import { useState } from "preact/hooks";
import type { TaskPage } from "../live/api-shapes.js";
import { addressOf, getJson, reachedApi } from "../live/session.js";
import { usePolled } from "../live/ticker.js";
import { yard } from "../live/yard.js";
import { keptSentence } from "../model/durability.js";
import { doorAddress, doorWords, type FirstLanguage, firstLines } from "../model/first-lines.js";
import { routeText } from "../model/route.js";
import { shownLine } from "../model/shown-text.js";
import { Code, Segments } from "../parts/controls.js";
import { Sign } from "../parts/sign.js";
import { WorkerLines } from "../parts/start-worker.js";

export function FirstRun() {
  const [language, choose] = useState<FirstLanguage>("curl");
  const { answer } = usePolled("first task", 1_000, () => getJson<TaskPage>("v1/tasks?limit=1"));
  const task = answer?.items[0];
  const open = doorWords.filter(([door]) => yard.doors[door] !== undefined).length;
  const lines = firstLines(language, {
    ...reachedApi(),
    task: task?.id,
    attempt: task?.attempt ?? undefined,
  });
  const isClaimed = task !== undefined && task.state !== "waiting";
  return (
    <div class="first-run">
      <header>
        <h1>The yard is open, and empty.</h1>
        <p>
          {numberWord(open)} on this machine. {keptSentence(yard.durability)} Three lines, and you have seen
          it work.
        </p>
      </header>
      <div class="first-columns">
        <section>
          <Segments
            label="Language"
            value={language}
            choices={[
              { value: "curl", label: "curl" },
              { value: "cli", label: "command line" },
              { value: "ts", label: "TypeScript" },
              { value: "dialect", label: "another dialect" },
            ]}
            onChoose={choose}
          />
          <Step
            number={1}
            isDone={task !== undefined}
            isNext={task === undefined}
            title="Submit a task"
            aside="the body is the payload, whatever it is"
          >
            <Code text={lines.submit} what="the line that submits a task" />
            <p class={task ? "done" : "faint"}>
              {task ? (
                <a href={routeText("task", task.id)}>
                  Task {task.id} is here. {task.why ? `It waits: ${shownLine(task.why.message)}` : ""}
                </a>
              ) : (
                "Waiting for a task."
              )}
            </p>
          </Step>
          <Step
            number={2}
            isDone={isClaimed}
            isNext={task !== undefined && !isClaimed}
            title="Be its worker"
            aside="claim it: the payload comes back, with its ids"
          >
            {language === "dialect" ? (
              <WorkerLines queue={task?.queue ?? "render"} />
            ) : (
              <Code text={lines.work} what="the line that claims it" />
            )}
            <p class={isClaimed ? "done" : "faint"}>
              {isClaimed
                ? `${shownLine(task?.worker ?? "A worker")} has it.`
                : lines.finish
                  ? "Waiting for a worker. Keep its answer: step 3 needs the Yard-Token in it."
                  : "Waiting for a worker."}
            </p>
          </Step>
          {lines.finish && (
            <Step
              number={3}
              isDone={false}
              isNext={isClaimed}
              title="Say that it is done"
              aside="the body is the result"
            >
              <Code text={lines.finish} what="the line that finishes it" />
              <p class="faint">
                The numbers fill themselves in once step 2 has happened; the token only you have seen.
              </p>
            </Step>
          )}
          <p class="faint">
            These lines are for this address, and for your token where one is set.{" "}
            <a class="link" href={addressOf("openapi.json")}>
              Every operation
            </a>
          </p>
        </section>
        <aside>
          <section class="card first-demo">
            <h2>Rather watch first?</h2>
            <p class="muted">
              A demo starts a dispatcher of its own, with workers in all six dialects, one of which dies on
              purpose. It ends after two minutes.
            </p>
            <Code text="npx yardmaster demo" what="the command of the demo" />
          </section>
          <section>
            <h2 class="row">
              The doors <span class="aside">programs that speak one of these connect as they are</span>
            </h2>
            <Doors />
          </section>
        </aside>
      </div>
    </div>
  );
}

function numberWord(open: number): string {
  const words = [
    "No door listens",
    "One door listens",
    "Two doors listen",
    "Three doors listen",
    "Four doors listen",
    "Five doors listen",
    "Six doors listen",
  ];
  return words[open] ?? `${open} doors listen`;
}

function Step(props: {
  number: number;
  title: string;
  aside: string;
  isDone: boolean;
  isNext: boolean;
  children: preact.ComponentChildren;
}) {
  return (
    <div class="first-step">
      <span class={`first-number ${props.isDone ? "is-done" : props.isNext ? "is-next" : ""}`}>
        {props.isDone ? <Sign name="done" label="done" /> : props.number}
      </span>
      <div class="grow">
        <h2 class="row wrap">
          {props.title} <span class="muted">{props.aside}</span>
        </h2>
        {props.children}
      </div>
    </div>
  );
}

function Doors() {
  const step = 42;
  return (
    <svg
      class="first-doors"
      width="100%"
      height={doorWords.length * step + 10}
      role="img"
      aria-label="The doors and where they listen"
    >
      {doorWords.map(([door, words], at) => {
        const y = 20 + at * step;
        const turn = 22 + at * step;
        const address = doorAddress(yard.doors[door]);
        const isOpen = yard.doors[door] !== undefined;
        return (
          <g key={door}>
            {at > 0 && (
              <path d={`M${turn - step} ${y - step}L${turn} ${y}`} stroke="var(--text)" stroke-width="2.4" />
            )}
            <path
              d={`M${at === 0 ? 0 : turn} ${y}H248`}
              stroke={at === 0 ? "var(--text)" : "var(--muted)"}
              stroke-width={at === 0 ? 2.4 : 1.4}
            />
            <circle cx={turn} cy={y} r="4" fill="var(--bg)" stroke="var(--text)" stroke-width="1.6" />
            <rect
              x="246"
              y={y - 10}
              width="5"
              height="20"
              rx="1"
              fill={isOpen ? "var(--done)" : "var(--line2)"}
            />
            <text x="264" y={y - 3}>
              <tspan class="strong">{door}</tspan>
              <tspan dx="8" class="faint-text">
                {words}
              </tspan>
            </text>
            <text x="264" y={y + 15} class="mono-text">
              {shownLine(address)}
            </text>
          </g>
        );
      })}
    </svg>
  );
}
