// The signs of states: shape first, colour second, always with a word beside them or a name for
// screen readers.

import type { ComponentChildren } from "preact";

export type SignName =
  | "waiting"
  | "running"
  | "done"
  | "failed"
  | "cancelled"
  | "expired"
  | "lost"
  | "clear"
  | "behind"
  | "stopped"
  | "paused"
  | "draining"
  | "later"
  | "busy"
  | "idle"
  | "notice";

const octagon = "M3.6 .5h4.8l3.1 3.1v4.8l-3.1 3.1H3.6L.5 8.4V3.6z";

const shapes: ReadonlyMap<SignName, { colour: string; shape: ComponentChildren }> = new Map([
  [
    "waiting",
    {
      colour: "var(--muted)",
      shape: <circle cx="6" cy="6" r="4.2" fill="none" stroke="currentColor" stroke-width="1.6" />,
    },
  ],
  ["running", { colour: "var(--accent)", shape: <path d="M2.5 1.2 10.8 6l-8.3 4.8z" fill="currentColor" /> }],
  [
    "done",
    {
      colour: "var(--done)",
      shape: <path d="m1.2 6.4 3.2 3.4 6.4-7.6" fill="none" stroke="currentColor" stroke-width="2" />,
    },
  ],
  [
    "failed",
    {
      colour: "var(--fail)",
      shape: [
        <path d={octagon} fill="currentColor" />,
        <path d="m4 4 4 4m0-4-4 4" stroke="var(--panel)" stroke-width="1.6" />,
      ],
    },
  ],
  [
    "cancelled",
    {
      colour: "var(--muted)",
      shape: (
        <path
          d="M6 1.6a4.4 4.4 0 1 0 0 8.8 4.4 4.4 0 0 0 0-8.8zM3 9l6-6"
          fill="none"
          stroke="currentColor"
          stroke-width="1.6"
        />
      ),
    },
  ],
  [
    "expired",
    {
      colour: "var(--expire)",
      shape: (
        <path
          d="M1.6 1.2h8.8M1.6 10.8h8.8M2.9 1.4C2.9 4 6 5 6 6s-3.1 2-3.1 4.6M9.1 1.4C9.1 4 6 5 6 6s3.1 2 3.1 4.6"
          fill="none"
          stroke="currentColor"
          stroke-width="1.5"
        />
      ),
    },
  ],
  [
    "lost",
    {
      colour: "var(--warn)",
      shape: (
        <path
          d="M.8.8h10.4v10.4H.8zM.8 5.6l4.8-4.8M.8 10.4l9.6-9.6M6 11.2 11.2 6"
          fill="none"
          stroke="currentColor"
          stroke-width="1.4"
        />
      ),
    },
  ],
  ["clear", { colour: "var(--done)", shape: <circle cx="6" cy="6" r="4.6" fill="currentColor" /> }],
  [
    "behind",
    {
      colour: "var(--warn)",
      shape: [
        <path d="M6 .6 11.8 11.2H.2z" fill="currentColor" />,
        <path d="M6 4.2v3.2m0 1.2v1.4" stroke="var(--panel)" stroke-width="1.5" />,
      ],
    },
  ],
  [
    "stopped",
    {
      colour: "var(--fail)",
      shape: [
        <path d={octagon} fill="currentColor" />,
        <path d="M3 6h6" stroke="var(--panel)" stroke-width="2" />,
      ],
    },
  ],
  [
    "paused",
    { colour: "var(--warn)", shape: <path d="M2 1.2h2.8v9.6H2zm5.2 0H10v9.6H7.2z" fill="currentColor" /> },
  ],
  [
    "draining",
    {
      colour: "var(--warn)",
      shape: (
        <path d="M6 .8v7M2.9 5 6 8l3.1-3M1 11h10" fill="none" stroke="currentColor" stroke-width="1.6" />
      ),
    },
  ],
  [
    "later",
    {
      colour: "var(--muted)",
      shape: (
        <path
          d="M6 1.2a4.8 4.8 0 1 0 0 9.6 4.8 4.8 0 0 0 0-9.6zM6 3.4V6l1.8 1.4"
          fill="none"
          stroke="currentColor"
          stroke-width="1.4"
        />
      ),
    },
  ],
  [
    "busy",
    {
      colour: "var(--accent)",
      shape: <rect x="1" y="3.4" width="10" height="5.2" rx="1" fill="currentColor" />,
    },
  ],
  ["idle", { colour: "var(--muted)", shape: <path d="M2 6h8" stroke="currentColor" stroke-width="2" /> }],
  [
    "notice",
    {
      colour: "var(--muted)",
      shape: [
        <circle cx="6" cy="6" r="5.2" fill="currentColor" />,
        <path d="M6 5.2v3.6M6 2.8v1.4" stroke="var(--panel)" stroke-width="1.6" />,
      ],
    },
  ],
]);

/** `label` is read out; without one the sign is decoration, since its word stands beside it. */
export function Sign({ name, label, size = 12 }: { name: SignName; label?: string; size?: number }) {
  const { colour, shape } = shapes.get(name) ?? { colour: "", shape: null };
  const named =
    label === undefined ? { "aria-hidden": true as const } : { role: "img" as const, "aria-label": label };
  return (
    <svg
      class="sign"
      viewBox="0 0 12 12"
      width={size}
      height={size}
      style={{ color: colour, width: size, height: size }}
      {...named}
    >
      {shape}
    </svg>
  );
}

/** For drawings that are SVG themselves: the sign with its middle at x, y. */
export function SignAt({ name, x, y, size = 12 }: { name: SignName; x: number; y: number; size?: number }) {
  const { colour, shape } = shapes.get(name) ?? { colour: "", shape: null };
  const scale = size / 12;
  return (
    <g transform={`translate(${x - size / 2} ${y - size / 2}) scale(${scale})`} style={{ color: colour }}>
      {shape}
    </g>
  );
}
