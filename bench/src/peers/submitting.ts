// How clients of benchmarks submit: a number of tasks with several in flight, or one after the
// other.

export async function inTurn(tasks: number, underWay: number, submit: () => Promise<unknown>): Promise<void> {
  let left = tasks;
  const one = async () => {
    while (left-- > 0) await submit();
  };
  await Promise.all(Array.from({ length: underWay }, one));
}

/** The duration of each task, from submission to result. */
export async function alone(calls: number, call: () => Promise<unknown>): Promise<number[]> {
  const times: number[] = [];
  for (let count = 0; count < calls; count++) {
    const start = performance.now();
    await call();
    times.push(performance.now() - start);
  }
  return times;
}
