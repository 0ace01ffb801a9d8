// Ways to break schedules that the run must notice.

import type { Mutant } from "./mutants.js";

export const scheduleMutants: readonly Mutant[] = [
  {
    name: "a schedule runs early",
    in: "core:runSchedule",
    find: "yard.now.wall < runAt",
    replace: "false",
    population: "timetable",
  },
  {
    name: "a schedule is forgotten at a restart",
    in: "core:Recovery.memo",
    find: "schedule !== undefined",
    replace: "false",
    population: "timetable",
  },
  {
    name: "a schedule runs twice",
    in: "core:runSchedule",
    find: "submit(yard, schedule, time)",
    replace: "(submit(yard, schedule, undefined), $0)",
    population: "timetable",
  },
  {
    name: "a time that passed while the dispatcher was down is not caught up",
    in: "core:resume",
    find: 'settings.catchUp === "none"',
    replace: "true",
    population: "timetable",
  },
  {
    name: "the state of a schedule is not recorded",
    in: "core:write",
    find: "yard.step.change($$$)",
    replace: "undefined",
    population: "timetable",
  },
  {
    name: "a time that was missed stops a schedule",
    in: "core:runSchedule",
    find: "advance(yard, schedule, from, { lastRunAt: $at, $$$ })",
    replace: "isBehind || $0",
    population: "timetable",
  },
];
