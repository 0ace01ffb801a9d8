// A line of the last five minutes, always from zero, with a dot where it is now; or bars, where
// single counts matter.

export function sparkPath(values: readonly (number | null)[], width: number, height: number): string {
  const top = Math.max(1e-9, ...values.map((value) => value ?? 0));
  const step = width / Math.max(1, values.length - 1);
  let path = "";
  values.forEach((value, at) => {
    if (value === null) return;
    const y = height - 1 - (value / top) * (height - 3);
    path += `${path === "" ? "M" : "L"}${(at * step).toFixed(1)} ${y.toFixed(1)}`;
  });
  return path;
}

interface SparkProps {
  readonly values: readonly (number | null)[];
  readonly colour: string;
  readonly width?: number;
  readonly height?: number;
}

export function Sparkline({ values, colour, width = 92, height = 30 }: SparkProps) {
  const path = sparkPath(values, width - 4, height);
  if (path === "") return <svg width={width} height={height} aria-hidden="true" />;
  const end = /([\d.]+) ([\d.]+)$/.exec(path);
  const start = /^M([\d.]+)/.exec(path)?.[1] ?? "0";
  return (
    <svg class="spark" width={width} height={height} aria-hidden="true">
      <path d={`${path}V${height}H${start}Z`} style={{ fill: colour, opacity: 0.14 }} />
      <path d={path} fill="none" style={{ stroke: colour }} stroke-width="1.3" />
      {end && <circle cx={end[1]} cy={end[2]} r="2.4" style={{ fill: colour }} />}
    </svg>
  );
}

export function Bars({
  values,
  colour,
  width = 92,
  height = 30,
  isSpread,
}: SparkProps & { isSpread?: boolean }) {
  const top = Math.max(1, ...values.map((value) => value ?? 0));
  const step = width / Math.max(1, values.length);
  const thick = isSpread ? Math.max(1.4, step - 1) : 1.4;
  return (
    <svg class="spark" width={width} height={height} aria-hidden="true">
      <path
        d={`M0 ${height - 0.5}H${width}`}
        style={{ stroke: "var(--line2)" }}
        stroke-dasharray={isSpread ? "1.5 1.5" : undefined}
      />
      {values.map((value, at) =>
        value ? (
          <rect
            key={at}
            x={(at * step).toFixed(1)}
            y={height - Math.max(2, (value / top) * height)}
            width={thick}
            height={Math.max(2, (value / top) * height)}
            style={{ fill: colour }}
          />
        ) : null,
      )}
    </svg>
  );
}
