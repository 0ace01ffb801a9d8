// The page's pulse: one timer, four times a second, that redraws what asked for it together in one
// animation frame. While the page is hidden nothing is drawn. Components read the yard when they
// render, so an event costs no rendering by itself.

import { useEffect, useLayoutEffect, useReducer, useRef } from "preact/hooks";

const tickMs = 250;

type Tick = (count: number) => void;

const ticks = new Set<Tick>();
let count = 0;
let timer: ReturnType<typeof setInterval> | undefined;

function run(): void {
  if (document.hidden) return;
  requestAnimationFrame(() => {
    count += 1;
    for (const tick of ticks) tick(count);
  });
}

/** Calls `tick` four times a second while the page is seen. */
export function onTick(tick: Tick): () => void {
  ticks.add(tick);
  timer ??= setInterval(run, tickMs);
  return () => {
    ticks.delete(tick);
    if (ticks.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

/** Renders the component again at most 4, 2 or 1 times a second. */
export function useRefresh(perSecond: 1 | 2 | 4): void {
  const [, render] = useReducer((number: number) => number + 1, 0);
  useEffect(() => {
    const every = 4 / perSecond;
    return onTick((at) => {
      if (at % every === 0) render(undefined as never);
    });
  }, [perSecond]);
}

/** Renders again now; for what does not come from the ticker. */
export function useRender(): () => void {
  const [, render] = useReducer((number: number) => number + 1, 0);
  return () => render(undefined as never);
}

/**
 * Renders again whenever `subscribe` reports a change. It subscribes before the browser paints: an
 * effect runs after that, and what changed in between would never be drawn.
 */
export function useChanges(subscribe: (changed: () => void) => () => void, key = ""): void {
  const render = useRender();
  useLayoutEffect(() => subscribe(render), [key]);
}

export interface Polled<Answer> {
  readonly answer: Answer | undefined;
  readonly fault: unknown;
  readonly isLoading: boolean;
  retry(): void;
}

/**
 * Asks again and again while the component is there; the last answer stays while a later one fails.
 * `key` starts anew.
 */
export function usePolled<Answer>(key: string, everyMs: number, ask: () => Promise<Answer>): Polled<Answer> {
  const render = useRender();
  const state = useRef<{
    key: string;
    answer?: Answer;
    fault?: unknown;
    isLoading: boolean;
    again?: () => void;
  }>({
    key: "",
    isLoading: true,
  });
  if (state.current.key !== key) state.current = { key, isLoading: true };
  useEffect(() => {
    let isOver = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let asked = 0;
    let answered = 0;
    const held = state.current;
    const plan = () => {
      clearTimeout(timer);
      if (!isOver && everyMs > 0) timer = setTimeout(once, everyMs);
    };
    const once = async () => {
      clearTimeout(timer);
      if (isOver) return;
      if (document.hidden) return plan();
      asked += 1;
      const number = asked;
      const given = await settled(ask);
      // A retry may be answered before the question it repeats; the older answer is then dropped.
      if (isOver || number < answered) return;
      answered = number;
      held.fault = given.fault;
      if (given.fault === undefined) held.answer = given.answer as Answer;
      held.isLoading = false;
      render();
      plan();
    };
    held.again = () => void once();
    void once();
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
    // The question is the key's: a new function with the same key asks the same.
  }, [key, everyMs]);
  const { answer, fault, isLoading } = state.current;
  return { answer, fault, isLoading, retry: () => state.current.again?.() };
}

async function settled<Answer>(ask: () => Promise<Answer>): Promise<{ answer?: Answer; fault?: unknown }> {
  try {
    return { answer: await ask() };
  } catch (fault) {
    return { fault: fault ?? new Error("the request failed") };
  }
}
