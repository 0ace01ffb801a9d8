export * from "./action-record.js";
export * from "./attempt-events.js";
export { Chain, type Linked } from "./chain.js";
export { Counter, type Counters } from "./counters.js";
export { Deadline, Deadlines } from "./deadlines.js";
export { dependencyFailed, dependencyFailedPrefix, dependencyIn } from "./dependencies.js";
export { Dispatcher } from "./dispatcher.js";
export * from "./effects.js";
export * from "./events.js";
export { Fifo } from "./fifo.js";
export * from "./history-segment.js";
export * from "./limits.js";
export * from "./names.js";
export { NumberedTable } from "./numbered-table.js";
export * from "./observer.js";
export type { QueueOverrides } from "./queue.js";
export { type QueueTally, RatedCount } from "./queue-tally.js";
export * from "./records.js";
export type { Recovery } from "./recovery.js";
export { onlyBy } from "./relations.js";
export { retryDelayMs } from "./retry-policy.js";
export {
  type NextCron,
  nextTime,
  type ScheduleOrigin,
  type ScheduleSettings,
  type ScheduleTiming,
  type ScheduleView,
} from "./schedule.js";
export { SlidingCount } from "./sliding-count.js";
export { Step } from "./step.js";
export * from "./story.js";
export * from "./submission.js";
export * from "./time.js";
export * from "./views.js";
export * from "./worker-events.js";
export type { GoneTally } from "./yard.js";
export type { YardView } from "./yard-view.js";
