// A plot over time, drawn by uPlot with the page's own colours.

import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { count, rate } from "../model/numbers.js";
import { clockMinutes } from "../model/time.js";
import { inks, useDark } from "./theme.js";

const wholeSteps = [1, 2, 5]
  .flatMap((step) => Array.from({ length: 9 }, (_, power) => step * 10 ** power))
  .sort((a, b) => a - b);

export interface PlotLine {
  readonly values: readonly (number | null)[];
  readonly colour: string;
  readonly isDashed?: boolean;
  readonly isFilled?: boolean;
}

export function Plot(props: {
  label: string;
  from: number;
  stepMs: number;
  lines: readonly PlotLine[];
  height?: number;
  isRate?: boolean;
}) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  const isDark = useDark();
  const { from, stepMs, lines, height = 220 } = props;
  const shape = `${isDark} ${height} ${lines.map(({ colour, isDashed, isFilled }) => `${colour}${isDashed}${isFilled}`).join()}`;
  const length = lines[0]?.values.length ?? 0;
  const times = Array.from({ length }, (_, at) => (from + (at + 1) * stepMs) / 1000);
  const data = [times, ...lines.map(({ values }) => [...values])] as uPlot.AlignedData;
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const made = new uPlot(options(element.clientWidth, height, lines, props.isRate ?? false), data, element);
    plot.current = made;
    const observer = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      made.destroy();
    };
  }, [shape]);
  useEffect(() => plot.current?.setData(data));
  return <div ref={box} role="img" aria-label={props.label} />;
}

function options(width: number, height: number, lines: readonly PlotLine[], isRate: boolean): uPlot.Options {
  const colours = inks();
  const font = "11.5px system-ui, sans-serif";
  const grid = { stroke: colours.line, width: 1 };
  return {
    width,
    height,
    legend: { show: false },
    cursor: { show: false },
    padding: [8, 12, 0, 0],
    scales: { x: { time: true }, y: { range: (_plot, _low, high) => [0, Math.max(1, high * 1.1)] } },
    axes: [
      {
        stroke: colours.faint,
        font,
        size: 26,
        space: 46,
        grid: { show: false },
        ticks: { show: false },
        values: (_plot, ticks) => ticks.map((tick) => clockMinutes(tick * 1000)),
      },
      {
        stroke: colours.faint,
        font,
        size: 52,
        space: 60,
        // Only whole steps: otherwise the axis would label small counts twice.
        ...(isRate ? {} : { incrs: wholeSteps }),
        grid,
        ticks: { show: false },
        values: (_plot, ticks) => ticks.map((tick) => (isRate ? rate(tick) : count(tick))),
      },
    ],
    series: [
      {},
      ...lines.map(({ colour, isDashed, isFilled }) => ({
        stroke: colour,
        width: 1.5,
        points: { show: false },
        spanGaps: false,
        ...(isDashed ? { dash: [4, 3] } : {}),
        ...(isFilled ? { fill: `${colour}26` } : {}),
      })),
    ],
  };
}
