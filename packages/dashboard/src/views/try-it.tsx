// Submits a task by hand and shows its life. Also shows the same task as a line for a shell and for
// a program.

import { useEffect, useRef, useState } from "preact/hooks";
import type { Task } from "../live/api-shapes.js";
import { useRoute } from "../live/navigation.js";
import { getJson, Refusal, reachedApi, request } from "../live/session.js";
import { usePolled, useRefresh } from "../live/ticker.js";
import { yard } from "../live/yard.js";
import { bytes } from "../model/numbers.js";
import { colourAt, textOn } from "../model/queue-colours.js";
import { routeText } from "../model/route.js";
import { cliSubmit, curlSubmit, type Submission, sdkSubmit } from "../model/shell-lines.js";
import { shownLine } from "../model/shown-text.js";
import { attemptsOf, shortWorker, taskSentence } from "../model/story.js";
import { isFinished } from "../model/task-states.js";
import { fineDuration } from "../model/time.js";
import { BodyCard } from "../parts/body-card.js";
import { Code, Segments } from "../parts/controls.js";
import { Sign } from "../parts/sign.js";
import { useDark } from "../parts/theme.js";
import { Sentence } from "./task.js";

interface Form {
  queue: string;
  contentType: string;
  payload: string;
  priority: string;
  key: string;
  delay: string;
  expires: string;
  attempts: string;
}

const optionNames = ["priority", "key", "delay", "expires", "attempts"] as const;

/** A new address makes a new form, so a late answer for the previous one is dropped. */
export function TryView() {
  const { query } = useRoute();
  return <TryForm key={`${query.get("from")} ${query.get("queue")}`} />;
}

function TryForm() {
  const { query } = useRoute();
  const [form, setForm] = useState<Form>({
    queue: query.get("queue") ?? "",
    contentType: "application/json",
    payload: '{ "frame": 1 }',
    priority: "",
    key: "",
    delay: "",
    expires: "",
    attempts: "",
  });
  const [task, setTask] = useState<string | undefined>();
  const [fault, setFault] = useState<Refusal | undefined>();
  const [isMore, more] = useState(false);
  const isSending = useRef(false);
  const isTouched = useRef(false);
  const form$ = useRef<HTMLFormElement>(null);
  const set = (change: Partial<Form>) => {
    isTouched.current = true;
    setForm({ ...form, ...change });
  };
  const from = query.get("from");
  useEffect(() => {
    if (from !== undefined)
      void prefill(from).then((given) => {
        // What a person has typed meanwhile stays.
        if (given && !isTouched.current) setForm((before) => ({ ...before, ...given }));
      });
  }, [from]);
  const submit = async (event?: Event) => {
    event?.preventDefault();
    // A double click is one task.
    if (isSending.current) return;
    isSending.current = true;
    setFault(undefined);
    try {
      const options = new URLSearchParams(
        optionNames.flatMap((name) => (form[name] === "" ? [] : [[name, form[name]]])),
      );
      const response = await request(`v1/queues/${encodeURIComponent(form.queue)}/tasks?${options}`, {
        method: "POST",
        body: form.payload,
        headers: form.contentType === "" ? {} : { "Content-Type": form.contentType },
      });
      setTask(((await response.json()) as Task).id);
    } catch (raised) {
      setFault(
        raised instanceof Refusal ? raised : new Refusal(0, "unreachable", "the dispatcher does not answer"),
      );
    } finally {
      isSending.current = false;
    }
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) void submit(event);
  };
  const at = faultField(fault);
  return (
    <>
      <h1>Try it</h1>
      <div class="card try">
        <section aria-label="Submit a task">
          <form ref={form$} class="stack" onSubmit={(event) => void submit(event)} onKeyDown={onKeyDown}>
            <div class="fields">
              <Input
                label="queue"
                value={form.queue}
                onInput={(queue) => set({ queue })}
                fault={at === "queue" ? fault : undefined}
                list="queues"
                isRequired
              />
              <datalist id="queues">
                {[...yard.queues.keys()].slice(0, 200).map((name) => (
                  <option key={name} value={name} />
                ))}
              </datalist>
              <Input
                label="media type"
                value={form.contentType}
                onInput={(contentType) => set({ contentType })}
              />
            </div>
            <label>
              payload
              <textarea
                value={form.payload}
                spellcheck={false}
                onInput={(event) => set({ payload: event.currentTarget.value })}
              />
            </label>
            <div class="fields">
              <Input
                label="priority"
                placeholder="0"
                value={form.priority}
                onInput={(priority) => set({ priority })}
                fault={at === "priority" ? fault : undefined}
              />
              <Input
                label="key"
                placeholder="optional"
                value={form.key}
                onInput={(key) => set({ key })}
                fault={at === "key" ? fault : undefined}
              />
              {isMore && (
                <>
                  <Input
                    label="delay"
                    placeholder="none, or 30s"
                    value={form.delay}
                    onInput={(delay) => set({ delay })}
                    fault={at === "delay" ? fault : undefined}
                  />
                  <Input
                    label="expires"
                    placeholder="never, or 5m"
                    value={form.expires}
                    onInput={(expires) => set({ expires })}
                    fault={at === "expires" ? fault : undefined}
                  />
                  <Input
                    label="attempts"
                    placeholder="5"
                    value={form.attempts}
                    onInput={(attempts) => set({ attempts })}
                    fault={at === "attempts" ? fault : undefined}
                  />
                </>
              )}
            </div>
            {fault && at === undefined && (
              <p class="fail" role="alert">
                {shownLine(fault.message)}
                {fault.retryAfter !== null && ` Try again in ${fault.retryAfter} s.`}
              </p>
            )}
            <div class="row">
              <button type="submit" class="button primary" disabled={yard.link === "lost"}>
                Submit <kbd>ctrl enter</kbd>
              </button>
              {!isMore && (
                <button type="button" class="link-button" onClick={() => more(true)}>
                  More: delay, expires, attempts
                </button>
              )}
            </div>
          </form>
        </section>
        <section aria-label="Its life">
          {task === undefined ? (
            <p class="muted">Its life shows here as it happens.</p>
          ) : (
            <LifeOf key={task} id={task} />
          )}
          <SameInAShell form={form} />
        </section>
      </div>
    </>
  );
}

/** The payload and options of a task that is submitted again. */
async function prefill(id: string): Promise<Partial<Form> | undefined> {
  try {
    const task = await getJson<Task>(`v1/tasks/${encodeURIComponent(id)}`);
    const given = {
      queue: task.queue,
      contentType: task.contentType,
      priority: task.priority === 0 ? "" : String(task.priority),
    };
    if (task.payloadBytes > 1_000_000) return given;
    return { ...given, payload: await (await request(`v1/tasks/${task.id}/payload`)).text() };
  } catch {
    return undefined;
  }
}

/** The field that the dispatcher's words are about. */
function faultField(fault: Refusal | undefined): string | undefined {
  const [, name] = /^(?:query\.|params\.)?(\w+):/.exec(fault?.message ?? "") ?? [];
  return ["queue", ...optionNames].find((one) => one === name);
}

function Input(props: {
  label: string;
  value: string;
  onInput: (value: string) => void;
  placeholder?: string;
  list?: string;
  fault?: Refusal | undefined;
  isRequired?: boolean;
}) {
  return (
    <label>
      {props.label}
      <input
        type="text"
        {...(props.list === undefined ? {} : { list: props.list })}
        placeholder={props.placeholder ?? ""}
        value={props.value}
        required={props.isRequired ?? false}
        aria-invalid={props.fault !== undefined}
        onInput={(event) => props.onInput(event.currentTarget.value)}
      />
      {props.fault && (
        <span class="fail" role="alert">
          {shownLine(props.fault.message)}
        </span>
      )}
    </label>
  );
}

function LifeOf({ id }: { id: string }) {
  useRefresh(4);
  const isDark = useDark();
  const [isOver, over] = useState(false);
  const { answer: task } = usePolled(`try ${id}`, isOver ? 0 : 300, async () => {
    const read = await getJson<Task>(`v1/tasks/${id}`);
    if (isFinished(read.state)) over(true);
    return read;
  });
  if (!task) return <p class="muted">Task {id} was submitted.</p>;
  const now = yard.now();
  const submitted = Date.parse(task.submittedAt);
  const end = task.finishedAt === null ? now : Date.parse(task.finishedAt);
  const x = (at: number) => 8 + ((at - submitted) / Math.max(1, end - submitted)) * 484;
  const colour = colourAt(yard.colours.indexOf(task.queue), isDark);
  return (
    <div class="stack">
      <div class="row" role="status">
        <Sign name={task.state} />
        <a class="strong grow" href={routeText("task", task.id)}>
          Task {task.id} is {task.state}
        </a>
        <span class="muted tabular">{fineDuration(end - submitted)}</span>
      </div>
      <svg width="100%" height="30" viewBox="0 0 500 30" preserveAspectRatio="none" aria-hidden="true">
        <path d={`M8 15H${x(end)}`} class="timeline-waits" />
        {attemptsOf(task).map((attempt) => (
          <rect
            key={attempt.number}
            x={x(attempt.start)}
            y="8"
            width={Math.max(2, x(attempt.end ?? now) - x(attempt.start))}
            height="14"
            fill={colour}
          />
        ))}
        <circle cx="8" cy="15" r="5" class="timeline-ring" />
      </svg>
      <p>
        <Sentence words={taskSentence(task, now)} />
      </p>
      {task.worker !== null && (
        <p class="aside">
          worked on by{" "}
          <span style={{ background: colour, color: textOn(colour), padding: "0 5px", borderRadius: 3 }}>
            {shownLine(shortWorker(task.worker))}
          </span>
          {task.resultBytes !== null ? `, result ${bytes(task.resultBytes)}` : ""}
        </p>
      )}
      {task.resultBytes !== null && <BodyCard task={task} part="result" />}
    </div>
  );
}

function SameInAShell({ form }: { form: Form }) {
  const [language, choose] = useState("curl");
  const given: Submission = {
    ...reachedApi(),
    queue: form.queue || "render",
    payload: form.payload,
    contentType: form.contentType,
    options: Object.fromEntries(optionNames.map((name) => [name, form[name]])),
  };
  const text =
    language === "cli" ? cliSubmit(given) : language === "sdk" ? sdkSubmit(given) : curlSubmit(given);
  return (
    <div class="stack">
      <div class="row">
        <h3 class="grow">The same in a shell</h3>
        <Segments
          label="Language"
          value={language}
          choices={[
            { value: "curl", label: "curl" },
            { value: "cli", label: "command line" },
            { value: "sdk", label: "SDK" },
          ]}
          onChoose={choose}
        />
      </div>
      <Code text={text} what="the lines" />
    </div>
  );
}
